"""Scores computed in separate processes, because pytrec_eval does not release the GIL.

While a thread scores complete rankings, no other thread can read the run. Starting a process takes
a third of a second, so only large files are scored in other processes.
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
from trectools_plus.measures.scoring.ranking import deepest_rank_needed, score_judged

MIN_BYTES_FOR_PROCESSES = 100 << 20
"""The smallest file size for which starting processes saves time."""
_SHALLOW_DEPTH = 200
"""Scoring rankings down to this rank is so fast that another process saves no time."""

Scores = Callable[[], FloatArray]
"""A function that waits for scores and returns them."""


@dataclass(frozen=True)
class Scorer:
    """Scores chunks of a run, in this process or in others.

    Attributes:
        measures: The measures, each once, that all ``depend_on_grades_only``.
        pool: The other processes, if there are any.
    """

    measures: Sequence[Measure]
    pool: Executor | None = None

    def score(self, query_ids: Sequence[str], run: JudgedRun) -> Scores:
        """Start :func:`score_judged`."""

        def score_here() -> FloatArray:
            return score_judged(self.measures, query_ids, run)

        if self.pool is None:
            scores = score_here()
            return lambda: scores
        try:
            with _without_interrupts():  # this call starts the processes
                future = self.pool.submit(score_judged, self.measures, query_ids, run)
        except BrokenExecutor:
            return score_here

        def wait() -> FloatArray:
            try:
                return future.result()
            except BrokenExecutor:  # too little memory, or the process was killed
                return score_here()

        return wait


@contextmanager
def open_scorer(measures: Sequence[Measure], n_bytes: int) -> Iterator[Scorer]:
    """Open a scorer, with other processes if they save time.

    Args:
        measures: The measures.
        n_bytes: The size of the run file.
    """
    depth = deepest_rank_needed(measures)
    n_processors = os.cpu_count() or 1
    if (
        n_bytes < MIN_BYTES_FOR_PROCESSES
        or n_processors == 1
        or _is_daemon()
        or (depth is not None and depth <= _SHALLOW_DEPTH)
    ):
        yield Scorer(measures)
        return
    from concurrent.futures import ProcessPoolExecutor  # slow to load
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(
        max(1, n_processors // 2),
        # A fork would copy locks of running threads in any state.
        mp_context=get_context("spawn"),
        initializer=_exit_with_parent,
    )
    try:
        yield Scorer(measures, pool)
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Block Ctrl-C in this thread, and in processes that it starts.

    A terminal sends it to all processes, and one that is still importing would print a traceback.
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
    """Return whether this process may not start others, for example as a scheduler's worker."""
    from multiprocessing import current_process

    return current_process().daemon


def _exit_with_parent() -> None:
    """Ignore Ctrl-C in a new process, and exit when the parent exits for any reason."""
    from multiprocessing import parent_process

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None

    def leave() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=leave, daemon=True).start()
