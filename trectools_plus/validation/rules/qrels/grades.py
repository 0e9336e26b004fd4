"""Rules on the grades of qrels: whole numbers in a normal range, and relevant documents."""

from __future__ import annotations

import re

import numpy as np

from trectools_plus.formats.columns.decimals import DECIMAL, INTEGER, INTEGRAL
from trectools_plus.formats.columns.ids import Rows
from trectools_plus.text import listed, number, on, plural, quoted, visible
from trectools_plus.validation.fixes.session import FileDraft, FixSession
from trectools_plus.validation.registry import Hit, RuleFix, SeverityName, fix_step, rule
from trectools_plus.validation.rules.file.shared import conversion_remedy, convertible, number_text
from trectools_plus.validation.rules.qrels.columns import grades_in_column_2
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.tables import Numbers

GRADE_FIELD = 4
RELEVANT = 1
"""Lowest grade that counts as relevant, as in trec_eval without ``-l``."""


HIGHEST_SCORED = 10**8
"""The highest grade that is scored: trec_eval uses a counter per grade, here 0.8 GB in total."""

INT32 = 2**31 - 1
_OUTWEIGHS = "such a document outweighs all others in nDCG"
GRADE_LIMITS: tuple[tuple[int, SeverityName, str], ...] = (
    (127, "error", f"{_OUTWEIGHS}, and trec_eval's time and memory grow with the grade"),
    (10, "warning", "exponential gain is 2^grade, so one such document outweighs all others"),
    (4, "info", "gdeval and ERR stop above 4"),
)


@rule(
    "Q110",
    "grade-not-integer",
    on="qrels",
    scope="row",
    severity="error",
    fix="no",
    checks="grade is not ASCII [+-]?digits",
    rationale="trec_eval reads the longest numeric prefix and gives no warning: 'relevant' "
    "becomes 0, '0x2' becomes 0, '2,0' becomes 2.",
    example="qrels.txt:1: error Q110: grade 'relevant' is not a whole number; trec_eval reads 0. "
    "Write whole numbers.",
    remedy="Write whole numbers",
    drop_in="scores",
)
def grade_not_integer(qrels: QrelsView) -> Hit | None:
    """A grade is not a number."""
    rows = _not_written_as_integer(qrels, fractional=False)
    if len(rows) == 0:
        return None
    text = qrels.text(rows[0], GRADE_FIELD)
    digits = _leading_integer(text)
    found = None if qrels.is_arranged else convertible(qrels)
    return qrels.places(rows, GRADE_FIELD).hit(
        f"grade {quoted(text)} is not a whole number{on(len(rows))}; trec_eval reads {digits}",
        remedy=conversion_remedy(qrels) if found and found.name == "ntcir" else None,
    )


def _leading_integer(text: str) -> str:
    """Return the number that C's ``atol`` reads from a text."""
    found = re.match("[+-]?[0-9]+", text)
    return found[0].removeprefix("+") if found else "0"


@rule(
    "Q111",
    "fractional-grade",
    on="qrels",
    scope="row",
    severity="error",
    fix=RuleFix("safe", "wrote whole grades without a point"),
    scored_if="every such grade is whole, for example 1.0, which is read as 1",
    checks="decimal grade; grades like '2.0' can be fixed",
    rationale="Grades are whole numbers; trec_eval ignores the fraction. '2.0' can be fixed; "
    "'0.5' needs another scale.",
    example="qrels.txt:1: error Q111: grade 0.9 is not a whole number; trec_eval reads 0. Rescale "
    "the grades to whole numbers.",
    remedy="Rescale the grades to whole numbers",
    drop_in="scores",
)
def fractional_grade(qrels: QrelsView) -> Hit | None:
    """A grade is a decimal number."""
    rows = _not_written_as_integer(qrels, fractional=True)
    if len(rows) == 0:
        return None
    text = qrels.text(rows[0], GRADE_FIELD)
    integral = qrels.rows.grades.has_point[rows]
    is_whole = bool(integral.all())
    kind = "not written as an integer" if is_whole else "not a whole number"
    if not is_whole:
        text = qrels.text(rows[int(np.argmin(integral))], GRADE_FIELD)
    return qrels.places(rows, GRADE_FIELD).hit(
        f"grade {visible(text)} is {kind}{on(len(rows))}; trec_eval reads {_leading_integer(text)}",
        remedy=f"Write {_leading_integer(text)}" if is_whole else None,
        fix=None if integral.any() else "no",
        blocks_scoring=not is_whole,
    )


def _not_written_as_integer(qrels: QrelsView, *, fractional: bool) -> Rows:
    """Return rows whose grade is a decimal number (also ``1.0``), or is no number."""
    if qrels.columns is None or qrels.grades_are_integers:
        return np.empty(0, np.int64)
    grades = qrels.rows.grades
    rows = np.flatnonzero(~grades.is_number | grades.has_point)
    texts = qrels.texts(GRADE_FIELD, rows)
    wanted = [
        re.match(INTEGER, text) is None and (re.match(DECIMAL, text) is not None) == fractional
        for text in texts
    ]
    return rows[np.array(wanted, np.bool_)]


@fix_step("Q111", order=50)
def write_whole_grades(draft: FileDraft, session: FixSession) -> FileDraft:
    """Write ``2`` for ``2.0`` (Q111); keep other fractions."""
    if draft.qrels.grades_are_integers:
        return draft
    grades = draft.fields["c4"]
    whole = grades.str.replace(r"\.0*$", "")
    return draft.write(session, "Q111", "c4", whole.zip_with(grades.str.contains(INTEGRAL), grades))


@rule(
    "Q121",
    "negative-grade",
    on="qrels",
    scope="row",
    severity="warning",
    fix="no",
    tables=True,
    checks="grade below 0 (once per file, with counts)",
    rationale="Negative grades mark spam or unjudged documents. They count as not relevant. Some "
    "measures treat -1 as unjudged and lower grades as judged.",
    example="qrels.txt:2: warning Q121: 1 row with grade -1, 1 row with grade -2; they count as "
    "not relevant, and trec_eval -J drops them. Nothing to do if this is intended.",
    remedy="Nothing to do if this is intended",
)
def negative_grade(qrels: QrelsView) -> Hit | None:
    """A grade is below 0."""
    rows = np.flatnonzero(qrels.grade < 0)
    if len(rows) == 0:
        return None
    grades, counts = np.unique(qrels.grade[rows], return_counts=True)
    pairs = list(zip(grades[::-1], counts[::-1], strict=True))
    each = ", ".join(
        f"{plural(count, 'row')} with grade {number(grade)}" for grade, count in pairs[:4]
    )
    return qrels.places(rows, GRADE_FIELD).hit(
        f"{each}; they count as not relevant, and trec_eval -J drops them",
    )


@rule(
    "Q122",
    "grade-range",
    on="qrels",
    scope="row",
    severity="error",
    fix="no",
    tables=True,
    checks="grade over 127 (error), over 10 (warning) or over 4 (info)",
    rationale="Such a grade is usually a score or a time. trec_eval uses 8 bytes for each grade up "
    "to the highest one, 8 GB at 10^9, and each query takes time in proportion; its ndcg takes the "
    "square of it, an hour at 10^6. Exponential gain overflows much earlier.",
    example="qrels.txt:1: error Q122: grade 1000000000; trec_eval would need 8.0 GB of memory. "
    "Rescale the grades to 0 to 4.",
    remedy="Rescale the grades to 0 to 4",
    scored_if=f"no grade is above {HIGHEST_SCORED:,}",
    notes={"error": "it is scored as it is"},
)
def grade_range(qrels: QrelsView) -> Hit | None:
    """A grade is higher, or far lower, than evaluators support."""
    # trec_eval stores grades in 32 bits, so very low grades overflow like high ones.
    grade = np.where(np.abs(qrels.grade) > INT32, np.abs(qrels.grade), qrels.grade)
    limits = ((HIGHEST_SCORED, "error", _memory_needed(grade)), *GRADE_LIMITS)
    for limit, severity, why in limits:
        rows = np.flatnonzero(grade > limit)
        if len(rows):
            text = number_text(qrels, rows[0], GRADE_FIELD, qrels.grade[rows[0]])
            return qrels.places(rows, GRADE_FIELD).hit(
                f"grade {visible(text)}{on(len(rows))}; {why}",
                severity=severity,
                blocks_scoring=limit >= HIGHEST_SCORED,
            )
    return None


def _memory_needed(grades: Numbers) -> str:
    gigabytes = 8e-9 * float(np.nanmax(grades, initial=0.0))
    return f"trec_eval would need {gigabytes:,.1f} GB of memory"


@rule(
    "Q131",
    "no-relevant",
    on="qrels",
    scope="file",
    severity="warning",
    fix="no",
    tables=True,
    checks="query without a relevant document (one finding, with the ids)",
    rationale="A query without a relevant document scores 0 for every system, so it lowers the "
    "means. C trec_eval, pytrec_eval, ir_measures and ranx count it, and so does this package.",
    example="qrels.txt:8: warning Q131: 1 of 3 queries has no relevant document: 3. They count "
    "as zero in the means; judge more documents, or leave them out with --no-relevant drop.",
    remedy="They count as zero in the means; judge more documents, or leave them out with "
    "--no-relevant drop",
)
def no_relevant(qrels: QrelsView) -> Hit | None:
    """A query has no relevant document."""
    without = np.flatnonzero(qrels.highest < RELEVANT)
    n_queries = len(qrels.query_ids)
    if len(without) == 0 or _nothing_is_relevant(qrels):
        return None
    ids = [qrels.query_ids[number] for number in without.tolist()]
    have = "has" if len(without) == 1 else "have"
    rows = qrels.blocks.first_rows[without]
    return Hit(
        f"{len(without):,} of {plural(n_queries, 'query', 'queries')} {have} no relevant "
        f"document: {listed(ids)}",
        qrels.lines(rows),
        len(without),
        query_id=ids[0],
    )


@rule(
    "Q132",
    "only-negative",
    on="qrels",
    scope="query",
    severity="error",
    fix=RuleFix(
        "ask",
        "left out queries with negative grades only",
        effect="deletes queries; the means are over fewer queries",
    ),
    blocks_scoring=False,
    tables=True,
    checks="highest grade of a query is -1 (warning) or lower (error)",
    rationale="trec_eval and pytrec_eval size a table by the highest grade: below -1 they write "
    "outside of it and crash; at -1 they may use the table of the previous query.",
    example="qrels.txt:8: error Q132: query 3 has only negative grades (-2); trec_eval and "
    "pytrec_eval crash (segmentation fault). Remove the query, or write 0 for not relevant.",
    remedy="Remove the query, or write 0 for not relevant",
    notes=dict.fromkeys(
        ("error", "warning"), "it is scored as a query without a relevant document"
    ),
)
def only_negative(qrels: QrelsView) -> Hit | None:
    """All grades of a query are negative."""
    crash = np.flatnonzero(qrels.highest < -1)
    negative = crash if len(crash) else np.flatnonzero(qrels.highest < 0)
    if len(negative) == 0:
        return None
    first = int(negative[0])
    query_id = qrels.query_ids[first]
    grades = np.unique(qrels.grade[qrels.blocks.query == first])[::-1]
    only = ", ".join(number(grade) for grade in grades[:3] if not np.isnan(grade))
    effect = (
        "trec_eval and pytrec_eval crash (segmentation fault)"
        if len(crash)
        else "trec_eval may score it with the grades of the previous query"
    )
    more = f" ({len(negative):,} such queries)" if len(negative) > 1 else ""
    return Hit(
        f"query {visible(query_id)} has only negative grades ({only}){more}; {effect}",
        qrels.lines(qrels.blocks.first_rows[negative]),
        len(negative),
        query_id=query_id,
        severity="error" if len(crash) else "warning",
        effect=f"deletes {plural(len(negative), 'query', 'queries')}; the means are over fewer "
        "queries",
    )


@fix_step("Q132", order=140)
def remove_negative_queries(draft: FileDraft, session: FixSession) -> FileDraft:
    """Remove queries that have only negative grades (Q132)."""
    qrels = draft.qrels
    rows = np.flatnonzero((qrels.highest < 0)[qrels.blocks.query])
    if not len(rows):
        return draft
    session.done("Q132", int((qrels.highest < 0).sum()))
    return draft.without_rows(rows)


@rule(
    "Q133",
    "nothing-relevant",
    on="qrels",
    scope="file",
    severity="error",
    fix="no",
    blocks_scoring=False,
    tables=True,
    checks="no query has a relevant document",
    rationale="Every system scores 0. The grades are in another column, or the file is the wrong "
    "one.",
    example="qrels.txt: error Q133: no grade above 0 in 9 rows. Check that this is the right file "
    "and that column 4 is the grade.",
    remedy="Check that this is the right file and that column 4 is the grade",
    notes={"error": "every query scores 0"},
)
def nothing_relevant(qrels: QrelsView) -> Hit | None:
    """No grade is above 0."""
    if not _nothing_is_relevant(qrels) or (qrels.columns and grades_in_column_2(qrels)):
        return None
    return Hit(f"no grade above 0 in {plural(qrels.n_rows, 'row')}", count=qrels.n_rows)


@rule(
    "Q134",
    "only-relevant",
    on="qrels",
    scope="file",
    severity="info",
    fix="no",
    tables=True,
    checks="no document is judged not relevant, so bpref and Judged@k have no meaning",
    rationale="If only relevant documents are listed, unjudged documents cannot be distinguished "
    "from documents that were judged not relevant.",
    example="qrels.txt: info Q134: no non-relevant judgments; bpref and Judged@k have no meaning. "
    "Nothing to do for other measures.",
    remedy="Nothing to do for other measures",
)
def only_relevant(qrels: QrelsView) -> Hit | None:
    """Every judged document is relevant."""
    if qrels.n_rows == 0 or not bool((qrels.grade >= RELEVANT).all()):
        return None
    return Hit("no non-relevant judgments; bpref and Judged@k have no meaning")


def _nothing_is_relevant(qrels: QrelsView) -> bool:
    readable = qrels.grade[~np.isnan(qrels.grade)]
    return len(readable) == qrels.n_rows > 0 and not bool((readable >= RELEVANT).any())
