"""Library errors become one line on stderr and an exit code, once, for every command."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator

from trectools_plus.errors import TrectoolsPlusError

INTERRUPTED = 130  # what shells report for a process ended by Ctrl-C
UNREADABLE = 2


@contextlib.contextmanager
def translated_errors() -> Iterator[None]:
    """Turn errors that a user can cause into ``error: what — where — how to mend``.

    Raises:
        SystemExit: With the error's own exit code, 2 for what the operating system refuses,
            130 when the user interrupts.
    """
    try:
        yield
    except TrectoolsPlusError as error:
        _leave(str(error), error.exit_code)
    except BrokenPipeError:
        # The reader (head, less) has gone; a second error at interpreter exit would be noise.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        _leave(_words_of(error), UNREADABLE)
    except KeyboardInterrupt:
        _leave("interrupted — nothing half-written was left behind", INTERRUPTED)


def run_command(command: Callable[[], None]) -> None:
    """Run a Typer application with UTF-8 streams and translated errors."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")
    with translated_errors():
        if hasattr(signal, "siginterrupt") and not _only_asks(sys.argv[1:]):
            # Polars' signal handler, set on import, restarts a blocked read, and Ctrl-C would wait
            # for its end. Every command that reads needs Polars anyway; help does without.
            import polars  # noqa: F401

            signal.siginterrupt(signal.SIGINT, True)
        command()


def _only_asks(arguments: list[str]) -> bool:
    """Whether the user asks for help, the version or a shell's completion, and not for work."""
    asks = {"-h", "--help", "--version"}
    return (
        not arguments
        or bool(asks & {*arguments})
        or any(key.endswith("_COMPLETE") for key in os.environ)
    )


def _words_of(error: OSError) -> str:
    reason = (error.strerror or type(error).__name__).lower()
    return f"{reason} — {error.filename}" if error.filename else reason


def _leave(message: str, code: int) -> None:
    print(f"error: {message}", file=sys.stderr)
    sys.exit(code)
