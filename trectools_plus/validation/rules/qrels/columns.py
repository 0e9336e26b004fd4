"""Rules on the columns of qrels: their number, headers, swapped columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

import numpy as np

from trectools_plus.validation.registry import Case, Rule
from trectools_plus.validation.rules.file.lines import spacing_cases
from trectools_plus.validation.rules.file.shared import (
    CONTINUES,
    conversion_remedy,
    converted_with,
    few_values,
    header,
    header_of_table,
    in_other_form,
    long_rows,
    many_values,
    returning_queries,
    row_behind_hash,
    short_rows,
)
from trectools_plus.validation.views.places import Places, Value
from trectools_plus.validation.views.qrels import QrelsView

LAYOUT = "qid iter docid grade"


Q101 = Rule(
    "Q101",
    "too-few-columns",
    "qrels",
    "error",
    checks="fewer than 4 fields",
    rationale="Without all four columns, a reader takes the document id for the grade, or stops.",
    example="qrels.txt:3: error Q101: 3 columns, need 4 (qid iter docid grade). "
    "Write all four columns on every line.",
    remedy="Write all four columns on every line",
    blocks_fixing=True,
    cases=(
        few_values,
        in_other_form,
        Case(
            "error",
            f"{{n_fields:column}}, need 4 ({LAYOUT})[ (on {{count}} lines)]",
            short_rows,
            remedy="Write all four columns on every line, or convert it with qrels convert "
            "--columns",
        ),
    ),
)


Q102 = Rule(
    "Q102",
    "too-many-columns",
    "qrels",
    "error",
    checks="more than 4 fields; recognises prels with 5 columns",
    rationale="trec_eval stops at such a line; others read part of the document id as the grade.",
    example="qrels.txt:1: error Q102: 5 columns, need 4; the document id may contain a space. "
    "Write four columns on every line.",
    remedy="Write four columns on every line",
    blocks_fixing=True,
    cases=(
        many_values,
        Case(
            "error",
            "{n_fields:column}, need 4; the document id may contain a space[ (on {count} lines)]",
            long_rows,
            remedy="Write four columns on every line, or convert it with qrels convert --columns",
        ),
    ),
)
in_rows = partial(header, given=lambda qrels, _: qrels.shape.header_in_rows)
Q103 = Rule(
    "Q103",
    "header-line",
    "qrels",
    "error",
    fix="safe",
    fixed="left out the header line",
    checks="header line, or BEIR's TSV with three columns",
    rationale="Qrels have no header: trec_eval stops at it or counts one more query. BEIR's files "
    "have a header and only three columns.",
    example="qrels.txt:1: error Q103: TSV with the header 'query-id corpus-id score', three "
    "columns, not in TREC form. Every trectools-plus command reads it; for other tools, convert "
    "it: trectools-plus qrels convert qrels.txt --output qrels.txt",
    remedy="Remove it",
    drop_in="scores",
    notes={"error": "it is skipped"},
    cases=(
        header_of_table,
        in_rows("header line {text!q}; trec_eval counts it as a judgment"),
        header("header line {text!q}; trec_eval stops at it", drop_in="refuses"),
    ),
)


Q104 = Rule(
    "Q104",
    "wrong-kind",
    "qrels",
    "error",
    checks="6 fields, second Q0 or 0: a run",
    rationale="Runs and qrels are easily swapped, because tools differ in which one they expect "
    "first.",
    example="qrels.txt:1: error Q104: this is a run (6 columns). Check the order of the "
    "arguments; use 'runs validate' for runs.",
    remedy="Check the order of the arguments; use 'runs validate' for runs",
    blocks_fixing=True,
    cases=(
        Case(
            "error",
            "this is a run (6 columns)",
            lambda qrels: qrels.first_place(if_=qrels.shape.verdict == "wrong-kind"),
        ),
    ),
)
Q106 = Rule(
    "Q106",
    "odd-spacing",
    "qrels",
    "warning",
    fix="safe",
    fixed="put one blank between columns",
    checks="form feed or vertical tab between columns",
    rationale="trec_eval accepts any ASCII blank between columns. Readers that split only at "
    "blanks and tabs see one column fewer.",
    example="qrels.txt:2: warning Q106: form feed or vertical tab between columns; not every "
    "reader splits there. Put one blank between columns.",
    remedy="Put one blank between columns",
    cases=spacing_cases,
)
Q112 = row_behind_hash("Q112", "qrels", "a judgment")


def all_rows(qrels: QrelsView, *, if_: bool) -> Places:
    """Return all rows at the first line, under a condition."""
    if not if_:
        return Places()
    return Places(qrels.n_rows, qrels.lines([0]), first=qrels.fields_of(0))


def converted_columns(qrels: QrelsView, _: Places) -> Mapping[str, Value]:
    """Return the command that reads the documents, or the relevant ones of SMART."""
    columns = "query=1,doc_id=2,relevance=4" if qrels.grade.any() else ""
    return {"convert": conversion_remedy(qrels, columns)}


Q108 = Rule(
    "Q108",
    "columns-swapped",
    "qrels",
    "error",
    checks="column 3 has a single value, and column 2 contains the ids",
    rationale="Evaluators ignore column 2. If the document ids are there, one document is judged "
    "repeatedly, and no document of a run is judged.",
    example="qrels.txt:1: error Q108: columns 2 and 3 look swapped; column 3 is always '0'. "
    "Convert it: trectools-plus qrels convert qrels.txt --columns query=1,doc_id=2,relevance=4 "
    "--output qrels.txt",
    remedy="Convert it with qrels convert --columns query=1,doc_id=2,relevance=4",
    cases=(
        Case(
            "error",
            "columns 2 and 3 look swapped; column 3 is always {doc_id!q}",
            lambda qrels: all_rows(qrels, if_=qrels.documents_in_column_2),
            shows=converted_columns,
            remedy="{convert}",
        ),
    ),
)


def grades_in_column_2(qrels: QrelsView) -> bool:
    """Return whether all grades are 0, and column 2 contains several small whole numbers."""
    if (
        qrels.columns is None
        or qrels.n_rows < 2
        or (qrels.grade != 0).any()
        or qrels.documents_in_column_2
    ):
        return False
    iterations = qrels.rows.iterations
    distinct = iterations.texts(iterations.numbered()[1])
    return len(distinct) > 1 and all(re.match(r"^-?[0-9]{1,3}$", text) for text in distinct)


Q135 = Rule(
    "Q135",
    "grade-in-column-2",
    "qrels",
    "error",
    checks="column 4 is always 0, and column 2 varies",
    rationale="Evaluators ignore column 2. If the grades are there, nothing is relevant and every "
    "score is 0.",
    example="qrels.txt:1: error Q135: grades seem to be in column 2; column 4 is always 0. "
    "Convert it: trectools-plus qrels convert qrels.txt --columns query=1,doc_id=3,relevance=2 "
    "--output qrels.txt",
    remedy="Convert it with qrels convert --columns query=1,doc_id=3,relevance=2",
    drop_in="scores",
    cases=(
        Case(
            "error",
            "grades seem to be in column 2; column 4 is always 0",
            lambda qrels: np.arange(int(grades_in_column_2(qrels))),
            about="file",
            shows=converted_with("query=1,doc_id=3,relevance=2"),
            remedy="{convert}",
        ),
    ),
)
Q151 = Rule(
    "Q151",
    "interleaved",
    "qrels",
    "info",
    fix="safe",
    fixed="grouped the rows by query",
    checks="query id returns after another",
    rationale="Readers that work row by row treat the second block as a new query.",
    example="qrels.txt:4: info Q151: query 1 continues after query 3. Group the rows by query.",
    remedy="Group the rows by query",
    cases=(Case("info", CONTINUES, returning_queries, about="query"),),
)
