"""Writing tables as lines of fields that every TREC tool reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import polars as pl

from trectools_plus.errors import InputError
from trectools_plus.formats.atomic import atomic_write
from trectools_plus.formats.compression import SUFFIXES, open_compressed
from trectools_plus.formats.ids import UNWRITABLE, UNWRITABLE_STARTS


def refuse_unwritable(frame: pl.DataFrame, columns: Iterable[str], kind: str) -> None:
    """Refuse a table whose fields would not be read back as they are.

    Args:
        frame: The table.
        columns: Its text columns, the one that begins the line first.
        kind: What the table is, for the message.

    Raises:
        InputError: If it has no rows, or a field is empty, holds white space or control
            characters, or begins the line with ``#`` or a byte order mark.
    """
    if frame.is_empty():
        raise InputError("no rows to write", where=kind, remedy="readers refuse an empty file")
    for position, column in enumerate(columns):
        texts = frame[column].unique()
        wrong = (texts == "") | texts.str.contains(UNWRITABLE)
        if position == 0 and column != "tag":
            wrong |= texts.str.slice(0, 1).is_in(UNWRITABLE_STARTS)
        if wrong.any():
            raise InputError(
                f"{column} {texts.filter(wrong).min()!r} cannot be written to a file",
                where=kind,
                remedy="ids must not be empty, hold white space or start with '#'",
            )


def write_rows(frame: pl.DataFrame, path: str | Path, separator: str = " ") -> None:
    """Write a table's rows, atomically and compressed as the path's suffix says.

    Floats get the shortest text that reads back as the same value. Fields are written as they
    are: :func:`refuse_unwritable` first.

    Raises:
        InputError: If the file cannot be written.
    """
    write_all_rows([frame], path, separator)


def write_all_rows(frames: Iterable[pl.DataFrame], path: str | Path, separator: str = " ") -> None:
    """Write the rows of a table that comes in parts; see :func:`write_rows`."""
    with open_output(path) as stream:
        for frame in frames:
            frame.write_csv(stream, include_header=False, separator=separator, quote_style="never")


@contextmanager
def open_output(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file to be written whole or not at all, compressed as its suffix says.

    Raises:
        InputError: If the file cannot be written.
    """
    compression = SUFFIXES.get(Path(path).suffix.lower())
    with atomic_write(path, "wb") as stream:
        if compression is None:
            yield stream
        else:
            with open_compressed(stream, compression) as compressed:
                yield compressed
