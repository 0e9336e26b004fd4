"""Show the progress of long operations: on stderr as bars or lines, in notebooks as a bar.

On stderr, warnings that are logged meanwhile are written too, one line each.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from html import escape
from importlib import import_module
from time import monotonic
from typing import Any, Literal, Protocol

_MIN_TOTAL_SECONDS = 2.0  # shorter work has no bar
_ESTIMATE_AFTER_SECONDS = 0.3
_REDRAW_AFTER_SECONDS = 0.25


class Progress(Protocol):
    """A function that is called as work proceeds."""

    def __call__(self, description: str, done: int, total: int) -> None:
        """Report that ``done`` of ``total`` steps are finished."""


def no_progress(description: str, done: int, total: int) -> None:
    """Report nothing."""


@contextmanager
def progress_bar(
    clock: Callable[[], float] = monotonic,
    style: Literal["bar", "lines", "none"] = "bar",
    unit: str = "",
) -> Iterator[Progress]:
    """Yield a function ``progress(description, done, total)`` that shows progress on stderr.

    Inside the context, ``print`` writes to stderr, also in user code (for example a retriever),
    because stdout is for the result.

    Args:
        clock: Returns the time in seconds.
        style: ``bar`` draws bars if stderr is a terminal: a bar appears if its work is expected to
            take more than two seconds, and disappears at the end. ``lines`` prints a line for each
            finished operation, with its time. ``none`` shows nothing.
        unit: The noun of the steps, if bars are to show the steps per second.
    """
    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(sys.stderr))
        stack.enter_context(_shown_warnings())
        if style == "lines":
            yield _Lines(clock)
        else:
            yield (
                _Bars(stack, clock, unit) if style == "bar" and sys.stderr.isatty() else no_progress
            )


@contextmanager
def notebook_progress(progress: Progress | None = None) -> Iterator[Progress]:
    """Yield the given function; without one, a function that draws a bar in a notebook.

    The bar appears after two seconds and disappears at the end. Outside notebooks, nothing is
    shown.
    """
    ipython = sys.modules.get("IPython")
    if progress is not None or ipython is None or not hasattr(ipython.get_ipython(), "kernel"):
        yield progress or no_progress
        return
    bar = _NotebookBar()
    try:
        with warnings.catch_warnings():
            # tqdm, which bm25s imports, suggests to install widgets, which this bar does not need.
            warnings.filterwarnings("ignore", "IProgress not found")
            yield bar
    finally:
        if bar.handle is not None:
            _display({"text/html": "", "text/plain": ""}, bar.handle)


class _NotebookBar:
    """Draws one bar, for the latest description."""

    def __init__(self) -> None:
        self.handle: Any = None
        self._next = monotonic() + _MIN_TOTAL_SECONDS

    def __call__(self, description: str, done: int, total: int) -> None:
        if monotonic() >= self._next:
            self._next = monotonic() + _REDRAW_AFTER_SECONDS
            # The bar is indeterminate until the first step is done.
            known = f' value="{done}" max="{total}"' if done and total else ""
            text = f"{description}: {done:,} of {total:,}"
            page = f"<progress{known}></progress> {escape(text)}"
            self.handle = _display({"text/html": page, "text/plain": text}, self.handle)


def _display(content: dict[str, str], handle: Any) -> Any:
    """Show content as a new output of the cell, or in place of an earlier one; return it."""
    if handle is None:
        return import_module("IPython.display").display(content, raw=True, display_id=True)
    handle.update(content, raw=True)
    return handle


@contextmanager
def _shown_warnings() -> Iterator[None]:
    """Write the warnings that this package logs to stderr."""
    logger, handler = logging.getLogger("trectools_plus"), logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter("warning: %(message)s"))
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _Lines:
    """Prints one line for each finished description."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._latest = clock()
        self._began: dict[str, float] = {}

    def __call__(self, description: str, done: int, total: int) -> None:
        began = self._began.setdefault(description, self._latest)
        self._latest = self._clock()
        if done == total:
            print(f"{description}: {total:,} in {self._latest - began:.2f} s", file=sys.stderr)
            del self._began[description]


class _Bars:
    """Draws one bar for each description with Rich."""

    def __init__(self, stack: ExitStack, clock: Callable[[], float], unit: str = "") -> None:
        self._stack = stack
        self._unit = unit
        self._clock = clock
        self._display: Any = None
        self._tasks: dict[str, Any] = {}
        self._description = ""
        self._first = 0
        self._began = self._latest = clock()

    def __call__(self, description: str, done: int, total: int) -> None:
        if description != self._description:
            self._description, self._began, self._first = description, self._latest, done
        self._latest = self._clock()
        state = {"completed": done, "total": total, "speed": self._speed(done)}
        if description in self._tasks:
            self._display.update(self._tasks[description], **state)
        elif self._is_long(done, total):
            self._tasks[description] = self._open().add_task(description, **state)

    def _speed(self, done: int) -> str:
        elapsed = self._latest - self._began
        known = self._unit and done > self._first and elapsed > 0
        return f"{(done - self._first) / elapsed:.1f} {self._unit}/s" if known else ""

    def _is_long(self, done: int, total: int) -> bool:
        if done == 0:
            return True
        elapsed = self._latest - self._began
        estimated_total = elapsed * total / done
        can_estimate = done < total and elapsed > _ESTIMATE_AFTER_SECONDS
        return can_estimate and estimated_total > _MIN_TOTAL_SECONDS

    def _open(self) -> Any:
        if self._display is None:
            from rich.console import Console
            from rich.progress import Progress, TextColumn

            columns = [*Progress.get_default_columns(), TextColumn("{task.fields[speed]}")]
            progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self._display = self._stack.enter_context(progress)
        return self._display
