"""Rules on the six columns of a run: how many there are, what separates them, columns 2 and 6."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from trectools_plus.formats.numerals import DECIMAL, INTEGER
from trectools_plus.formats.run import N_FIELDS as RUN_FIELDS
from trectools_plus.text import on, plural, quoted
from trectools_plus.validation.registry import FixName, Hit, rule
from trectools_plus.validation.rules.invisible import INVISIBLE_BLANKS
from trectools_plus.validation.run_view import RunView
from trectools_plus.validation.shape import fields_of

LAYOUT = "qid Q0 docid rank score tag"
DELIMITERS = {
    "comma-separated": ",",
    "semicolon-separated": ";",
    "pipe-separated": "|",
    "quoted fields": " ",
}
"""What other formats have between columns, where a blank can take its place."""


@rule(
    "R101",
    "too-few-columns",
    on="run",
    scope="row",
    severity="error",
    fix="ask",
    checks="fewer than 6 fields",
    rationale="trec_eval stops at such a line, other readers skip it or take a wrong column as "
    "the score. A short last line means that writing or copying the file was cut off.",
    example="run.txt:6: error R101: 5 columns, need 6 (qid Q0 docid rank score tag); the run tag "
    "looks missing. Write all six columns on every line.",
    remedy="Write all six columns on every line",
)
def too_few_columns(run: RunView) -> Hit | None:
    """Rows with fewer fields than a run has."""
    short = _misshapen(run).filter(
        (pl.col("n_fields") < RUN_FIELDS) & ~pl.col("text").str.contains(INVISIBLE_BLANKS)
    )
    if short.is_empty():
        return None
    first = short.row(0, named=True)
    cut = _is_cut_off(run, first["line"])
    alike = run.n_rows == 0 and short["n_fields"].n_unique() == 1
    guess = "; the file ends in mid-line" if cut else _missing_column(fields_of(first["text"]))
    return Hit(
        f"{plural(first['n_fields'], 'column')}, need 6 ({LAYOUT}){guess}"
        f"{on(short.height, 'line')}",
        short["line"].to_list(),
        short.height,
        remedy="Copy or write the file again, its end is missing" if cut else None,
        fix=None if alike and guess else "no",  # one column that all rows lack
    )


def _missing_column(fields: list[str]) -> str:
    kinds = [_kind(field) for field in fields]
    if len(fields) == RUN_FIELDS - 1:
        if kinds[3:] == ["integer", "decimal"] or (kinds[3] == "integer" and kinds[4] != "word"):
            return "; the run tag looks missing"
        if fields[1].upper() != "Q0" and kinds[2] == "integer" and kinds[3] != "word":
            return "; the second column (Q0) looks missing"
        if fields[1].upper() == "Q0" and kinds[3] != "word":
            return "; the rank looks missing"
    if len(fields) == 3 and kinds[2] != "word":
        return "; these look like query, document and score"
    if len(fields) == 1 and fields[0].count(",") >= 2:
        return "; comma-separated?"
    return ""


def _kind(field: str) -> str:
    if re.match(INTEGER, field):
        return "integer"
    return "decimal" if re.match(DECIMAL, field) else "word"


def _is_cut_off(run: RunView, line: int) -> bool:
    """Whether a short line is the file's last and has no newline at its end."""
    if run.columns is None or run.columns.source.data.endswith(b"\n"):
        return False
    last_row = int(run.columns.lines[-1]) if run.columns.n_rows else 0
    return line > last_row > 0 and line == run.columns.misshapen["line"][-1]


@rule(
    "R102",
    "too-many-columns",
    on="run",
    scope="row",
    severity="error",
    fix="ask",
    checks="more than 6 fields",
    rationale="A blank inside a document id moves every column behind it: trec_eval would take "
    "the rank as the score and say nothing. It drops the words after the sixth column, so a tag "
    "of several words changes its name.",
    example="run.txt:1: error R102: 7 columns; space in the document id 'd01 part2'? trec_eval "
    "would take '1' as the score. Leave no blanks inside ids and tag.",
    remedy="Leave no blanks inside ids and tag",
)
def too_many_columns(run: RunView) -> Hit | None:
    """Rows with more fields than a run has."""
    long = _misshapen(run).filter(pl.col("n_fields") > RUN_FIELDS)
    if long.is_empty():
        return None
    first = long.row(0, named=True)
    guess = _blank_inside(fields_of(first["text"]))
    return Hit(
        f"{plural(first['n_fields'], 'column')}, need 6{guess}{on(long.height, 'line')}",
        long["line"].to_list(),
        long.height,
        fix=None if "run tag" in guess else "no",
    )


def _blank_inside(fields: list[str]) -> str:
    kinds = [_kind(field) for field in fields[:8]]
    extra = len(fields) - RUN_FIELDS
    if kinds[3] == "integer" and kinds[4] != "word" and kinds[5] == "word":
        return f"; space in the run tag {quoted(' '.join(fields[5:9]))}?"
    if len(fields) < 12 and re.match(INTEGER, fields[3 + extra]):
        doc_id = quoted(" ".join(fields[2 : 3 + extra]))
        return (
            f"; space in the document id {doc_id}? "
            f"trec_eval would take {quoted(fields[4])} as the score"
        )
    return ""


@rule(
    "R103",
    "other-format",
    on="run",
    scope="file",
    severity="error",
    fix="ask",
    checks="JSON, CSV, quoted fields or HTML in the first 4 KiB",
    rationale="A run is columns separated by blanks. trec_eval reads the first line of anything "
    "else as one broken row; quotes become part of the ids, and then no id is found in the qrels. "
    "Separators and quotes can be mended; which key of JSON or HTML is what only its writer knows.",
    example="run.txt:1: error R103: comma-separated, a run has six columns separated by spaces or "
    "tabs. Write 'qid Q0 docid rank score tag' on each line.",
    remedy=f"Write '{LAYOUT}' on each line",
)
def other_format(run: RunView) -> Hit | None:
    """The file as a whole is not in columns."""
    if run.shape.verdict != "other-format":
        return None
    message = f"{run.shape.format}, a run has six columns separated by spaces or tabs"
    fix: FixName | None = None if run.shape.format in DELIMITERS else "no"
    return Hit(message, [run.shape.first_line or 1], fix=fix)


@rule(
    "R104",
    "wrong-kind",
    on="run",
    scope="file",
    severity="error",
    fix="no",
    checks="all rows have 4 fields with an integer last: qrels",
    rationale="Runs and qrels are easily given in the wrong order, for tools differ in which one "
    "they want first.",
    example="run.txt:1: error R104: looks like qrels (4 columns with a grade last). Were the two "
    "arguments swapped? Use 'qrels validate' for qrels.",
    remedy="Were the two arguments swapped? Use 'qrels validate' for qrels",
)
def wrong_kind(run: RunView) -> Hit | None:
    """The file is qrels."""
    if run.shape.verdict != "wrong-kind":
        return None
    return Hit("looks like qrels (4 columns with a grade last)", [run.shape.first_line or 1])


@rule(
    "R105",
    "header-line",
    on="run",
    scope="file",
    severity="error",
    fix="safe",
    checks="line 1 not data, its score field a word, line 2 fine",
    rationale="Runs have no header. trec_eval reads one as a result with score 0 for a query that "
    "does not exist; stricter readers stop.",
    example="run.txt:1: error R105: header line 'qid Q0 docno rank score tag'. Remove it.",
    remedy="Remove it",
)
def header_line(run: RunView) -> Hit | None:
    """The first line names the columns."""
    if run.shape.header is None:
        return None
    line, text = run.shape.header
    return Hit(f"header line {quoted(text.strip())}", [line])


@rule(
    "R107",
    "second-column",
    on="run",
    scope="row",
    severity="warning",
    fix="safe",
    checks="column 2 is not 'Q0' (once per file)",
    rationale="Nothing evaluates column 2, but submission checkers demand 'Q0' there, and pyserini "
    "reads a run without it as MS MARCO's format.",
    example="run.txt:1: warning R107: column 2 is '0', not 'Q0'; TREC checkers reject it and "
    "pyserini reads such a run as MS MARCO. Write Q0.",
    remedy="Write Q0",
)
def second_column(run: RunView) -> Hit | None:
    """Column 2 holds something else than Q0."""
    if run.columns is None or run.n_rows == 0 or run.documents_in_column_2:
        return None
    rows = np.flatnonzero((run.frame["q0"] != "Q0").to_numpy())
    if len(rows) == 0:
        return None
    found = quoted(str(run.frame["q0"][int(rows[0])]))
    return Hit(
        f"column 2 is {found}, not 'Q0'{on(len(rows))}; TREC checkers reject it and "
        "pyserini reads such a run as MS MARCO",
        run.lines(rows),
        len(rows),
        run.column(rows[0], 2),
    )


@rule(
    "R151",
    "several-tags",
    on="run",
    scope="file",
    severity="warning",
    fix="ask",
    checks="more than one tag",
    rationale="The last column names the run. Two names in one file mean that two runs were "
    "joined, or that a post-processing step wrote only some rows.",
    example="run.txt:5: warning R151: tag 'other' after 'base'; two runs joined? Keep one run per "
    "file.",
    remedy="Keep one run per file, with one tag",
)
def several_tags(run: RunView) -> Hit | None:
    """The last column holds more than one value."""
    if run.columns is None or run.n_rows == 0:
        return None
    tags = run.frame["tag"]
    rows = np.flatnonzero((tags != tags[0]).to_numpy())
    if len(rows) == 0:
        return None
    distinct = tags.n_unique()
    first, other = quoted(tags[0]), quoted(tags[int(rows[0])])
    several = f" ({distinct:,} tags in all)" if distinct > 2 else on(len(rows))
    message = f"tag {other} after {first}{several}; two runs joined?"
    return Hit(message, run.lines(rows), len(rows), run.column(rows[0], 6))


def _misshapen(run: RunView) -> pl.DataFrame:
    """Misshapen rows that no verdict on the whole file explains."""
    if run.columns is None or run.shape.verdict != "rows":
        return _NO_ROWS
    found = run.columns.misshapen
    header = run.shape.header
    return found if header is None else found.filter(pl.col("line") != header[0])


_NO_ROWS = pl.DataFrame(schema={"line": pl.UInt32, "n_fields": pl.UInt32, "text": pl.String})
