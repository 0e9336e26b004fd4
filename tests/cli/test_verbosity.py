"""Tests of ``-q``, ``-v`` and ``-V``."""

import io
import re
import sys

import pytest
from harness.observe import ROOT

from trectools_plus.cli import printing
from trectools_plus.text import MinorNote

pytestmark = pytest.mark.process

RUN = ROOT / "fixtures/runs/lexical.run"
QRELS = ROOT / "fixtures/garden-trec/qrels.txt"


@pytest.mark.parametrize("name", ["trectools-plus", "trectools-plus runs", "runs", "benchmark"])
def test_every_group_has_a_version(name, program, tmp_path):
    long, short = (program(f"{name} {option}", tmp_path) for option in ("--version", "-V"))
    assert short.text == long.text
    assert re.fullmatch(r"trectools-plus \d+\.\d+\.\d+\n", short.text)


@pytest.fixture
def extra_query(tmp_path):
    """Write a run with a query that is not in the qrels."""
    path = tmp_path / "extra.run"
    path.write_bytes(RUN.read_bytes() + b"no-such-query Q0 d1 1 1.0 tag\n")
    return path


def test_quiet_prints_no_notes(extra_query, program, tmp_path):
    command = ["trectools-plus", "eval", QRELS, extra_query]
    usual, quiet = program(command, tmp_path), program([*command, "-q"], tmp_path)
    assert "note: " in usual.stderr
    assert (quiet.code, quiet.stderr, quiet.stdout) == (0, "", usual.stdout)


def test_verbose_prints_the_traceback_of_an_error(program, tmp_path):
    done = program("runs info missing.run -v", tmp_path)
    assert done.code == 2
    assert done.stderr.startswith("Traceback ")
    assert done.stderr.endswith(program("runs info missing.run", tmp_path).stderr)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("level", ["quiet", "normal", "verbose"])
@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_minor_notes_are_printed_on_a_terminal_or_with_v(stream, level, monkeypatch):
    options = printing.Verbosity(quiet=level == "quiet", verbose=level == "verbose")
    monkeypatch.setattr(printing.Verbosity, "current", options)
    monkeypatch.setattr(sys, "stderr", stream())
    printing.note(MinorNote("changes nothing"))
    printing.note("lowers figures")
    minor = level == "verbose" or (level == "normal" and stream is Terminal)
    expected = "note: changes nothing\n" if minor else ""
    if level != "quiet":
        expected += "note: lowers figures\n"
    assert sys.stderr.getvalue() == expected
