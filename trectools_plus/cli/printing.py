"""Output of commands: results to a file or stdout, notes and progress to stderr."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from trectools_plus import formats, reporting
from trectools_plus.display import Progress, TextTable, as_cell, progress_bar
from trectools_plus.text import MinorNote, plural, printable, visible

if TYPE_CHECKING:
    from pydantic import BaseModel

    from trectools_plus.measures import Evaluation
    from trectools_plus.reporting.document import Block


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


WIDTH = 100
"""The width to which text is wrapped, in characters."""


def write_content(content: bytes, output: Path | None = None) -> None:
    """Write bytes to a file, or to stdout if ``output`` is ``None``."""
    with formats.atomic_write("-" if output is None else output, "wb") as stream:
        stream.write(content)


def write_text(
    lines: Iterable[str], output: Path | None = None, errors: str = "backslashreplace"
) -> None:
    """Write lines to a file, or to stdout; ``errors`` names the treatment of undecodable bytes."""
    text = "".join(f"{line}\n" for line in lines)
    write_content(text.encode("utf-8", errors), output)


def write_document(
    document: Mapping[str, Any], output_format: str = "json", output: Path | None = None
) -> None:
    """Write a document to a file, or to stdout: as JSON, or as text with lines and tables."""
    if output_format == "json":
        write_text([json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)], output)
    else:
        write_text("\n".join(document_lines(document)).strip("\n").splitlines(), output)


def print_result(
    output_format: str,
    document: Mapping[str, Any] | BaseModel,
    blocks: Sequence[Block],
    *,
    folds: bool = False,
    files: Mapping[str, Path] = MappingProxyType({}),
) -> None:
    """Print a result: its document as JSON, or its blocks as Markdown or text.

    Args:
        output_format: ``json``, ``markdown``, or another name for text.
        document: The document.
        blocks: The same for people.
        folds: Print folded sections in text, too.
        files: Files that were written, which follow in text.
    """
    if output_format == "markdown":
        typer.echo(reporting.markdown(blocks), nl=False)
    elif output_format != "json":
        reporting.print_blocks(blocks, sys.stdout, folds=folds)
        for path in files.values():
            typer.echo(f"written  {path}")
    elif isinstance(document, Mapping):
        write_document(document)
    else:
        typer.echo(reporting.render_json(document), nl=False)


def document_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each value of a document, and a table for each list of records.

    Nulls and empty lists are left out.
    """
    for key, value in document.items():
        if records := _records(value):
            yield from ("", f"{_words(key)}:", *records_table(records), "")
        elif isinstance(value, list) and any(" " in str(item) for item in value):
            yield f"{_words(key)}:"
            for item in value:
                yield from textwrap.wrap(printable(f"- {item}"), WIDTH, subsequent_indent="  ")
        elif value not in (None, "", [], (), {}):
            text = printable(f"{_words(key)}: {_cell(value)}")
            yield from textwrap.wrap(text, WIDTH, subsequent_indent="  ")


def records_table(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table with a row for each record, and a column for each key."""
    rows = [dict(_flat(record)) for record in records]
    names = dict.fromkeys(name for row in rows for name in row)
    figures = [name for name in names if not any(isinstance(row.get(name), str) for row in rows)]
    cells = [[visible(_cell(row[name])) if name in row else "" for name in names] for row in rows]
    return (line.rstrip() for line in TextTable.of(names, cells, right=figures).lines())


def _records(value: Any) -> Sequence[Mapping[str, Any]]:
    """Return the records of a list, or of a mapping, whose keys are their first column."""
    if isinstance(value, dict) and value and all(isinstance(item, dict) for item in value.values()):
        return [{"": key, **item} for key, item in value.items()]
    is_table = isinstance(value, list | tuple) and all(isinstance(item, dict) for item in value)
    return value if is_table else []


def _flat(record: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of a record by their names in words, those of inner records too."""
    for key, value in record.items():
        name = f"{before} {_words(key)}".strip()
        if isinstance(value, dict):
            yield from _flat(value, name)
        elif value not in (None, "", [], ()):
            yield name, value


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{_words(key)} {_cell(item)}" for key, item in value.items())
    return ", ".join(map(_cell, value)) if isinstance(value, list | tuple) else as_cell(value)


def _words(key: object) -> str:
    return str(key).replace("_", " ")


def print_notes(evaluation: Evaluation) -> None:
    """Print notes on the input to stderr."""
    for name, counts in evaluation.counts.items():
        if counts.n_extra:
            of_all = f"of {plural(counts.n_run, 'query', 'queries')}"
            note(f"{name}: not in the qrels, not scored: {counts.n_extra:,} {of_all}")
    for text in evaluation.notes:
        note(text)
