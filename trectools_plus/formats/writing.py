"""Write runs, qrels and other tables as lines that every TREC tool can read; check ids for this."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

from trectools_plus.choices import MAX_TAG_LENGTH
from trectools_plus.errors import InputError
from trectools_plus.formats.files.atomic import atomic_write
from trectools_plus.formats.files.opening import SUFFIXES, open_compressed
from trectools_plus.text import shortened

if TYPE_CHECKING:
    import polars as pl

    from trectools_plus.formats.tables import Qrels, Run

UNWRITABLE = r"[\s\x00-\x1f\x7f-\x9f]"
"""Characters at which some tools split or stop reading: Unicode white space, control characters.

The pattern has the same meaning in Polars and in Python.
"""

UNWRITABLE_STARTS = ("#", "\ufeff")
"""Starts of a line that tools interpret as a comment or a byte order mark."""


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
    if re.search(UNWRITABLE, text):
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
                remedy="ids must not be empty, contain white space or start with '#': replace them "
                "in the run and in the qrels; scoring reads them as they are",
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


def write_run(run: Run, path: str | Path, *, tag: str | None = None) -> None:
    """Write a run file that every trec_eval reads: six columns, single spaces, LF.

    Rows and ranks are written unchanged and in the order of the frame, scores as the shortest text
    that reads back as the same 64-bit float. The file is compressed if its suffix is ``.gz``,
    ``.bz2``, ``.xz`` or ``.zst``, and is written atomically.

    Args:
        run: The run.
        path: The file, or ``-`` for standard output.
        tag: The last column; the name of the run by default.

    Raises:
        InputError: If there are no rows, a score is not finite, an id or the tag is empty or
            contains white space or control characters, a query id starts with ``#`` (a comment),
            or the file cannot be written.
    """
    write_run_frames([run.frame], path, run.name if tag is None else tag)


def write_run_frames(frames: Iterable[pl.DataFrame], path: str | Path, tag: str) -> None:
    """Write the frames of a run one after another, like :func:`write_run`.

    Args:
        frames: Parts of the run, each with at least one row and with complete queries.
        path: The file; it is not written if there are no frames.
        tag: The last column.

    Raises:
        InputError: See :func:`write_run`.
    """
    import polars as pl

    refuse_unwritable(pl.DataFrame({"tag": [tag]}), ("tag",), "run")
    rows = (_as_columns(frame, tag) for frame in frames)
    first = next(rows, None)
    if first is not None:
        write_rows(chain([first], rows), path)


def _as_columns(frame: pl.DataFrame, tag: str) -> pl.DataFrame:
    """Check a frame and return the six columns of a run file."""
    import polars as pl  # not at the start: `runs validate` needs only the tests of ids

    refuse_unwritable(frame, ("query_id", "doc_id"), "run")
    infinite = frame.filter(~pl.col("score").is_finite())
    if not infinite.is_empty():
        query_id, doc_id, _, score = infinite.row(0)
        raise InputError(
            f"score {score} of document {doc_id!r} in query {query_id!r} is not finite",
            where="run",
            remedy="compute the score again, or remove the row",
        )
    # Polars writes the shortest digits that read back exactly, as Python's repr() does.
    return frame.select(
        "query_id", pl.lit("Q0").alias("q0"), "doc_id", "rank", "score", pl.lit(tag).alias("tag")
    )


def write_qrels(qrels: Qrels, path: str | Path) -> None:
    """Write judgments that every trec_eval reads: four columns, single spaces, LF.

    Rows are written unchanged and in the order of the frame. The file is compressed if its suffix
    is ``.gz``, ``.bz2``, ``.xz`` or ``.zst``, and is written atomically.

    Args:
        qrels: The judgments.
        path: The file, or ``-`` for standard output.

    Raises:
        InputError: If there are no rows, an id or iteration is empty or contains white space or
            control characters, a query id starts with ``#`` (a comment), or the file cannot be
            written.
    """
    refuse_unwritable(qrels.frame, ("query_id", "iteration", "doc_id"), "qrels")
    write_rows([qrels.frame], path)
