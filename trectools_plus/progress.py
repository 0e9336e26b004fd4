"""Progress of long work, shown as bars on the stderr of a terminal.

Warnings that are logged meanwhile are written to stderr too, one line each.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from time import monotonic
from typing import Any, Literal, Protocol

_LONG = 2.0  # seconds; shorter work shows no bar
_GUESS = 0.3  # seconds after which the total time is estimated


class Progress(Protocol):
    """A function that is called as work proceeds."""

    def __call__(self, description: str, done: int, total: int) -> None:
        """Report that ``done`` of ``total`` steps are finished."""


def no_progress(description: str, done: int, total: int) -> None:
    """Show nothing."""


@contextmanager
def progress_bar(
    clock: Callable[[], float] = monotonic, style: Literal["bar", "lines", "none"] = "bar"
) -> Iterator[Progress]:
    """Yield a function ``progress(description, done, total)`` that shows progress on stderr.

    Inside the context, ``print`` writes to stderr, also from user code such as a retriever: stdout
    is for the result.

    Args:
        clock: Returns the time in seconds.
        style: ``bar`` draws bars if stderr is a terminal: a bar appears if its work is expected to
            take more than two seconds, and disappears at the end. ``lines`` prints a line for each
            finished step, with its time.
    """
    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(sys.stderr))
        stack.enter_context(_shown_warnings())
        if style == "lines":
            yield _Lines(clock)
        else:
            yield _Bars(stack, clock) if style == "bar" and sys.stderr.isatty() else no_progress


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
    """One line for each finished step."""

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
    """One bar for each description, drawn by rich."""

    def __init__(self, stack: ExitStack, clock: Callable[[], float]) -> None:
        self._stack = stack
        self._clock = clock
        self._screen: Any = None
        self._tasks: dict[str, Any] = {}
        self._description = ""
        self._began = self._latest = clock()

    def __call__(self, description: str, done: int, total: int) -> None:
        if description != self._description:
            self._description, self._began = description, self._latest
        self._latest = self._clock()
        if description in self._tasks:
            self._screen.update(self._tasks[description], completed=done, total=total)
        elif self._is_long(done, total):
            self._tasks[description] = self._open().add_task(
                description, completed=done, total=total
            )

    def _is_long(self, done: int, total: int) -> bool:
        elapsed = self._latest - self._began
        return done == 0 or (done < total and elapsed > _GUESS and elapsed * total / done > _LONG)

    def _open(self) -> Any:
        if self._screen is None:
            from rich.console import Console
            from rich.progress import Progress

            progress = Progress(console=Console(stderr=True), transient=True)
            self._screen = self._stack.enter_context(progress)
        return self._screen
