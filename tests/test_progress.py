from __future__ import annotations

import io
import sys
from collections.abc import Sequence

import pytest

from trectools_plus.progress import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(
    monkeypatch: pytest.MonkeyPatch,
    stream: io.StringIO,
    *steps: tuple[str, int, int],
    clock: Sequence[float] = (),
) -> str:
    """Return what is drawn for some steps; ``clock`` has the seconds that the clock returns."""
    monkeypatch.setattr(sys, "stderr", stream)
    with progress_bar(iter(clock).__next__) as progress:
        for step in steps:
            progress(*step)
    return stream.getvalue()


def test_what_the_work_prints_is_no_result(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar():
        print("indexing …")
    print("{}")
    assert capsys.readouterr() == ("{}\n", "indexing …\n")


def test_silent_where_stderr_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, io.StringIO(), ("waiting", 0, 1)) == ""


def test_silent_for_short_work(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [("indexing", 50, 100), ("indexing", 100, 100)]
    assert drawn(monkeypatch, Terminal(), *steps, clock=[0, 0.5, 1.0]) == ""


def test_a_bar_for_long_work(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [("indexing", 5, 100), ("indexing", 100, 100)]
    assert "indexing" in drawn(monkeypatch, Terminal(), *steps, clock=[0, 0.5, 10])


def test_each_stage_has_its_own_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [("one", 1, 1), ("one", 1, 1), ("two", 50, 100), ("two", 100, 100)]
    assert drawn(monkeypatch, Terminal(), *steps, clock=[0, 0.1, 60, 60.5, 60.6]) == ""


def test_waiting_shows_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "waiting" in drawn(monkeypatch, Terminal(), ("waiting", 0, 1), clock=[0, 0])
