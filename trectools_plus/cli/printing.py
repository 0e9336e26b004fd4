"""Output of commands, to a file or to stdout."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from trectools_plus import formats, reporting
from trectools_plus.cli.verbosity import note
from trectools_plus.display import TextTable, as_cell
from trectools_plus.text import plural, printable, visible

if TYPE_CHECKING:
    import polars as pl

    from trectools_plus.measures import Evaluation

WIDTH = 100
"""The width to which text is wrapped, in characters."""


def write_text(
    lines: Iterator[str],
    output: Path | None = None,
    *,
    errors: Literal["backslashreplace", "surrogateescape"] = "backslashreplace",
) -> None:
    """Write lines to a file, or to stdout.

    Args:
        lines: The lines.
        output: The file; ``None`` for stdout.
        errors: The treatment of bytes that are not UTF-8, for example of a file name: escapes, as
            stdout and stderr write them, or the bytes themselves.
    """
    text = "".join(f"{line}\n" for line in lines)
    _write(text.encode("utf-8", errors), output)


def write_document(
    document: Mapping[str, Any],
    output_format: Literal["text", "json"] | str = "json",
    output: Path | None = None,
) -> None:
    """Write a document to a file, or to stdout: as JSON, or as text with lines and tables."""
    if output_format == "json":
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
        write_text(iter([text]), output)
    else:
        write_text(document_lines(document), output)


def write_as(output_format: str, **forms: Callable[[], str | None]) -> None:
    """Print a result in one of its forms; a form that prints the result itself returns nothing."""
    typer.echo(forms[output_format]() or "", nl=False)


def document_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each value of a document, and a table for each list of records.

    Nulls and empty lists are left out. A record of an interval is shown as ``0.5 [0.4, 0.6]``.
    """
    values = _flat({key: value for key, value in document.items() if not _records(value)})
    tables = {**document, **values}
    values = {key: value for key, value in values.items() if not _records(value)}
    width = max(map(len, values), default=0) + 2
    for key, value in values.items():
        is_text = isinstance(value, list) and any(" " in str(item) for item in value)
        texts = map(printable, map(_cell, value if is_text else [value]))
        lines = (line for text in texts for line in textwrap.wrap(text, WIDTH - width))
        for at, line in enumerate(lines):
            yield f"{'' if at else key:<{width}}{line}"
    for key, value in tables.items():
        if records := _records(value):
            yield from filter(None, ["", *([_words(key)] if len(document) > 1 else [])])
            yield from records_table(records)
            yield ""


def records_table(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table with a row for each record, and a column for each key."""
    rows = list(map(_flat, records))
    names = dict.fromkeys(name for row in rows for name in row)
    numeric = [name for name in names if all(_is_number(row.get(name)) for row in rows)]
    cells = [[visible(_cell(row[name])) if name in row else "" for name in names] for row in rows]
    return (line.rstrip() for line in TextTable.of(names, cells, right=numeric).lines())


def _records(value: Any) -> list[Mapping[str, Any]]:
    """Return the records of a list, or of a mapping, whose keys are their first column."""
    if isinstance(value, dict) and all(isinstance(item, dict) for item in value.values()):
        return [] if _is_interval(value) else [{"": key, **item} for key, item in value.items()]
    is_table = isinstance(value, list | tuple) and all(isinstance(item, dict) for item in value)
    return list(value) if is_table else []


def _flat(record: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return the values of a record by their names in words, those of inner records too."""
    values: dict[str, Any] = {}
    for key, value in record.items():
        name = f"{before} {_words(key)}".strip()
        if isinstance(value, dict) and not _is_interval(value):
            values |= _flat(value, name)
        elif value not in (None, "", [], ()):
            values[name] = value
    return values


def _cell(value: Any) -> str:
    if isinstance(value, dict) and not _is_interval(value):
        return ", ".join(f"{key} {_cell(item)}" for key, item in value.items())
    if isinstance(value, dict):
        ends = f"[{as_cell(value['low'])}, {as_cell(value['high'])}]"
        return f"{as_cell(value['value'])} {ends}" if "value" in value else ends
    return ", ".join(map(_cell, value)) if isinstance(value, list | tuple) else as_cell(value)


def _is_interval(value: Mapping[str, Any]) -> bool:
    return {"low", "high"} <= value.keys()


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _words(key: object) -> str:
    return str(key).replace("_", " ")


def write_files(files: Mapping[str, Path], *names: str) -> None:
    """Print the paths of files that were written: all of them, or those with the names."""
    for name in names or files:
        typer.echo(f"written  {files[name]}")


def write_frame(
    table: pl.DataFrame, kind: Literal["csv", "parquet"], output: Path | None = None
) -> None:
    """Write a table to a file, or to stdout."""
    # Written to memory first: for a full disk, Polars does not raise OSError.
    content = io.BytesIO()
    if kind == "csv":
        content.write(reporting.frame_as_csv(table).encode())
    else:
        table.write_parquet(content)
    _write(content.getvalue(), output)


def _write(content: bytes, output: Path | None) -> None:
    try:
        with formats.atomic_write("-" if output is None else output, "wb") as stream:
            stream.write(content)
    except BrokenPipeError:  # the reader has ended; `translated_errors` handles it
        raise
    except OSError as error:
        if output is not None:
            raise
        # Redirect stdout to nothing, so that the interpreter does not fail again when it exits.
        with contextlib.suppress(OSError):  # a stream without a file descriptor
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OSError(error.errno, error.strerror, "standard output") from error


def print_notes(evaluation: Evaluation) -> None:
    """Print notes on the input to stderr."""
    for name, counts in evaluation.counts.items():
        if counts.n_extra:
            of_all = f"of {plural(counts.n_run, 'query', 'queries')}"
            note(f"{name}: not in the qrels, not scored: {counts.n_extra:,} {of_all}")
    for text in evaluation.notes:
        note(text)
