"""Scoring in separate processes: pytrec_eval holds Python's lock for as long as it computes.

While one thread scores whole rankings, no other could read the run on. A process beside costs a
third of a second to start, so only large files get one.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor
from contextlib import contextmanager
from dataclasses import dataclass

from trectools_plus.measures.definitions.base import FloatArray, Measure
from trectools_plus.measures.judged import JudgedRun
from trectools_plus.measures.scoring.ranking import depth_seen, score_judged

WORTH_BYTES = 100 << 20
"""The size of a run, uncompressed or not, that makes a process worth its start."""

_DEEP = 200

Scores = Callable[[], FloatArray]
"""Waits for scores."""


@dataclass(frozen=True)
class Scorer:
    """Scores chunks of a run, in this process or beside it.

    Attributes:
        measures: The measures, none twice, that all ``see_grades_only``.
        pool: The processes beside this one, if there are any.
    """

    measures: Sequence[Measure]
    pool: Executor | None = None

    def score(self, query_ids: Sequence[str], run: JudgedRun) -> Scores:
        """Begin with what :func:`score_judged` does."""

        def here() -> FloatArray:
            return score_judged(self.measures, query_ids, run)

        if self.pool is None:
            scores = here()
            return lambda: scores
        try:
            with _without_interrupts():  # this call starts the processes
                beside = self.pool.submit(score_judged, self.measures, query_ids, run)
        except BrokenExecutor:
            return here

        def wait() -> FloatArray:
            try:
                return beside.result()
            except BrokenExecutor:  # no memory for another process, or it was killed
                return here()

        return wait


@contextmanager
def open_scorer(measures: Sequence[Measure], n_bytes: int) -> Iterator[Scorer]:
    """Give a scorer with processes where they pay.

    Args:
        measures: The measures.
        n_bytes: How large the run's file is.
    """
    depth = depth_seen(measures)
    n_processors = os.cpu_count() or 1
    if (
        n_bytes < WORTH_BYTES
        or n_processors == 1
        or _is_daemon()
        or (depth is not None and depth <= _DEEP)
    ):
        yield Scorer(measures)
        return
    from concurrent.futures import ProcessPoolExecutor  # both take a while to load
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(
        max(1, n_processors // 2),
        # Threads are running, which a fork would cut short in the middle of anything.
        mp_context=get_context("spawn"),
        initializer=_leave_with_parent,
    )
    try:
        yield Scorer(measures, pool)
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Hold back Ctrl-C in this thread; a process started meanwhile never sees it.

    A terminal sends it to all processes, and one that is still importing would answer with a
    traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _is_daemon() -> bool:
    """Whether this process may start none, as the workers of a scheduler may not."""
    from multiprocessing import current_process

    return current_process().daemon


def _leave_with_parent() -> None:
    """In a new process: leave Ctrl-C to the parent, and end when it ends, in whatever way."""
    from multiprocessing import parent_process

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None

    def leave() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=leave, daemon=True).start()
