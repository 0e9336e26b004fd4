"""Commands, options and arguments as the help pages list them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.program import Done

_OPTION = re.compile(r"^ {2,6}((?:--?[\w-]+(?:, | / |  )?)+)(.*)$")


def command_tree(run: Callable[[str, Path], Done], folder: Path) -> dict[str, Any]:
    """Return every command by name, with the names of its options and arguments."""
    found: dict[str, Any] = {}

    def walk(name: str) -> None:
        done = run(f"{name} -h", folder)
        assert (done.code, done.stderr) == (0, ""), name
        text = done.stdout.decode()
        found[name] = {"options": _options(text), "arguments": _arguments(text)}
        children = re.search(r"^Commands:\n((?: .*\n?|\n)+)", text, re.MULTILINE)
        for line in children[1].splitlines() if children else []:
            if child := re.match(r"  (\S+)", line):
                walk(f"{name} {child[1]}")

    for name in ("trectools-plus", "runs", "benchmark"):
        walk(name)
    return found


def _options(text: str) -> dict[str, str]:
    """Return the options by their spellings, with the values that they accept."""
    found = {}
    for line in text.splitlines():
        if match := _OPTION.match(line):
            words = re.search(r"<([\w-]+(?:\|[\w-]+)+)>", match[2])
            found[" ".join(re.findall(r"--?[\w-]+", match[1]))] = words[1] if words else ""
    return found


def _arguments(text: str) -> list[str]:
    """Return the arguments of the usage line."""
    usage = re.search(r"Usage: (.*)", text)
    pattern = r"\[?\{?[A-Z=]+(?:\.\.\.)?\}?\]?(?:\.\.\.)?"
    return re.findall(pattern, usage[1]) if usage else []
