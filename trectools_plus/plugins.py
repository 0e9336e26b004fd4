"""Code from outside this package, by name: ``module:object``, and what goes wrong in it."""

from __future__ import annotations

import importlib
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_LONGEST = 200

SIGNALS: list[int] = []
"""Signals received that ask this process to end."""


class EndedBySignal(SystemExit):
    """A signal asks this process to end."""


def end_for_signal(number: int, _frame: object = None) -> None:
    """Handle a signal that asks this process to end: raise its error.

    Raises:
        KeyboardInterrupt: For SIGINT.
        EndedBySignal: For another signal.
    """
    SIGNALS.append(number)
    raise_for_signal()


def raise_for_signal() -> None:
    """Raise the error of a signal again, if one was received.

    To be called after outside code: it may have caught the error, and what it returns then, or
    raises instead, is no result.

    Raises:
        KeyboardInterrupt: After SIGINT.
        EndedBySignal: After another signal.
    """
    if not SIGNALS:
        return
    if SIGNALS[-1] == signal.SIGINT:
        raise KeyboardInterrupt
    raise EndedBySignal(128 + SIGNALS[-1])


@contextmanager
def working_directory_on_path() -> Iterator[None]:
    """Let modules in the working directory be imported, as ``python`` itself does."""
    here = str(Path.cwd())
    if here in sys.path or "" in sys.path:
        yield
        return
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)


def import_object(module_name: str, object_name: str) -> Any:
    """Import a module and get a name of it; dots lead into classes.

    Raises:
        Exception: Whatever the module raises while it is imported, or that it has no such name.
    """
    with working_directory_on_path():
        found: Any = importlib.import_module(module_name)
        for part in object_name.split("."):
            found = getattr(found, part)
    return found


def describe_error(error: BaseException) -> str:
    """Type and message of an error on one line, as ``ValueError: no such index``."""
    message = " ".join(str(error).split())
    shown = message if len(message) <= _LONGEST else f"{message[: _LONGEST - 1]}…"
    return f"{type(error).__name__}: {shown}" if shown else type(error).__name__
