"""Rules on the grades of qrels: whole numbers in a normal range, repeated or missing ones."""

from __future__ import annotations

import re
from functools import partial

import numpy as np

from trectools_plus.formats.columns.decimals import DECIMAL, INTEGER
from trectools_plus.formats.columns.ids import Flags, Rows
from trectools_plus.text import listed
from trectools_plus.validation.registry import Case, Rule, SeverityName
from trectools_plus.validation.rules.qrels.columns import grades_in_column_2
from trectools_plus.validation.views.order import Pairs
from trectools_plus.validation.views.places import Places
from trectools_plus.validation.views.qrels import QrelsView

RELEVANT = 1
"""Lowest grade that counts as relevant, as in trec_eval without ``-l``."""

HIGHEST_SCORED = 10**8
"""The highest grade that is scored: trec_eval uses a counter per grade, here 0.8 GB in total."""

INT32 = 2**31 - 1


def not_integers(qrels: QrelsView, *, fractional: bool, whole: bool | None = None) -> Rows:
    """Return rows whose grade is not written as an integer.

    Args:
        qrels: The qrels.
        fractional: Return decimal numbers; otherwise texts that are no number.
        whole: Of decimal numbers, return only those like ``1.0``, or only the others.
    """
    if qrels.columns is None or qrels.grades_are_integers:
        return np.empty(0, np.int64)
    grades = qrels.rows.grades
    rows = np.flatnonzero(~grades.is_number | grades.has_point)
    if whole is not None:
        rows = rows[grades.has_point[rows] == whole]
    flags = [
        re.match(INTEGER, text) is None and (re.match(DECIMAL, text) is not None) == fractional
        for text in qrels.texts(4, rows)
    ]
    return rows[np.array(flags, np.bool_)]


Q110 = Rule(
    "Q110",
    "grade-not-integer",
    "qrels",
    "error",
    checks="grade is not ASCII [+-]?digits",
    rationale="trec_eval reads the longest numeric prefix and gives no warning: 'relevant' "
    "becomes 0, '0x2' becomes 0, '2,0' becomes 2.",
    example="qrels.txt:1: error Q110: grade 'relevant' is not a whole number; trec_eval reads its "
    "start. Write whole numbers.",
    remedy="Write whole numbers",
    drop_in="scores",
    cases=(
        Case(
            "error",
            "grade {grade!q} is not a whole number[ (on {count} rows)]; trec_eval reads its start",
            partial(not_integers, fractional=False),
            column=4,
        ),
    ),
)


def fractions(qrels: QrelsView) -> Pairs:
    """Return all decimal grades, each with the first one that is not whole."""
    rows = not_integers(qrels, fractional=True)
    others = not_integers(qrels, fractional=True, whole=False)[:1]
    return Pairs(rows, np.broadcast_to(others, len(rows)) if len(others) else rows)


fraction = partial(Case, "error", where=fractions, column=4)
Q111 = Rule(
    "Q111",
    "fractional-grade",
    "qrels",
    "error",
    fix="safe",
    fixed="wrote whole grades without a point",
    can_fix=lambda qrels: bool(qrels.rows.grades.has_point.any()),
    checks="decimal grade; grades like '2.0' can be fixed",
    rationale="Grades are whole numbers; trec_eval ignores the fraction. '2.0' can be fixed; "
    "'0.5' needs another scale.",
    example="qrels.txt:1: error Q111: grade 0.9 is not a whole number; trec_eval ignores the "
    "fraction. Rescale the grades to whole numbers.",
    remedy="Rescale the grades to whole numbers",
    drop_in="scores",
    cases=(
        fraction(
            "grade {other_grade} is not written as an integer[ (on {count} rows)]; trec_eval "
            "ignores the point",
            given=lambda qrels, _: not len(not_integers(qrels, fractional=True, whole=False)),
            remedy="Write whole numbers without a point",
            blocks=False,
        ),
        fraction(
            "grade {other_grade} is not a whole number[ (on {count} rows)]; trec_eval ignores the "
            "fraction",
        ),
    ),
)


Q121 = Rule(
    "Q121",
    "negative-grade",
    "qrels",
    "warning",
    tables=True,
    checks="grade below 0 (once per file, with counts)",
    rationale="Negative grades mark spam or unjudged documents. They count as not relevant. Some "
    "measures treat -1 as unjudged and lower grades as judged.",
    example="qrels.txt:2: warning Q121: grade -1; 1 row with a grade below 0 counts as not "
    "relevant, and trec_eval -J drops it. Nothing to do if this is intended.",
    remedy="Nothing to do if this is intended",
    cases=(
        Case(
            "warning",
            "{count:row} with a grade below 0, the first {grade}; they count as not relevant, and "
            "trec_eval -J drops them",
            lambda qrels: np.flatnonzero(qrels.grade < 0),
            column=4,
        ),
    ),
)


def rows_above(qrels: QrelsView, limit: int) -> Rows:
    """Return rows whose grade is higher, or far lower, than a limit."""
    # trec_eval stores grades in 32 bits, so very low grades overflow like high ones.
    grade = np.where(np.abs(qrels.grade) > INT32, np.abs(qrels.grade), qrels.grade)
    return np.flatnonzero(grade > limit)


def _above(limit: int, severity: SeverityName, why: str) -> Case:
    return Case(
        severity,
        f"grade {{grade!v}}[ (on {{count}} rows)]; {why}",
        partial(rows_above, limit=limit),
        column=4,
        blocks=limit >= HIGHEST_SCORED,
    )


_OUTWEIGHS = "such a document outweighs all others in nDCG"
Q122 = Rule(
    "Q122",
    "grade-range",
    "qrels",
    "error",
    tables=True,
    checks="grade over 127 (error), over 10 (warning) or over 4 (info)",
    rationale="Such a grade is usually a score or a time. trec_eval uses 8 bytes for each grade up "
    "to the highest one, 8 GB at 10^9, and each query takes time in proportion; its ndcg takes the "
    "square of it, an hour at 10^6. Exponential gain overflows much earlier.",
    example="qrels.txt:1: error Q122: grade 1000000000; trec_eval needs 8 bytes for each "
    "grade up to it. Rescale the grades to 0 to 4.",
    remedy="Rescale the grades to 0 to 4",
    notes={"error": "it is scored as it is"},
    cases=(
        _above(HIGHEST_SCORED, "error", "trec_eval needs 8 bytes for each grade up to it"),
        _above(127, "error", f"{_OUTWEIGHS}, and trec_eval's memory grows with the grade"),
        _above(10, "warning", "exponential gain is 2^grade, so it outweighs all others"),
        _above(4, "info", "gdeval and ERR stop above 4"),
    ),
)


def first_rows(qrels: QrelsView, flags: Flags) -> Places:
    """Return the first rows of some queries."""
    numbers = np.flatnonzero(flags)
    if not len(numbers):
        return Places()
    ids = [qrels.query_ids[number] for number in numbers.tolist()]
    return Places(
        len(ids),
        qrels.lines(qrels.blocks.first_rows[numbers]),
        query_id=ids[0],
        first={"query": ids[0], "ids": listed(ids), "n_queries": len(qrels.query_ids)},
    )


def _nothing_is_relevant(qrels: QrelsView) -> bool:
    readable = qrels.grade[~np.isnan(qrels.grade)]
    return len(readable) == qrels.n_rows > 0 and not bool((readable >= RELEVANT).any())


Q131 = Rule(
    "Q131",
    "no-relevant",
    "qrels",
    "warning",
    tables=True,
    checks="query without a relevant document (one finding, with the ids)",
    rationale="A query without a relevant document scores 0 for every system, so it lowers the "
    "means. C trec_eval, pytrec_eval, ir_measures and ranx count it, and so does this package.",
    example="qrels.txt:8: warning Q131: 1 of 3 queries has no relevant document: 3. They count "
    "as zero in the means; judge more documents, or leave them out with --no-relevant drop.",
    remedy="They count as zero in the means; judge more documents, or leave them out with "
    "--no-relevant drop",
    cases=(
        Case(
            "warning",
            "{count} of {n_queries:query|queries} {have} no relevant document: {ids}",
            lambda qrels: first_rows(qrels, qrels.highest < RELEVANT),
            given=lambda qrels, _: not _nothing_is_relevant(qrels),
            shows=lambda _, places: {"have": "has" if places.count == 1 else "have"},
        ),
    ),
)
Q132 = Rule(
    "Q132",
    "only-negative",
    "qrels",
    "error",
    blocks_scoring=False,
    tables=True,
    checks="highest grade of a query is -1 (warning) or lower (error)",
    rationale="trec_eval and pytrec_eval size a table by the highest grade: below -1 they write "
    "outside of it and crash; at -1 they may use the table of the previous query.",
    example="qrels.txt:8: error Q132: query 3 has only grades below -1; trec_eval and pytrec_eval "
    "crash (segmentation fault). Remove the query, or write 0 for not relevant.",
    remedy="Remove the query, or write 0 for not relevant",
    notes=dict.fromkeys(
        ("error", "warning"), "it is scored as a query without a relevant document"
    ),
    cases=(
        Case(
            "error",
            "query {query!v} has only grades below -1[ ({count} such queries)]; trec_eval and "
            "pytrec_eval crash (segmentation fault)",
            lambda qrels: first_rows(qrels, qrels.highest < -1),
        ),
        Case(
            "warning",
            "query {query!v} has only grades below 0[ ({count} such queries)]; trec_eval may score "
            "it with the grades of the previous query",
            lambda qrels: first_rows(qrels, qrels.highest < 0),
        ),
    ),
)


Q133 = Rule(
    "Q133",
    "nothing-relevant",
    "qrels",
    "error",
    blocks_scoring=False,
    tables=True,
    checks="no query has a relevant document",
    rationale="Every system scores 0. The grades are in another column, or the file is the wrong "
    "one.",
    example="qrels.txt: error Q133: no grade above 0 in 9 rows. Check that this is the right file "
    "and that column 4 is the grade.",
    remedy="Check that this is the right file and that column 4 is the grade",
    notes={"error": "every query scores 0"},
    cases=(
        Case(
            "error",
            "no grade above 0 in {count:row}",
            lambda qrels: qrels.n_rows,
            given=lambda qrels, _: _nothing_is_relevant(qrels) and not grades_in_column_2(qrels),
        ),
    ),
)
Q134 = Rule(
    "Q134",
    "only-relevant",
    "qrels",
    "info",
    tables=True,
    checks="no document is judged not relevant, so bpref and Judged@k have no meaning",
    rationale="If only relevant documents are listed, unjudged documents cannot be distinguished "
    "from documents that were judged not relevant.",
    example="qrels.txt: info Q134: no non-relevant judgments; bpref and Judged@k have no meaning. "
    "Nothing to do for other measures.",
    remedy="Nothing to do for other measures",
    cases=(
        Case(
            "info",
            "no non-relevant judgments; bpref and Judged@k have no meaning",
            lambda qrels: int(qrels.n_rows > 0 and bool((qrels.grade >= RELEVANT).all())),
        ),
    ),
)


def repeats(qrels: QrelsView, *, agree: bool) -> Pairs:
    """Return repeated judgments whose grades are equal, or those whose grades differ."""
    again = qrels.repeats.filter(~_of_other_subtopic(qrels, qrels.repeats))
    here, there = qrels.grade[again.rows], qrels.grade[again.others]
    flags = ~(np.isnan(here) | np.isnan(there)) & ((here == there) == agree)
    if qrels.systems is not None:  # Q143 reports the type of judgment
        flags[:] = False
    return again.filter(flags)


def _of_other_subtopic(qrels: QrelsView, again: Pairs) -> Flags:
    """Return, for each of some repeats, whether its column 2 differs from that of the first."""
    subtopics = qrels.rows.iterations
    return ~subtopics.take(again.rows).equal(subtopics.take(again.others))


Q141 = Rule(
    "Q141",
    "duplicate-agrees",
    "qrels",
    "warning",
    fix="safe",
    fixed="left out repeated judgments",
    tables=True,
    checks="document judged twice for a query, with the same grade",
    rationale="trec_eval stops at a repeated judgment, even if the grades agree.",
    example="qrels.txt:2: warning Q141: d01 is judged again for query 1 with grade 2. Remove the "
    "repeated row.",
    remedy="Remove the repeated row",
    notes={"warning": "it counts once, but C trec_eval stops"},
    cases=(
        Case(
            "warning",
            "{doc_id!v} is judged again for query {query_id!v} with grade {grade}"
            "[ ({count} such rows)]",
            partial(repeats, agree=True),
            column=3,
        ),
    ),
)
Q142 = Rule(
    "Q142",
    "duplicate-conflicts",
    "qrels",
    "error",
    tables=True,
    checks="document judged twice for a query, with different grades",
    rationale="trec_eval stops, ir_measures and ranx keep the last grade, others the first, so "
    "one file gives several results.",
    example="qrels.txt:10: error Q142: d01 has grade 0 here but 2 on line 1, in query 1. Keep one "
    "grade for each document of a query.",
    remedy="Keep one grade for each document of a query",
    cases=(
        Case(
            "error",
            "{doc_id!v} has grade {grade} here but {other_grade} on {other_place}, in query "
            "{query_id!v}[ ({count} such rows)]",
            partial(repeats, agree=False),
            column=4,
        ),
    ),
)


def subtopics(qrels: QrelsView) -> Pairs:
    """Return judgments of a document for another subtopic."""
    return qrels.repeats.filter(_of_other_subtopic(qrels, qrels.repeats))


Q143 = Rule(
    "Q143",
    "looks-diversity",
    "qrels",
    "error",
    tables=True,
    checks="document judged twice for a query, with different values in column 2 (subtopics), or "
    "in a further column of a table (types of judgment)",
    rationale="In qrels for diversity, column 2 is the subtopic, and a document is judged once "
    "for each. Measures of relevance ignore column 2 and use any one of the grades.",
    example="qrels.txt:2: error Q143: column 2 contains subtopics: d01 is judged for 1 and 2 in "
    "query 7. Keep the rows of one subtopic.",
    remedy="Keep the rows of one subtopic",
    cases=(
        Case(
            "error",
            "{types} distinguish several judgments of a document for a query, for example types of "
            "judgment",
            lambda qrels: int(qrels.systems is not None),
            shows=lambda qrels, _: {"types": qrels.systems},
            remedy="Keep the rows of one type of judgment",
        ),
        Case(
            "error",
            "column 2 contains subtopics: {doc_id!v} is judged for {other_second!v} and {second!v} "
            "in query {query_id!v}[ ({count} such rows)]",
            subtopics,
            column=2,
        ),
    ),
)
