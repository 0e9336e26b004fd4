"""Qrels: TREC's ``query_id iteration doc_id grade``, tables with a header, and JSON."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

from trectools_plus.formats.columns.decimals import INTEGER, INTEGRAL
from trectools_plus.formats.columns.errors import find_field_error, raise_first_error
from trectools_plus.formats.columns.rows import QrelsRows
from trectools_plus.formats.files.content import read_file
from trectools_plus.formats.ir_datasets import is_catalogue_name, open_catalogue
from trectools_plus.formats.lexing import lex_qrels
from trectools_plus.formats.tables import Qrels
from trectools_plus.formats.writing import refuse_unwritable, write_rows
from trectools_plus.text import shortened

LAYOUT = "query_id iteration doc_id grade"


def read_qrels(path: str | Path) -> Qrels:
    """Read relevance judgments strictly: the first malformed line is an error.

    A file has four columns, or is a table with a header line, for example BEIR's
    ``query-id corpus-id score``, or JSON (the iteration is then ``"0"``). Comments, blank lines,
    spaces, line ends and compression are treated as in
    :func:`trectools_plus.formats.run.read_run`. Only the validator checks for conflicting
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
    raise_first_error(columns, LAYOUT, [find_field_error(columns, 4, wrong, _bad_grade)])
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


def _bad_grade(text: str) -> tuple[str, str]:
    if re.match(INTEGER, text):
        what = f"grade {shortened(text)} does not fit in a 64-bit integer"
        return what, "use small grades, for example 0 to 3"
    what = f"expected an integer grade but got {shortened(text)!r}"
    if re.match(INTEGRAL, text):
        return what, f"write {shortened(text.partition('.')[0])}"
    return what, "use integers, for example 0 to 3"
