"""Translation of errors into one line on stderr and an exit code, the same for every command."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from time import sleep
from typing import Any

import typer

from trectools_plus.cli.verbosity import is_verbose
from trectools_plus.errors import (
    TrectoolsPlusError,
    UsageError,
    missing_package,
)
from trectools_plus.redaction import hide_secrets
from trectools_plus.text import printable

INTERRUPTED = 130  # the exit code that shells use for a process ended by Ctrl-C
UNREADABLE = 2
_SECONDS_FOR_CLEANING = 2.0
_OBJECTS_BETWEEN_COLLECTIONS = 100_000
# Typer does not export the base class of its usage errors, and its module differs by version.
_CLICK_ERROR: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


@contextlib.contextmanager
def translated_errors() -> Iterator[None]:
    """Turn errors that a user can cause into lines ``error: what — where — how to fix it``.

    Raises:
        SystemExit: With the exit code of the error, 2 for an error of the operating system, 130
            if the user interrupts.
    """
    try:
        yield
    except TrectoolsPlusError as error:
        _exit_with(str(error).replace("\n", "\nerror: "), error.exit_code)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "trectools_plus":
            raise
        missing = missing_package(error.name)
        _exit_with(str(missing), missing.exit_code)
    except BrokenPipeError:
        # The reader (head, less) has ended; avoid a second error when the interpreter exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        _exit_with(_describe(error), UNREADABLE)
    except KeyboardInterrupt:
        _exit_with("interrupted — no partly written file remains", INTERRUPTED)


def run_command(command: Callable[..., object], name: str) -> None:
    """Run a Typer application with UTF-8 streams, and exit with its exit code.

    Args:
        command: The application.
        name: The name of the program in help texts and messages.

    Raises:
        SystemExit: Always; with 0 after success, or if the reader of stdout has ended.
    """
    # A command ends soon and frees little of what it loads. Garbage collection would take a fifth
    # of the time of a small command.
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    _prepare_streams()
    if hasattr(os, "register_at_fork") and threading.current_thread() is threading.main_thread():
        _end_for_signals()
    try:
        with translated_errors():
            sys.exit(_call(command, name))
    finally:
        gc.freeze()


class EndedBySignal(SystemExit):
    """A signal other than SIGINT asks the process to end.

    It is not a ``KeyboardInterrupt``, for which Typer exits with its own code.
    """


def _end_for_signals() -> None:
    """Let signals raise an error, so that temporary files are removed, and end the process soon.

    The error does not arrive while the main thread is busy in C, or in a read that goes on after a
    signal, as it does once Polars is imported. Therefore a thread ends the process after a while.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # under nohup, SIGHUP is ignored
            signal.signal(number, _raise)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    # The signals of a child do not concern this process.
    os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))
    threading.Thread(target=_watch, args=[reader], daemon=True).start()


def _raise(number: int, _: object) -> None:
    raise EndedBySignal(128 + number)


def _watch(reader: int) -> None:
    while True:
        number = os.read(reader, 1)[0]
        if signal.getsignal(number) in (_raise, signal.default_int_handler):  # not of a server
            sleep(_SECONDS_FOR_CLEANING)
            atexit._run_exitfuncs()  # removes temporary folders
            os._exit(128 + number)


def _prepare_streams() -> None:
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the shell: >&-
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def _call(command: Callable[..., object], name: str) -> int:
    stdout = sys.stdout
    try:
        result = command(prog_name=name, standalone_mode=False)
    except _CLICK_ERROR as error:
        return _report_usage(error)
    except SystemExit as stop:
        if sys.stdout is not stdout:  # Typer replaces the stream if its reader has ended
            raise BrokenPipeError from None
        return stop.code if isinstance(stop.code, int) else UNREADABLE
    stdout.flush()
    return result if isinstance(result, int) else 0


_REMOVED = {
    "--review": "to serve the review page, use trectools-plus review serve REPORT",
    "--log-to": "removed; log the figures of BenchmarkReport.json with your tracker's functions",
    **dict.fromkeys(
        ("--state-dir", "--job-time-limit", "--keep-results"),
        "removed with the background jobs; use the command line for larger work",
    ),
    "--held-out": "removed; score the chosen variant with benchmark run --test-file HELD-OUT",
    "--rope": "removed; read the interval of the difference, or use benchmark gate --non-inferior",
    "--low-memory": "removed; files in TREC form are read in chunks",
    "--subtopic": "removed; keep the rows of one subtopic, for example with awk",
    **dict.fromkeys(
        ("--max-gap", "--min-depth", "--chunks", "--shortest-abbreviation"),
        "removed; extraction always uses the default",
    ),
    **dict.fromkeys(
        ("--no-variations", "--no-inexact-synonyms"),
        "removed; raise --min-confidence to drop uncertain names",
    ),
    "--max-tag-length": "removed; set max-tag-length in the settings file",
    "--new-version": "removed; the version is the next minor one, edit the written file",
    "--retries": "removed; requests are repeated up to four times",
    "--take": "removed; a phenopacket has the first term of each finding",
    **dict.fromkeys(
        ("--dedup", "--on-conflict"),
        "removed; no fix changes a figure: edit the file, or convert it",
    ),
    "--encoding": "removed; convert the file with iconv",
    "--statistics": "removed; each finding in --format json has its code and count",
    "--stratify-by": "removed; query types, categories or difficulties keep their proportions",
    "--no-assertions": "removed; the view any ignores assertions",
    "reproduce": "removed; use repro_eval",
    "merge": "removed; run the benchmark again with all runs, unchanged modes come from the cache",
    "sarif": "removed; use --format github or json",
    "junit": "removed; use --format github or json",
}
"""Options, commands and values of earlier versions, with their replacements."""


def _report_usage(error: Any) -> int:
    """Print a usage error of Typer as one line, or the help if there was no argument."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return int(error.exit_code)
    context = getattr(error, "ctx", None)
    program = context.command_path if context else None
    what = error.format_message().rstrip(".").replace("Value error, ", "")
    words = [part for word in sys.argv[1:] for part in word.split("=", 1)]
    remedy = next((_REMOVED[word] for word in words if word in _REMOVED), None)
    if remedy is None and str(program).endswith("benchmark run"):
        from trectools_plus.cli.options.retrieval import moved_option

        assignment = moved_option(getattr(error, "option_name", ""))
        remedy = assignment and f"write --set {assignment}"
    remedy = remedy or (f"see {program} -h" if program else None)
    print(f"error: {UsageError(what[:1].lower() + what[1:], remedy=remedy)}", file=sys.stderr)
    return int(error.exit_code)


def _describe(error: OSError) -> str:
    reason = (error.strerror or type(error).__name__).lower()
    return f"{reason} — {error.filename}" if error.filename else reason


def _exit_with(message: str, code: int) -> None:
    if is_verbose():
        traceback.print_exc()
    print(f"error: {hide_secrets(printable(message, breaks=True))}", file=sys.stderr)
    sys.exit(code)
