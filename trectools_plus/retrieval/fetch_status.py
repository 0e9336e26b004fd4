"""What became of a fetch: the statuses of runs and of a benchmark's arms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from trectools_plus.retrieval.backends.base import Failure

FetchStatus = Literal["ok", "empty", "incomplete", "failed", "unavailable"]
"""``ok``: every query was answered; ``empty``: so it was, and nothing was found for any;
``incomplete``: some queries have no answer; ``failed``: none has; ``unavailable``: none has, for
the source was not reached or did not answer in time."""

SCORED: tuple[FetchStatus, ...] = ("ok", "empty")
"""Only these say something of the source's quality."""


def judge_fetch(failures: Mapping[str, Failure], queries: int, found_nothing: bool) -> FetchStatus:
    """The status of a run.

    Args:
        failures: Why queries have no answer.
        queries: How many were to be asked.
        found_nothing: Whether the run has no row.
    """
    if not failures:
        return "empty" if found_nothing else "ok"
    if len(failures) < queries:
        return "incomplete"
    away = all(failure.kind == "unavailable" for failure in failures.values())
    return "unavailable" if away else "failed"
