"""Write tables as lines that every TREC tool can read, and check ids and fields for this."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

from trectools_plus.choices import MAX_TAG_LENGTH
from trectools_plus.errors import InputError
from trectools_plus.formats.files.atomic import atomic_write
from trectools_plus.formats.files.opening import SUFFIXES, open_compressed
from trectools_plus.text import shortened

if TYPE_CHECKING:
    import polars as pl

UNWRITABLE = r"[\s\x00-\x1f\x7f-\x9f]"
"""Characters at which some tools split or stop reading: Unicode white space, control characters.

The pattern has the same meaning in Polars and in Python.
"""

UNWRITABLE_STARTS = ("#", "\ufeff")
"""Starts of a line that tools interpret as a comment or a byte order mark."""

_UNWRITABLE = re.compile(UNWRITABLE)


def valid_tag(tag: str, longest: int = MAX_TAG_LENGTH) -> str:
    """Replace invalid characters of a tag by ``_``, and cut it to ``longest`` characters."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", tag)[:longest]


def tag_of_path(path: str) -> str:
    """Return a run tag made from the name of a file."""
    return valid_tag(Path(path).name.split(".")[0].strip("-") or "run")


def id_problem(text: str, kind: Literal["query", "document"]) -> str | None:
    """Return the problem of an id, for example "empty query id"; ``None`` if it is valid."""
    if not text:
        return f"empty {kind} id"
    if _UNWRITABLE.search(text):
        return f"white space or control character in {kind} id {shortened(text)!r}"
    if kind == "query" and text.startswith(UNWRITABLE_STARTS):
        return f"{kind} id {shortened(text)!r} would start a comment in a run or qrels file"
    return None


def refuse_unwritable(frame: pl.DataFrame, columns: Iterable[str], kind: str) -> None:
    """Refuse a table with fields that would not be read back unchanged.

    Args:
        frame: The table.
        columns: Its text columns; the first one is at the start of the line.
        kind: The kind of table, for the message.

    Raises:
        InputError: If it has no rows, or a field is empty, contains white space or control
            characters, or starts the line with ``#`` or a byte order mark.
    """
    if frame.is_empty():
        raise InputError(
            "no rows to write, and readers refuse an empty file",
            where=kind,
            remedy="check how the table was created",
        )
    for position, column in enumerate(columns):
        texts = frame[column].unique()
        wrong = (texts == "") | texts.str.contains(UNWRITABLE)
        if position == 0 and column != "tag":
            wrong |= texts.str.slice(0, 1).is_in(UNWRITABLE_STARTS)
        if wrong.any():
            raise InputError(
                f"{column} {texts.filter(wrong).min()!r} cannot be written to a file",
                where=kind,
                remedy="ids must not be empty, contain white space or start with '#'",
            )


def write_rows(frames: Iterable[pl.DataFrame], path: str | Path, separator: str = " ") -> None:
    """Write the rows of one or more frames atomically, compressed according to the suffix.

    Floats get the shortest text that reads back as the same value. Fields are not checked: call
    :func:`refuse_unwritable` first.

    Raises:
        InputError: If the file cannot be written.
    """
    with open_output(path) as stream:
        for part in (part for frame in frames for part in frame.iter_slices(1 << 18)):
            content = io.BytesIO()  # for a full disk, not all versions of Polars raise an error
            part.write_csv(content, include_header=False, separator=separator, quote_style="never")
            stream.write(content.getbuffer())


def write_parquet(table: pl.DataFrame, path: str | Path) -> None:
    """Write a table atomically as Parquet.

    Raises:
        InputError: If the file cannot be written.
    """
    content = io.BytesIO()  # for a full disk, Polars does not raise OSError
    table.write_parquet(content)
    with atomic_write(path, "wb") as stream:
        stream.write(content.getbuffer())


@contextmanager
def open_output(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file for atomic writing, compressed according to its suffix.

    Raises:
        InputError: If the file cannot be written.
    """
    compression = SUFFIXES.get(Path(path).suffix.lower())
    with atomic_write(path, "wb") as file:
        content = open_compressed(file, compression, "wb") if compression else nullcontext(file)
        with content as stream:
            yield stream
