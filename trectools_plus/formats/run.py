"""TREC runs: ``query_id Q0 doc_id rank score tag``, one result per line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl

from trectools_plus.errors import InputError
from trectools_plus.formats.columns.decimals import DECIMAL
from trectools_plus.formats.columns.errors import find_field_error, raise_first_error
from trectools_plus.formats.columns.rows import RunRows
from trectools_plus.formats.files.content import read_file
from trectools_plus.formats.interchange.systems import refuse_systems
from trectools_plus.formats.lexing import lex_run
from trectools_plus.formats.tables import Run
from trectools_plus.formats.writing import refuse_unwritable, write_rows
from trectools_plus.text import shortened

LAYOUT = "query_id Q0 doc_id rank score tag"


def read_run(path: str | Path) -> Run:
    """Read a run file strictly: the first malformed line is an error.

    Comments (``#`` at the start of a line), blank lines, CRLF, a byte order mark, any mix of spaces
    and tabs, and compression with gzip, bz2, xz or zstd are accepted, and so are tables with a
    header (CSV, TSV) and JSON. Only the validator checks for duplicates, ranks that contradict
    scores, and missing queries.

    Args:
        path: The file, or ``-`` for standard input.

    Returns:
        The run in file order; its name is the tag of the first line.

    Raises:
        InputError: If the file cannot be read.
        FormatError: If a line has another number of columns, a rank is not an integer, a score is
            not a finite decimal number, the text is not UTF-8 or contains NUL or a CR without LF,
            or there is no data.
    """
    columns = lex_run(read_file(path, partial=True, tables=True))
    if columns.origin is not None and columns.origin.systems is not None:
        raise refuse_systems(columns.origin.systems, columns.source.path)
    rows = RunRows.of(columns)
    score = rows.scores.values
    errors = (
        find_field_error(columns, 4, ~rows.ranks.is_number, _bad_rank),
        find_field_error(columns, 5, ~np.isfinite(score), _bad_score),
    )
    raise_first_error(columns, LAYOUT, errors)
    texts = {"query_id": rows.blocks.series(), "doc_id": rows.doc_ids.series()}
    frame = pl.DataFrame({**texts, "rank": rows.ranks.values, "score": score})
    return Run(frame, rows.tags.text(0), columns.source.path)


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
    name = run.name if tag is None else tag
    rows = _as_columns(run.frame, name)
    _refuse_tag(name)
    write_rows([rows], path)


def write_run_frames(frames: Iterable[pl.DataFrame], path: str | Path, tag: str) -> None:
    """Write the frames of a run one after another, like :func:`write_run`.

    Args:
        frames: Parts of the run, each with at least one row and with complete queries.
        path: The file; it is not written if there are no frames.
        tag: The last column.

    Raises:
        InputError: See :func:`write_run`.
    """
    _refuse_tag(tag)
    rows = (_as_columns(frame, tag) for frame in frames)
    first = next(rows, None)
    if first is not None:
        write_rows(chain([first], rows), path)


def _as_columns(frame: pl.DataFrame, tag: str) -> pl.DataFrame:
    """Check a frame and return the six columns of a run file."""
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


def _refuse_tag(tag: str) -> None:
    refuse_unwritable(pl.DataFrame({"tag": [tag]}), ("tag",), "run")


def _bad_rank(text: str) -> tuple[str, str]:
    what = f"expected an integer rank but got {shortened(text)!r}"
    return what, "number the results of each query from 1"


def _bad_score(text: str) -> tuple[str, str]:
    if re.match(DECIMAL, text):
        return f"score {shortened(text)} does not fit in a 64-bit float", "rescale the scores"
    if text.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        what = f"score {text!r} is not finite and has no order"
        return what, "compute the score again, or remove the row"
    return f"expected a decimal score but got {shortened(text)!r}", "write scores as 12.5 or 1.25e1"
