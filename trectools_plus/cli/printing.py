"""Output of commands, to a file or to stdout."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from trectools_plus import formats, reporting
from trectools_plus.cli.verbosity import note
from trectools_plus.text import make_console, plural

if TYPE_CHECKING:
    import polars as pl

    from trectools_plus.display import TableColumn
    from trectools_plus.measures import Definition, Evaluation

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


def write_json(document: Mapping[str, Any], output: Path | None = None) -> None:
    """Write one JSON document to a file, or to stdout."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    write_text(iter([text]), output)


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
    if output is not None:
        with formats.atomic_write(output, "wb") as stream:
            stream.write(content)
        return
    try:
        with formats.atomic_write("-", "wb") as stream:
            stream.write(content)
    except BrokenPipeError:  # the reader has ended; `translated_errors` handles it
        raise
    except OSError as error:
        _discard_buffer()
        raise OSError(error.errno, error.strerror, "standard output") from error


def _discard_buffer() -> None:
    """Redirect stdout to nothing, so that the interpreter does not fail again when it exits."""
    with contextlib.suppress(OSError):  # a stream without a file descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_table(
    header: Sequence[str | TableColumn], rows: list[list[str]], right: Sequence[str] = ()
) -> None:
    """Print a table to stdout.

    Args:
        header: Names of the columns, or columns.
        rows: The texts of each row.
        right: Names of the columns that are aligned to the right.
    """
    table = reporting.TextTable.of(header, rows, right=right)
    reporting.print_table(make_console(sys.stdout), table)


def print_numbers(names: Sequence[str], rows: list[list[str]]) -> None:
    """Print a table whose columns, except the first one, are aligned to the right."""
    first, *others = names
    numbers = [
        reporting.TableColumn(reporting.Cell(name), right=True, whole=True) for name in others
    ]
    print_table([first, *numbers], rows)


def shown_name(definition: Definition) -> str:
    """Return the name of a measure, with the alias that the user wrote."""
    return f"{definition.name} ({definition.alias})" if definition.alias else definition.name


def print_notes(evaluation: Evaluation) -> None:
    """Print notes on the input to stderr."""
    for name, counts in evaluation.counts.items():
        if counts.n_extra:
            of_all = f"of {plural(counts.n_run, 'query', 'queries')}"
            note(f"{name}: not in the qrels, not scored: {counts.n_extra:,} {of_all}")
    for text in evaluation.notes:
        note(text)
