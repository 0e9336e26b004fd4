"""Notes and progress on stderr, and the options ``-q`` and ``-v`` that control them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from time import monotonic
from typing import Annotated, Any, ClassVar, Literal

import typer

from trectools_plus.cli.options.groups import parameters_of, with_parameters
from trectools_plus.errors import UsageError
from trectools_plus.progress import Progress, progress_bar
from trectools_plus.text import MinorNote, printable


class _Current:
    """State of the process: the options of the command that runs."""

    quiet = False
    verbose = False
    notes: ClassVar[list[str]] = []
    """Notes to print when the command starts and its verbosity is known."""


_OPTIONS = {
    "quiet": Annotated[bool, typer.Option("--quiet", "-q", help="Print no notes and no progress.")],
    "verbose": Annotated[
        bool,
        typer.Option(
            "--verbose",
            "-v",
            help="Print the time of each step to stderr, and the traceback of an error.",
        ),
    ],
}


def add_verbosity(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that also takes ``-q`` and ``-v``."""

    def call(*, quiet: bool, verbose: bool, **values: Any) -> None:
        if quiet and verbose:
            raise UsageError("-q and -v exclude each other", remedy="leave one of them out")
        _Current.quiet, _Current.verbose = quiet, verbose
        while _Current.notes:
            note(_Current.notes.pop(0))
        started = monotonic()
        command(**values)
        if verbose:
            typer.echo(f"finished in {monotonic() - started:.2f} s", err=True)

    further = {name: (annotation, False) for name, annotation in _OPTIONS.items()}
    return with_parameters(command, call, {**parameters_of(command), **further})


def is_verbose() -> bool:
    """Return whether the command runs with ``-v``."""
    return _Current.verbose


def is_quiet() -> bool:
    """Return whether the command runs with ``-q``."""
    return _Current.quiet


def note(message: str) -> None:
    """Print a note to stderr, except with ``-q``; a minor one only on a terminal or with ``-v``."""
    if isinstance(message, MinorNote) and not (is_verbose() or sys.stderr.isatty()):
        return
    inform(f"note: {message}")


def note_later(message: str) -> None:
    """Print a note when the command starts; while options are parsed, ``-q`` is not yet known."""
    _Current.notes.append(message)


def inform(text: str, *, newline: bool = True) -> None:
    """Print a text to stderr, except with ``-q``."""
    if not is_quiet():
        typer.echo(printable(text, breaks=True), nl=newline, err=True)


def show_progress() -> AbstractContextManager[Progress]:
    """Return a context that shows progress as ``-q`` and ``-v`` require; see ``progress_bar``."""
    style: Literal["bar", "lines", "none"] = "none" if is_quiet() else "bar"
    return progress_bar(style="lines" if is_verbose() else style)
