"""TREC's files of runs and qrels, read strictly: the first malformed line is an error.

Runs are ``query_id Q0 doc_id rank score tag``, qrels ``query_id iteration doc_id grade``, one entry
per line. Tables with a header and JSON are read, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from operator import itemgetter
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.columns.columns import Columns
from trectools_plus.formats.columns.lexer import MAX_LINES
from trectools_plus.formats.columns.rows import QrelsRows, RunRows
from trectools_plus.formats.files.content import read_file
from trectools_plus.formats.interchange.systems import refuse_systems
from trectools_plus.formats.ir_datasets import is_catalogue_name, open_catalogue
from trectools_plus.formats.lexing import lex_qrels, lex_run
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.formats.writing import refuse_unwritable, write_rows
from trectools_plus.text import shortened


def raise_first_error(
    columns: Columns, layout: str, wrong: Mapping[int, tuple[npt.NDArray[np.bool_], str]]
) -> None:
    """Raise the first error of a file: of its encoding, the number of columns, or its fields.

    Args:
        columns: The file.
        layout: The names of the columns, for messages about their number.
        wrong: For the number of a field (from 1), the rows in which it is wrong, and what it is.

    Raises:
        FormatError: If there is an error, or the file has no rows with data.
    """
    problems = [*_problems_of_bytes(columns), *_problems_of_lines(columns, layout)]
    for number, (rows, expected) in wrong.items():
        row = np.flatnonzero(rows)[:1]
        if len(row):
            line = int(columns.lines[row[0]])
            what = f"expected {expected} but got {shortened(columns.texts(number, row)[0])!r}"
            column = columns.column_of_field(line, number) or 1
            problems.append((line, column, what, f"write {layout}"))
    if not problems and not columns.n_rows:
        content = "blank lines only" if columns.facts.n_lines else "the file is empty"
        if len(columns.comments):
            content = f"{len(columns.comments)} comment lines"
        remedy = "check that the program that wrote the file finished"
        raise FormatError(f"no data rows ({content})", path=columns.source.path, remedy=remedy)
    if problems:  # of several errors on one line the first: bad bytes explain a bad field
        first, place, what, remedy = min(problems, key=itemgetter(0))
        path = columns.source.path
        raise FormatError(what, path=path, line=first, column=place, remedy=remedy)


_Problem = tuple[int, int | None, str, str]
"""Line, column, what is wrong, and the remedy."""


def _problems_of_bytes(columns: Columns) -> Iterator[_Problem]:
    facts, text = columns.facts, columns.line_index.text
    guess = facts.encoding_guess or "latin-1"
    name = guess.upper() if guess.startswith("utf") else "Latin-1"
    convert = f"convert it: iconv -f {guess.replace('latin-1', 'latin1')} -t utf-8"
    if bad := facts.bad_utf8:
        yield bad.line, bad.column, f"byte 0x{bad.value:02X} is not UTF-8 ({name}?)", convert
    if line := facts.nul.first:
        what = f"NUL byte ({name} text?)" if name.startswith("UTF-") else "NUL byte"
        yield line, text(line).find("\0") + 1, what, f"remove it, or {convert}"
    if line := facts.bare_cr.first:
        remedy = "end lines with LF; if every line ends in CR, use tr '\\r' '\\n'"
        yield line, text(line).find("\r") + 1, "bare CR, not a line end", remedy


def _problems_of_lines(columns: Columns, layout: str) -> Iterator[_Problem]:
    remedy, n_needed = f"write {layout}, one entry per line", columns.n_fields
    if columns.origin is not None:
        n_needed, remedy = columns.origin.n_values, f"write {' '.join(columns.origin.required)}"
    for line, n_fields, text in columns.misshapen.rows()[:1]:
        hint = " (comma-separated?)" if n_fields == 1 and "," in text else ""
        yield line, None, f"expected {n_needed} columns but got {n_fields}{hint}", remedy
    if (stop := columns.facts.stopped_at) is not None:
        overlong = columns.source.overlong
        what = f"more than {MAX_LINES:,} lines" if overlong is None else overlong.what
        yield stop, None, what, remedy


RUN_LAYOUT = "query_id Q0 doc_id rank score tag"


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
    wrong = {
        4: (~rows.ranks.is_number, "an integer rank"),
        5: (~np.isfinite(score), "a finite decimal score"),
    }
    raise_first_error(columns, RUN_LAYOUT, wrong)
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


QRELS_LAYOUT = "query_id iteration doc_id grade"


def read_qrels(path: str | Path) -> Qrels:
    """Read relevance judgments strictly: the first malformed line is an error.

    A file has four columns, or is a table with a header line, for example BEIR's
    ``query-id corpus-id score``, or JSON (the iteration is then ``"0"``). Comments, blank lines,
    spaces, line ends and compression are treated as in
    :func:`trectools_plus.formats.trec_files.read_run`. Only the validator checks for conflicting
    judgments and unusual grades.

    Args:
        path: The file; ``-`` for standard input; or ``irds:<id>`` for a dataset of ``ir_datasets``.

    Returns:
        The judgments in file order.

    Raises:
        InputError: If the file cannot be read.
        FormatError: If a line has another number of columns, a grade is not a 64-bit integer, the
            text is not UTF-8 or contains NUL or a CR without LF, or there is no data.
    """
    if is_catalogue_name(path):
        return open_catalogue(str(path)).read_qrels()
    columns = lex_qrels(read_file(path, partial=True, tables=True))
    rows = QrelsRows.of(columns)
    wrong = ~rows.grades.is_number | rows.grades.has_point
    raise_first_error(columns, QRELS_LAYOUT, {4: (wrong, "an integer grade")})
    texts = {
        "query_id": rows.blocks.series(),
        "iteration": rows.iterations.series(),
        "doc_id": rows.doc_ids.series(),
    }
    return Qrels(pl.DataFrame({**texts, "relevance": rows.grades.values}), columns.source.path)


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
