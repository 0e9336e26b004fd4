"""Notes and progress on stderr, and the options ``-q`` and ``-v`` that control them."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer

from trectools_plus.progress import Progress, progress_bar
from trectools_plus.text import MinorNote, printable


@dataclass(frozen=True)
class Verbosity:
    """The options of every command that control its output on stderr."""

    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print no notes and no progress.")
    ] = False
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            "-v",
            help="Print minor notes, and the traceback of an error.",
        ),
    ] = False

    current: ClassVar[Verbosity]
    """Those of the command that runs in this process."""


Verbosity.current = Verbosity()


def note(message: str) -> None:
    """Print a note to stderr, except with ``-q``; a minor one only on a terminal or with ``-v``."""
    is_minor = isinstance(message, MinorNote)
    if not is_minor or Verbosity.current.verbose or sys.stderr.isatty():
        inform(f"note: {message}")


def inform(text: str, *, newline: bool = True) -> None:
    """Print a text to stderr, except with ``-q``."""
    if not Verbosity.current.quiet:
        typer.echo(printable(text, breaks=True), nl=newline, err=True)


def show_progress() -> AbstractContextManager[Progress]:
    """Return a context that shows progress, except with ``-q``; see ``progress_bar``."""
    return progress_bar(shown=not Verbosity.current.quiet)
