"""What pages of the documentation show: each command and option exists, and Python code runs."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from trectools_plus.cli.app import app

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"^```(?:sh|bash|console|text|yaml)\b[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL
)
PROGRAMS = ("trectools-plus", "runs", "benchmark")
START = re.compile(rf"^(?:\$ |- run: |[A-Z_]+=\S+ |zcat \S+ \| )*((?:{'|'.join(PROGRAMS)}) \S.*)")


def shown_commands(page: Path) -> Iterator[str]:
    for block in BLOCK.findall(page.read_text("utf-8")):
        for line in re.sub(r"\\\n\s*", " ", block).splitlines():
            if found := START.match(line.strip()):
                yield re.split(r"\s#|\s\)|;", found[1])[0].strip()


CASES = [
    pytest.param(command, id=f"{page.stem}: {command}")
    for page in PAGES
    if page.name not in ("commands.md", "rules.md")
    for command in dict.fromkeys(shown_commands(page))
]


@pytest.mark.parametrize("command", CASES)
def test_the_command_and_its_options_exist(command: str) -> None:
    words = shlex.split(command)
    found: Any = get_command(app)
    rest = words[1:] if words[0] == "trectools-plus" else words
    while rest and rest[0] in getattr(found, "commands", {}):
        found = found.load(rest.pop(0))
    assert not getattr(found, "commands", {}) or rest == ["-h"], f"no command {command}"
    if found.name == "trec-eval":  # it has the options of trec_eval, which its own tests cover
        return
    options = {name for one in found.params for name in (*one.opts, *one.secondary_opts)}
    used = {word.partition("=")[0] for word in rest if re.match(r"--?[A-Za-z]", word)}
    assert used <= {*options, "-h", "--help"}


def test_commands_are_found() -> None:
    assert len(CASES) > 100


@pytest.mark.parametrize(
    "name", ["README.md", "docs/ontology.md", "docs/statistics.md", "docs/trec-eval.md"]
)
def test_python_code_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    blocks = re.findall(
        r"^```python\n(.*?)^```", (ROOT / name).read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert blocks
    values: dict[str, Any] = {}
    for block in blocks:
        exec(block, values)
        for shown, comment in re.findall(r"^(\w.*\))  # ('\S+'|0\.\d+)", block, re.MULTILINE):
            expected = ast.literal_eval(comment)
            if isinstance(expected, float):
                expected = pytest.approx(expected, abs=6e-5)
            assert eval(shown, values) == expected
