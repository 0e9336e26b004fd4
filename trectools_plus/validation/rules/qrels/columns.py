"""Rules on the columns of qrels: their number, headers, swapped columns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from trectools_plus.formats.columns.rows import QRELS_FIELDS
from trectools_plus.text import on, plural, quoted
from trectools_plus.validation.findings import DropIn
from trectools_plus.validation.fixes.session import FileDraft, FixSession
from trectools_plus.validation.registry import Hit, Places, RuleFix, fix_step, rule
from trectools_plus.validation.rules.file.lines import odd_blanks
from trectools_plus.validation.rules.file.shared import (
    ANY,
    add_missing,
    continues_after,
    conversion_remedy,
    convertible,
    problem_of_json,
    readable_hit,
    returning_queries,
    too_few_values,
    too_many_values,
)
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.tables import TableView, fields_of, other_format

LAYOUT = "qid iter docid grade"
_GRADE = r"^[+-]?[0-9]{1,3}$"


@rule(
    "Q101",
    "too-few-columns",
    on="qrels",
    scope="row",
    severity="error",
    fix=RuleFix("ask", "inserted the iteration 0"),
    checks="fewer than 4 fields",
    rationale="Without all four columns, a reader takes the document id for the grade, or stops.",
    example="qrels.txt:3: error Q101: 3 columns, need 4 (qid iter docid grade); the grade is "
    "missing. Write all four columns on every line.",
    remedy="Write all four columns on every line",
    scored_if="it is a dictionary or a list of judgments in JSON",
)
def too_few_columns(qrels: QrelsView) -> Hit | None:
    """Rows with fewer fields than qrels have."""
    if qrels.columns is not None and qrels.columns.origin is not None:
        incomplete = too_few_values(qrels, qrels.columns.origin)
        if incomplete is None and qrels.shape.header is None:
            return readable_hit(qrels, "qrels have four columns separated by spaces or tabs")
        return incomplete
    short = qrels.misshapen.filter(qrels.misshapen.n_fields < QRELS_FIELDS)
    if not len(short) or qrels.columns is None:
        return None
    _, n_fields, text = short.rows()[0]
    same_width = qrels.n_rows == 0 and len(set(short.n_fields.tolist())) == 1
    found = convertible(qrels) if same_width else None
    other = other_format(qrels.columns.source.head, qrels.n_rows)
    problem = problem_of_json(qrels) if other == "JSON" else None
    guess = f"; the file seems to be {other}" if other else _missing_column(fields_of(text))
    if found is not None and found.name == "ntcir":
        guess = f"; this looks like {found.label}"
    if problem is not None:
        guess += f": {problem[0]}"
    return Hit(
        f"{plural(n_fields, 'column')}, need {QRELS_FIELDS} ({LAYOUT}){guess}"
        f"{on(len(short), 'line')}",
        short.line.tolist(),
        len(short),
        remedy=conversion_remedy(qrels) if found else problem[1] if problem else None,
        fix=None if qrels.n_rows == 0 and "iteration" in guess else "no",
    )


def _missing_column(fields: list[str]) -> str:
    if len(fields) != QRELS_FIELDS - 1:
        return ""
    # "1 0 d03" lacks the grade, "1 d03 2" the iteration: a grade is a short whole number.
    is_grade = fields[2].lstrip("+-").isdigit() and len(fields[2]) < 4
    return "; the iteration (column 2) is missing" if is_grade else "; the grade is missing"


@rule(
    "Q102",
    "too-many-columns",
    on="qrels",
    scope="row",
    severity="error",
    fix="no",
    checks="more than 4 fields; recognises prels with 5 columns",
    rationale="trec_eval stops at such a line; others read part of the document id as the grade.",
    example="qrels.txt:1: error Q102: 5 columns, need 4; the document id may contain a space. "
    "Write four columns on every line.",
    remedy="Write four columns on every line",
)
def too_many_columns(qrels: QrelsView) -> Hit | None:
    """Rows with more fields than qrels have."""
    if qrels.columns is not None and qrels.columns.origin is not None:
        return too_many_values(qrels, qrels.columns.origin)
    long = qrels.misshapen.filter(qrels.misshapen.n_fields > QRELS_FIELDS)
    if not len(long):
        return None
    fields = fields_of(long.text[0])
    everywhere = qrels.n_rows == 0 and bool((long.n_fields == QRELS_FIELDS + 1).all())
    guess = "the document id may contain a space"
    if everywhere and _is_prels(fields):
        guess = (
            "these look like prels with sampling columns, which trec_eval does not read as qrels"
        )
    found = convertible(qrels) if everywhere else None
    if found is not None and found.name != "prels":
        guess = f"these look like {found.label} ({quoted(fields[4])})"
    elif found is None and everywhere and _has_two_grades(long.text):
        guess = "columns 4 and 5 could both be the grade; name it, for example with --columns "
        guess += "query=1,doc_id=3,relevance=4"
    return Hit(
        f"{plural(int(long.n_fields[0]), 'column')}, need {QRELS_FIELDS}; {guess}"
        f"{on(len(long), 'line')}",
        long.line.tolist(),
        len(long),
        remedy=conversion_remedy(qrels) if found else None,
    )


def _has_two_grades(texts: Iterable[str]) -> bool:
    """Return whether columns 4 and 5 of all lines are small whole numbers."""
    return all(
        re.match(_GRADE, field) is not None for text in texts for field in fields_of(text)[3:5]
    )


def _is_prels(fields: list[str]) -> bool:
    """Return whether a row is ``qid docid grade method probability``."""
    try:
        probability = float(fields[4])
    except ValueError:
        return False
    return fields[2].lstrip("-").isdigit() and fields[3].isdigit() and 0 <= probability <= 1


@rule(
    "Q103",
    "header-line",
    on="qrels",
    scope="file",
    severity="error",
    fix=RuleFix(
        "ask",
        "left out the header line",
        by_default=True,
        cannot_apply=TableView.header_stays,
    ),
    checks="header line, or BEIR's TSV with three columns",
    rationale="Qrels have no header: trec_eval stops at it or counts one more query. BEIR's files "
    "have a header and only three columns.",
    example="qrels.txt:1: error Q103: BEIR header 'query-id corpus-id score', three columns, not "
    "in TREC form. Every trectools-plus command reads it; for other tools, convert it: "
    "trectools-plus qrels convert qrels.txt --output qrels.txt",
    remedy="Remove it",
    scored_if="it is the header of a table that every command reads, for example BEIR's, or no "
    "query has the id in its first column: the line is then skipped",
    drop_in="scores",
    notes={"error": "it is skipped"},
)
def header_line(qrels: QrelsView) -> Hit | None:
    """The first line names the columns."""
    if qrels.shape.header is None:
        return None
    if qrels.is_arranged:
        return replace(readable_hit(qrels, ""), note="")
    line, text = qrels.shape.header
    shown = quoted(" ".join(text.split()))
    if qrels.shape.header_in_rows:
        reads: str = "counts it as a judgment"
        drop_in: DropIn | None = None
    else:
        reads, drop_in = "stops at it", "refuses"
    return Hit(
        f"header line {shown}; trec_eval {reads}",
        [line],
        blocks_scoring=qrels.header_may_be_data,
        drop_in=drop_in,
    )


@fix_step("Q101", order=20)
def insert_iteration(draft: FileDraft, session: FixSession) -> FileDraft:
    """Insert the iteration if every row is query, document, grade (Q101)."""
    if not draft.has_only_unparsed_lines(session, "Q101"):
        return draft
    forms = [("{1} 0 {2} {3}", (ANY, ANY, _GRADE), None)]
    return add_missing(
        draft, session, "Q101", forms, "the rows are not all query, document and grade"
    )


@rule(
    "Q104",
    "wrong-kind",
    on="qrels",
    scope="file",
    severity="error",
    fix="no",
    checks="6 fields, second Q0 or 0: a run",
    rationale="Runs and qrels are easily swapped, because tools differ in which one they expect "
    "first.",
    example="qrels.txt:1: error Q104: this is a run (6 columns with Q0). Check the order of the "
    "arguments; use 'runs validate' for runs.",
    remedy="Check the order of the arguments; use 'runs validate' for runs",
    blocks_fixing=True,
)
def wrong_kind(qrels: QrelsView) -> Hit | None:
    """The file is a run."""
    if qrels.shape.verdict != "wrong-kind":
        return None
    assert qrels.columns is not None
    column_2 = fields_of(qrels.columns.misshapen.text[0])[1]
    message = f"this is a run (6 columns with {column_2})"
    return Hit(message, [qrels.shape.first_line or 1])


odd_spacing = rule(
    "Q106",
    "odd-spacing",
    on="qrels",
    scope="row",
    severity="warning",
    fix=RuleFix("safe", "put one blank between columns"),
    checks="form feed or vertical tab between columns",
    rationale="trec_eval accepts any ASCII blank between columns. Readers that split only at "
    "blanks and tabs see one column fewer.",
    example="qrels.txt:2: warning Q106: form feed or vertical tab between columns; not every "
    "reader splits there. Put one blank between columns.",
    remedy="Put one blank between columns",
)(odd_blanks)


@rule(
    "Q108",
    "columns-swapped",
    on="qrels",
    scope="file",
    severity="error",
    fix="no",
    checks="column 3 has a single value, and column 2 contains the ids",
    rationale="Evaluators ignore column 2. If the document ids are there, one document is judged "
    "repeatedly, and no document of a run is judged.",
    example="qrels.txt:1: error Q108: columns 2 and 3 look swapped; column 3 is always '0'. "
    "Convert it: trectools-plus qrels convert qrels.txt --columns query=1,doc_id=2,relevance=4 "
    "--output qrels.txt",
    remedy="Convert it with qrels convert --columns query=1,doc_id=2,relevance=4",
)
def columns_swapped(qrels: QrelsView) -> Hit | None:
    """The document ids are in column 2."""
    if not qrels.documents_in_column_2:
        return None
    found = convertible(qrels)
    if found is not None and found.name == "smart":
        message = f"this looks like {found.label}: query, relevant document, and two columns of 0"
        return Hit(message, qrels.lines([0]), qrels.n_rows, remedy=conversion_remedy(qrels))
    constant = quoted(qrels.doc_id(0))
    message = f"columns 2 and 3 look swapped; column 3 is always {constant}"
    remedy = conversion_remedy(qrels, "query=1,doc_id=2,relevance=4")
    return Hit(message, qrels.lines([0]), qrels.n_rows, remedy=remedy)


@rule(
    "Q135",
    "grade-in-column-2",
    on="qrels",
    scope="file",
    severity="error",
    fix="no",
    checks="column 4 is always 0, and column 2 varies",
    rationale="Evaluators ignore column 2. If the grades are there, nothing is relevant and every "
    "score is 0.",
    example="qrels.txt:1: error Q135: grades seem to be in column 2; column 4 is always 0. "
    "Convert it: trectools-plus qrels convert qrels.txt --columns query=1,doc_id=3,relevance=2 "
    "--output qrels.txt",
    remedy="Convert it with qrels convert --columns query=1,doc_id=3,relevance=2",
    drop_in="scores",
)
def grade_in_column_2(qrels: QrelsView) -> Hit | None:
    """Column 2 varies like grades, and column 4 is always 0."""
    if qrels.columns is None or not grades_in_column_2(qrels):
        return None
    return Hit(
        "grades seem to be in column 2; column 4 is always 0",
        qrels.lines([0]),
        remedy=conversion_remedy(qrels, "query=1,doc_id=3,relevance=2"),
    )


def grades_in_column_2(qrels: QrelsView) -> bool:
    """Return whether all grades are 0, and column 2 contains several small whole numbers."""
    if qrels.n_rows < 2 or (qrels.grade != 0).any() or qrels.documents_in_column_2:
        return False
    iterations = qrels.rows.iterations
    distinct = iterations.texts(iterations.numbered()[1])
    return len(distinct) > 1 and all(re.match(r"^-?[0-9]{1,3}$", one) for one in distinct)


@rule(
    "Q151",
    "interleaved",
    on="qrels",
    scope="file",
    severity="info",
    fix=RuleFix("safe", "grouped the rows by query"),
    checks="query id returns after another",
    rationale="Readers that work row by row treat the second block as a new query.",
    example="qrels.txt:4: info Q151: query 1 continues after query 3. Group the rows by query.",
    remedy="Group the rows by query",
    collect=returning_queries,
)
def interleaved(qrels: QrelsView, found: Places) -> Hit | None:  # noqa: ARG001
    """The rows of a query are not adjacent."""
    return found.hit(continues_after(found), doc_id=None)


@fix_step("Q151", order=150)
def group_queries(draft: FileDraft, session: FixSession) -> FileDraft:
    """Group the rows by query, in the order of their first rows (Q151)."""
    blocks = draft.qrels.blocks
    if not blocks.interleaved:
        return draft
    if len(draft.view.unparsed_lines):
        session.skip("Q151", "some rows cannot be read, and their places would be lost")
        return draft
    session.done("Q151", len(blocks.repeated_starts))
    return draft.with_rows(np.argsort(blocks.query, kind="stable"))
