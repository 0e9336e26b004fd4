"""Tests that the examples of every ``-h`` text use existing commands and options."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
from typer.main import get_command

from trectools_plus.cli.app import app
from trectools_plus.cli.reference import iter_commands

CONSOLE_COMMANDS = ("trectools-plus", "runs", "benchmark")


def _examples() -> list[str]:
    found = []
    for _, text in iter_commands():
        block = re.search(r"Examples:\n((?: +\S.*\n)+)", text)
        joined = re.sub(r" *\\\n *", " ", block[1]) if block else ""
        lines = re.findall(r"^ *(\S.*)$", joined, re.MULTILINE)
        found += [line for line in lines if line.split()[0] in CONSOLE_COMMANDS]
    return found


@pytest.mark.parametrize("line", _examples())
def test_an_example_can_be_typed_unchanged(line: str) -> None:
    words = shlex.split(line.partition(" > ")[0])
    command: Any = get_command(app)
    words = words if words[0] != "trectools-plus" else words[1:]
    context = None
    while hasattr(command, "commands"):
        name, *words = words
        command = command.load(name)
        context = command.make_context(name, list(words), parent=context, resilient_parsing=True)
    with command.make_context(command.name, list(words)) as parsed:
        assert parsed.params
