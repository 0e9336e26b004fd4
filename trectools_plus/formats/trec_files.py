"""TREC's files of runs and qrels, read strictly: the first malformed line is an error.

Runs are ``query_id Q0 doc_id rank score tag``, qrels ``query_id iteration doc_id grade``, one entry
per line. Tables with a header and JSON are read, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import polars as pl

from trectools_plus.errors import InputError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.formats.writing import refuse_unwritable, write_rows


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
    refuse_unwritable(pl.DataFrame({"tag": [tag]}), ("tag",), "run")
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
