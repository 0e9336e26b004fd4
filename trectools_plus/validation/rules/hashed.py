"""Rows behind a hash sign: a commented-out row, or ids that start with '#' (R112, Q112)."""

from __future__ import annotations

import polars as pl

from trectools_plus.formats.numerals import DECIMAL, INTEGER
from trectools_plus.text import quoted
from trectools_plus.validation.qrels_view import QrelsView
from trectools_plus.validation.registry import Hit, rule
from trectools_plus.validation.run_view import RunView
from trectools_plus.validation.shape import field_of
from trectools_plus.validation.views import TableView

_LAST_NUMBER = {"run": (6, 5, DECIMAL), "qrels": (4, 4, INTEGER)}


def rows_behind_hash(table: TableView) -> pl.DataFrame:
    """Comment lines (``line, text``) that would be rows if '#' did not begin a comment."""
    if table.columns is None:
        return pl.DataFrame(schema={"line": pl.UInt32, "text": pl.String})
    if table.kind == "testset" or table.columns.comments.is_empty():
        return table.columns.comments.clear()
    if table.kind not in _LAST_NUMBER:
        return table.columns.comments.filter(pl.col("text").str.contains("\t", literal=True))
    n_fields, field, pattern = _LAST_NUMBER[table.kind]
    n_fields, field = table.place_of(n_fields), table.place_of(field)
    comments = table.columns.comments
    text = comments["text"].str.strip_chars_start("#")
    is_row = field_of(text, n_fields).is_not_null() & field_of(text, n_fields + 1).is_null()
    return comments.filter(is_row & field_of(text, field).str.contains(pattern).fill_null(False))


def _hit(table: TableView) -> Hit | None:
    rows = rows_behind_hash(table)
    if rows.is_empty():
        return None
    lines = rows["line"].to_list()
    if table.n_rows == 0 and table.shape.first_line is None:
        remedy = "Ids that start with '#'? Rename them"
        return Hit("all rows start with '#'", lines, len(lines), severity="error", remedy=remedy)
    many = f" (and {len(lines) - 1:,} more)" if len(lines) > 1 else ""
    return Hit(f"{quoted(rows['text'][0])} skipped as comment{many}", lines, len(lines))


@rule(
    "R112",
    "row-behind-hash",
    on="run",
    scope="file",
    severity="warning",
    fix="no",
    checks="comment line that parses as a row; error if all rows do",
    rationale="A line that begins with '#' is a comment to trec_eval 10 and to this package, and "
    "a row to every other reader.",
    example="run.txt:4: warning R112: '#1 Q0 d10 4 6.0 base' skipped as comment. Id starting with "
    "'#'? Rename it.",
    remedy="Id starting with '#'? Rename it",
    may_be_error=True,
)
def run_row_behind_hash(run: RunView) -> Hit | None:
    """A comment holds a row of a run."""
    return _hit(run)


@rule(
    "Q112",
    "row-behind-hash",
    on="qrels",
    scope="file",
    severity="warning",
    fix="no",
    checks="comment line that parses as a row; error if all rows do",
    rationale="A line that begins with '#' is a comment to trec_eval 10 and to this package, and "
    "a judgment to every other reader.",
    example="qrels.txt:1: error Q112: all rows start with '#'. Ids that start with '#'? Rename "
    "them.",
    remedy="Id starting with '#'? Rename it",
    may_be_error=True,
)
def qrels_row_behind_hash(qrels: QrelsView) -> Hit | None:
    """A comment holds a judgment."""
    return _hit(qrels)
