"""Qrels: TREC's ``query_id iteration doc_id grade``, or BEIR's TSV with a header."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from trectools_plus.formats.columns.columns import Columns, scan_columns
from trectools_plus.formats.columns.errors import find_field_error, raise_first_error
from trectools_plus.formats.columns.numbers import INTEGER, parse_integers
from trectools_plus.formats.files.source import Source, read_source
from trectools_plus.formats.tables import Qrels
from trectools_plus.formats.writing import refuse_unwritable, write_rows
from trectools_plus.text import shortened

N_FIELDS = 4
LAYOUT = "query_id iteration doc_id grade"
BEIR_LAYOUT = "query-id corpus-id score"

_SCHEMA: dict[str, type[pl.DataType]] = {
    "query_id": pl.String,
    "iteration": pl.String,
    "doc_id": pl.String,
    "relevance": pl.Int64,
}
_BEIR_SCHEMA = {name: dtype for name, dtype in _SCHEMA.items() if name != "iteration"}

# Spellings of the three fields of BEIR's header, in lower case without "-" and "_".
_BEIR_HEADER = (
    frozenset({"queryid", "qid", "query", "topicid", "topic"}),
    frozenset({"corpusid", "docid", "did", "pid", "docno", "documentid", "passageid", "doc"}),
    frozenset({"score", "relevance", "rel", "grade", "label", "judgment", "judgement"}),
)


def read_qrels(path: str | Path) -> Qrels:
    """Read relevance judgments strictly: the first malformed line is an error.

    A file has four columns, or BEIR's three columns below a header line, for example
    ``query-id corpus-id score`` (the iteration is then ``"0"``). Comments, blank lines, spaces,
    line ends and compression are treated as in :func:`trectools_plus.formats.run.read_run`. Only
    the validator checks for conflicting judgments and unusual grades.

    Args:
        path: The file, or ``-`` for standard input.

    Returns:
        The judgments in file order.

    Raises:
        InputError: If the file cannot be read.
        FormatError: If a line has another number of columns, a grade is not a 64-bit integer, the
            text is not UTF-8 or contains NUL or a CR without LF, or there is no data.
    """
    source = read_source(path, partial=True)
    return parse_qrels(scan_columns(source, N_FIELDS if not has_beir_header(source) else 3))


def parse_qrels(columns: Columns) -> Qrels:
    """Convert a file that is split into 4 columns, or 3 below BEIR's header, to qrels.

    Raises:
        FormatError: See :func:`read_qrels`.
    """
    if columns.n_fields == N_FIELDS:
        frame = columns.typed(_SCHEMA)
        if frame is None:
            frame = _parse_texts(columns, columns.rows, _SCHEMA, LAYOUT)
        else:
            raise_first_error(columns, LAYOUT)
    else:
        frame = _parse_texts(columns, columns.rows.slice(1), _BEIR_SCHEMA, BEIR_LAYOUT)
    return Qrels(frame, columns.source.path)


def has_beir_header(source: Source) -> bool:
    """Return true if the first line that is not blank is BEIR's header."""
    start = source.head.decode("utf-8", "ignore").lstrip("\ufeff \t\r\n")
    fields = start.split("\n", 1)[0].lower().replace("-", "").replace("_", "").split()
    return len(fields) == 3 and all(
        field in names for field, names in zip(fields, _BEIR_HEADER, strict=True)
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


def _parse_texts(
    columns: Columns, rows: pl.DataFrame, schema: dict[str, type[pl.DataType]], layout: str
) -> pl.DataFrame:
    """Parse the columns as texts, which is slower and finds the position of the first error."""
    texts = rows.rename(dict(zip(rows.columns[1:], schema, strict=True)))
    relevance = parse_integers(texts["relevance"])
    wrong = find_field_error(columns, rows, columns.n_fields, relevance.is_null(), _bad_grade)
    raise_first_error(columns, layout, [wrong], n_rows=len(rows))
    return texts.drop("line").with_columns(relevance)


def _bad_grade(text: str) -> tuple[str, str]:
    if pl.Series([text]).str.contains(INTEGER)[0]:
        what = f"grade {shortened(text)} does not fit in a 64-bit integer"
        return what, "use small grades, for example 0 to 3"
    what = f"expected an integer grade but got {shortened(text)!r}"
    if pl.Series([text]).str.contains(r"^[+-]?[0-9]+\.0*$")[0]:
        return what, f"write {shortened(text.partition('.')[0])}"
    return what, "use integers, for example 0 to 3"
