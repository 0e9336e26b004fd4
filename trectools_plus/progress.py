"""Show the progress of long operations on stderr, as bars."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Protocol


class Progress(Protocol):
    """A function that is called as work proceeds."""

    def __call__(self, description: str, done: int, total: int) -> None:
        """Report that ``done`` of ``total`` steps are finished."""


def no_progress(description: str, done: int, total: int) -> None:
    """Report nothing."""


@contextmanager
def progress_bar(*, shown: bool = True) -> Iterator[Progress]:
    """Yield a function ``progress(description, done, total)`` that shows progress on stderr.

    Inside the context, ``print`` writes to stderr, also in user code (for example a retriever),
    because stdout is for the result.

    Args:
        shown: Whether to draw a bar for each description if stderr is a terminal; it disappears at
            the end.
    """
    with redirect_stdout(sys.stderr):
        if shown and sys.stderr.isatty():
            with _bars() as progress:
                yield progress
        else:
            yield no_progress


@contextmanager
def _bars() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import Progress as Display
    from rich.progress import TaskID

    tasks: dict[str, TaskID] = {}
    with Display(console=Console(stderr=True), transient=True) as display:

        def draw(description: str, done: int, total: int) -> None:
            if description not in tasks:
                tasks[description] = display.add_task(description)
            display.update(tasks[description], completed=done, total=total)

        yield draw
