"""Translation of errors into one line on stderr and an exit code, the same for every command."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import typer

from trectools_plus.cli.printing import Verbosity
from trectools_plus.errors import TrectoolsPlusError, UsageError, missing_package
from trectools_plus.text import hide_secrets, printable

INTERRUPTED = 130  # the exit code that shells use for a process ended by Ctrl-C
UNREADABLE = 2
_SECONDS_FOR_CLEANING = 2.0
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
    except OSError as error:
        if not error.filename:
            # Nobody reads stdout (head, less), or its disk is full: the interpreter must not write
            # the rest when it exits.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            sys.exit(0)
        reason = (error.strerror or type(error).__name__).lower()
        _exit_with(f"{reason} — {error.filename or 'standard output'}", UNREADABLE)
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
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")
    if threading.current_thread() is threading.main_thread():
        # An error instead of a sudden end, so that temporary files are removed.
        signal.signal(signal.SIGTERM, _end)
    # Most objects live until the end: searching for cycles more rarely saves up to a tenth of time.
    gc.set_threshold(50_000, 20, 20)
    with translated_errors():
        stdout = sys.stdout
        try:
            result = command(prog_name=name, standalone_mode=False)
        except _CLICK_ERROR as error:
            sys.exit(_report_usage(error))
        except SystemExit as stop:
            if sys.stdout is not stdout:  # Typer replaces the stream if its reader has ended
                raise BrokenPipeError from None
            sys.exit(stop.code if isinstance(stop.code, int) else UNREADABLE)
        stdout.flush()
        sys.exit(result if isinstance(result, int) else 0)


def _end(number: int, _: object) -> None:
    """End with the code of a signal, at the latest after two seconds, whatever a thread does."""
    timer = threading.Timer(_SECONDS_FOR_CLEANING, os._exit, [128 + number])
    timer.daemon = True
    timer.start()
    sys.exit(128 + number)


_REMOVED = {
    "--review": "to serve the review page, use trectools-plus review serve REPORT",
    "--log-to": "removed; log the figures of BenchmarkReport.json with your tracker's functions",
    **dict.fromkeys(
        ("--state-dir", "--job-time-limit", "--keep-results"),
        "removed with the background jobs; use the command line for larger work",
    ),
    "--held-out": "removed; score the chosen variant with benchmark run --test-file HELD-OUT",
    "--max-queries": "removed; larger sets are for benchmark run",
    "--rope": "removed; read the interval of the difference, or use benchmark gate --non-inferior",
    "--low-memory": "removed; files in TREC form are read in chunks",
    "--translations": "removed; name a model for the language with --embedding-model",
    "--similarity": "removed; extraction always uses the formula hybrid",
    "--relevant": "removed; write the grade into the measure, for example P(rel=2)@10",
    "--leave-out": "removed; review serve asks about the rest",
    "--database": "removed; the database is review.db in the folder of the report",
    "--phenopackets": "removed; --format json has the ids and assertions",
    "--no-exact": "removed; runs fetch writes the ranking of a mode without exact matches",
    "--http": "removed; write --set http.NAME=VALUE",
    "--device": "removed; write --gpu, or --set device=cuda",
    "--cpu": "removed; models run on the CPU without --gpu",
    "--reranker-model": "removed; --enable-reranker compares letters",
    "--dedup": "removed; no fix changes a figure: edit the file, or convert it",
    "--on-conflict": "removed; no fix changes a figure: edit the file, or convert it",
    "--diff": "removed; compare the file and its copy with diff",
    "--tag": "removed; a run has the tag of the file, or its name",
    "--parameter": "removed; extraction sweep varies min-confidence: run others one by one",
    "--ci": "removed; compare prints the intervals of the means",
    "--annotations": "removed; use benchmark run --set annotations=FILE",
    "--per-query": "removed from compare; use eval --per-query, or the page of benchmark run",
    "--by": "removed; benchmark run with --topics reports groups of queries",
    "--collapse": "removed; write --set collapse.method=max, first or sum",
    "--chunk-separator": "removed; write --set collapse.separator=TEXT",
    "--fusion-method": "removed; write --set fusion=rrf or combsum",
    "--no-relevant": "removed; write --set no_relevant=zero or drop",
    "--no-cache": "removed; choose another folder than that of the earlier report",
    "--plot": "removed; use benchmark run --plots",
    "markdown": "removed from eval; use compare",
    "latex": "removed; use compare --format latex, or benchmark show --table FILE.tex",
    "reproduce": "removed; use repro_eval",
    "merge": "removed; run the benchmark again with all runs",
    "overfitting": "removed; compare the parts of a split with benchmark run --test-file",
    "measures": "removed; use trectools-plus explain",
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
    option = getattr(error, "option_name", None)  # of an unknown option
    words = [option] if option else re.findall(r"'(\w+)'", what)[:1]
    remedy = next((_REMOVED[word] for word in words if word in _REMOVED), None)
    parameters: Any = context.command.params if context and option else ()
    if remedy is None and any("--set" in each.opts for each in parameters):
        from trectools_plus.cli.settings import moved_option

        assignment = moved_option(str(option))
        remedy = assignment and f"write --set {assignment}"
    remedy = remedy or (f"see {program} -h" if program else None)
    print(f"error: {UsageError(what[:1].lower() + what[1:], remedy=remedy)}", file=sys.stderr)
    return int(error.exit_code)


def _exit_with(message: str, code: int) -> None:
    if Verbosity.current.verbose:
        traceback.print_exc()
    print(f"error: {hide_secrets(printable(message, breaks=True))}", file=sys.stderr)
    sys.exit(code)
