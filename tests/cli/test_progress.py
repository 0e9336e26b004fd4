from __future__ import annotations

import io
import sys
from collections.abc import Iterator

import pytest

from trectools_plus.cli import progress as module
from trectools_plus.cli.progress import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that each look at the clock returns."""
    times: list[float] = []
    ticks: Iterator[float] = (times.pop(0) for _ in iter(int, 1))
    monkeypatch.setattr(module, "monotonic", lambda: next(ticks))
    return times


def drawn(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *steps: tuple[str, int, int]
) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    with progress_bar() as progress:
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


def test_silent_for_short_work(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    clock += [0, 0.5, 1.0]
    steps = [("indexing", 50, 100), ("indexing", 100, 100)]
    assert drawn(monkeypatch, Terminal(), *steps) == ""


def test_a_bar_for_long_work(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    clock += [0, 0.5, 10]
    steps = [("indexing", 5, 100), ("indexing", 100, 100)]
    assert "indexing" in drawn(monkeypatch, Terminal(), *steps)


def test_each_stage_has_its_own_clock(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    clock += [0, 0.1, 60, 60.5, 60.6]
    steps = [("one", 1, 1), ("one", 1, 1), ("two", 50, 100), ("two", 100, 100)]
    assert drawn(monkeypatch, Terminal(), *steps) == ""


def test_waiting_shows_at_once(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    clock += [0, 0]
    assert "waiting" in drawn(monkeypatch, Terminal(), ("waiting", 0, 1))
