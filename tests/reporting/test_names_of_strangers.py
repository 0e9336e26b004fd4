"""Names, ids and texts of others stand in output as text, whatever they contain."""

import re
import shutil

import pytest
from harness.observe import ROOT
from typer.testing import CliRunner

from trectools_plus.cli.app import app
from trectools_plus.display import TextTable
from trectools_plus.reporting.document import markdown_table
from trectools_plus.text import printable

FIXTURES = ROOT / "fixtures"
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![x](http://127.0.0.1/x.png)",
    "[x](javascript:alert(1))",
    "[x](//127.0.0.1)",
    "<javascript:alert(1)>",
    "a|b",
    "a\\|b",
    "a\nb",
    "a\n\n# b",
    "\x1b[31mred\x1b[0m",
    "\x9b31m",
    "a\rb",
    "\u202egnp.exe",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_every_cell_of_a_markdown_table_is_escaped(text):
    table = markdown_table(TextTable.of(["a", text], [[text, "1"], ["x", text]]))
    lines = table.split("\n")
    assert len(lines) == 4
    for line in lines:
        # A bar ends a cell unless an odd number of backslashes is before it.
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 3
    assert not re.search(r"<[a-z]", table)
    assert "](" not in table
    assert printable(table, breaks=True) == table


@pytest.mark.parametrize("text", HOSTILE)
def test_plain_tables_have_a_line_for_each_row(text):
    lines = list(TextTable.of(["a", text], [[text, "1"]]).lines())
    assert len(lines) == 2
    assert all(printable(line) == line for line in lines)


@pytest.mark.parametrize("name", ["\x1b[31mred.run", "a\nb.run", "a\u202eb.run", "<b>|x.run"])
@pytest.mark.parametrize("form", ["", "markdown", "json"])
def test_names_of_files_do_not_change_the_output(tmp_path, monkeypatch, name, form):
    monkeypatch.chdir(tmp_path)
    qrels = str(FIXTURES / "garden-trec" / "qrels.txt")
    names = [name, "other.run"]
    shutil.copy(FIXTURES / "runs" / "lexical.run", name)
    shutil.copy(FIXTURES / "runs" / "vector.run", "other.run")
    commands = [["compare", *names, "--qrels", qrels, *(["--format", form] if form else [])]]
    if form != "markdown":
        commands.append(["eval", qrels, *names, *(["--format", form] if form else [])])
        commands.append(["eval", qrels, "missing\x1b[31m.run"])
    for command in commands:
        result = CliRunner().invoke(app, command, standalone_mode=False)
        output = result.output
        assert "\x1b" not in output
        if form != "json":  # which has the path as it is
            assert printable(output, breaks=True) == output
        if form == "markdown":
            assert "<b>" not in result.stdout
            rows = [line for line in result.stdout.split("\n") if line.startswith("|")]
            assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1
