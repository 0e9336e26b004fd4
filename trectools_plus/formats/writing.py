"""Writing tables as lines of fields that every TREC tool reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

import polars as pl

from trectools_plus.errors import InputError
from trectools_plus.formats.files.atomic import atomic_write
from trectools_plus.formats.files.compression import SUFFIXES, open_compressed
from trectools_plus.text import shortened

if TYPE_CHECKING:
    pass


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


# All that some reader splits at or stops at: Unicode white space and control characters. The
# pattern means the same to Polars and to Python.
UNWRITABLE = r"[\s\x00-\x1f\x7f-\x9f]"
# A comment, or a byte order mark, to whoever reads the file.
UNWRITABLE_STARTS = ("#", "\ufeff")

_UNWRITABLE = re.compile(UNWRITABLE)


def id_problem(text: str, kind: Literal["query", "document"]) -> str | None:
    """Say what is wrong with an id, as in "white space in query id 'q 1'"; ``None`` if nothing."""
    if not text:
        return f"empty {kind} id"
    if _UNWRITABLE.search(text):
        return f"white space or control character in {kind} id {shortened(text)!r}"
    if kind == "query" and text.startswith(UNWRITABLE_STARTS):
        return f"{kind} id {shortened(text)!r} would start a comment in a run or qrels file"
    return None
