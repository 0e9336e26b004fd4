"""Rules on repeated judgments: the same document judged twice for a query."""

from __future__ import annotations

import numpy as np

from trectools_plus.formats.columns.ids import Flags
from trectools_plus.text import number, plural, visible
from trectools_plus.validation.fixes.session import FileDraft, FixSession
from trectools_plus.validation.registry import Hit, RuleFix, fix_step, rule
from trectools_plus.validation.rules.file.shared import all_but_one, of_same_document
from trectools_plus.validation.views.order import Repeats
from trectools_plus.validation.views.qrels import QrelsView


@rule(
    "Q141",
    "duplicate-agrees",
    on="qrels",
    scope="query",
    severity="warning",
    fix=RuleFix("safe", "left out repeated judgments"),
    tables=True,
    checks="document judged twice for a query, with the same grade",
    rationale="trec_eval stops at a repeated judgment, even if the grades agree.",
    example="qrels.txt:2: warning Q141: d01 is judged again for query 1 with grade 2. Remove the "
    "repeated row.",
    remedy="Remove the repeated row",
    notes={"warning": "it counts once, but C trec_eval stops"},
)
def duplicate_agrees(qrels: QrelsView) -> Hit | None:
    """A judgment is repeated with the same grade."""
    again = _repeats(qrels, agree=True)
    if not len(again):
        return None
    row = int(again.row[0])
    more = f" ({len(again):,} such rows)" if len(again) > 1 else ""
    return qrels.places(again.row, 3).hit(
        f"{visible(qrels.doc_id(row))} is judged again for query {visible(qrels.query_id(row))} "
        f"with grade {number(qrels.grade[row])}{more}",
    )


@rule(
    "Q142",
    "duplicate-conflicts",
    on="qrels",
    scope="query",
    severity="error",
    fix=RuleFix(
        "ask",
        "kept one of several grades",
        effect="deletes judgments; the remaining grade decides the gain of a document",
    ),
    tables=True,
    checks="document judged twice for a query, with different grades",
    rationale="trec_eval stops, ir_measures and ranx keep the last grade, others the first, so "
    "one file gives several results.",
    example="qrels.txt:10: error Q142: d01 has grade 0 here but 2 on line 1, in query 1. Keep one "
    "grade for each document of a query.",
    remedy="Keep one grade for each document of a query",
)
def duplicate_conflicts(qrels: QrelsView) -> Hit | None:
    """A document has two grades for one query."""
    again = _repeats(qrels, agree=False)
    if not len(again):
        return None
    row, first = int(again.row[0]), int(again.first[0])
    more = f" ({len(again):,} such rows)" if len(again) > 1 else ""
    here, there = number(qrels.grade[row]), number(qrels.grade[first])
    return qrels.places(again.row, 4).hit(
        f"{visible(qrels.doc_id(row))} has grade {here} here but {there} on "
        f"{qrels.place(first)}, in query {visible(qrels.query_id(row))}{more}",
        effect=f"deletes {plural(len(again), 'judgment')}; the remaining grade decides the gain "
        "of a document",
    )


@rule(
    "Q143",
    "looks-diversity",
    on="qrels",
    scope="query",
    severity="error",
    fix="no",
    tables=True,
    checks="document judged twice for a query, with different values in column 2 (subtopics), or "
    "in a further column of a table (types of judgment)",
    rationale="In qrels for diversity, column 2 is the subtopic, and a document is judged once "
    "for each. Measures of relevance ignore column 2 and use any one of the grades.",
    example="qrels.txt:2: error Q143: column 2 contains subtopics: d01 is judged for 1 and 2 in "
    "query 7. Keep the rows of one subtopic.",
    remedy="Keep the rows of one subtopic",
)
def looks_diversity(qrels: QrelsView) -> Hit | None:
    """A document is judged for several subtopics of a query."""
    types = qrels.unclear_systems
    if types is not None:
        verb = "distinguish" if len(types.columns) > 1 else "distinguishes"
        return Hit(
            f"{types.shown} {verb} several judgments of a document for a query, for example types "
            "of judgment",
            remedy="Keep the rows of one type of judgment",
            fix="no",
        )
    if _documents_may_be_in_column_2(qrels):
        second, third = _count_distinct(qrels)
        return Hit(
            f"column 2 has {second:,} different values and column 3 only {third:,}: column 2 seems "
            "to contain the documents, and column 3 the type of judgment",
            qrels.lines([0]),
            remedy="Write 'qid iter docid grade', with the rows of one type of judgment",
            fix="no",
        )
    again = qrels.repeats.filter(_of_other_subtopic(qrels, qrels.repeats))
    if not len(again):
        return None
    row, first = int(again.row[0]), int(again.first[0])
    subtopics = qrels.rows.iterations
    more = f" ({len(again):,} such rows)" if len(again) > 1 else ""
    return qrels.places(again.row, 2).hit(
        f"column 2 contains subtopics: {visible(qrels.doc_id(row))} is judged for "
        f"{visible(subtopics.text(first))} and {visible(subtopics.text(row))} in query "
        f"{visible(qrels.query_id(row))}{more}",
    )


_MANY_SUBTOPICS = 20
"""With more different values than this, column 2 may contain documents."""


def _documents_may_be_in_column_2(qrels: QrelsView) -> bool:
    """Return whether column 2 has many values, column 3 few, and documents are repeated."""
    if qrels.columns is None or not len(qrels.repeats):
        return False
    n_second, n_third = _count_distinct(qrels)
    return n_second > _MANY_SUBTOPICS and n_second > 2 * n_third


def _count_distinct(qrels: QrelsView) -> tuple[int, int]:
    """Count the different values of columns 2 and 3."""
    return len(qrels.rows.iterations.numbered()[1]), len(qrels.doc_ids.numbered()[1])


def _of_other_subtopic(qrels: QrelsView, again: Repeats) -> Flags:
    """Return, for each of some repeats, whether its column 2 differs from that of the first."""
    subtopics = qrels.rows.iterations
    return ~subtopics.take(again.row).equal(subtopics.take(again.first))


def _repeats(qrels: QrelsView, *, agree: bool) -> Repeats:
    """Return those ``repeats`` whose grades are equal, or those whose grades differ."""
    if qrels.unclear_systems is not None:
        return Repeats.none()  # Q143 reports the type of judgment
    again = qrels.repeats.filter(~_of_other_subtopic(qrels, qrels.repeats))
    here, there = qrels.grade[again.row], qrels.grade[again.first]
    readable = ~(np.isnan(here) | np.isnan(there))
    return again.filter(readable & ((here == there) == agree))


@fix_step("Q141", "Q142", order=130)
def merge_judgments(draft: FileDraft, session: FixSession) -> FileDraft:
    """Keep one judgment of each document, if repeats agree (Q141) or conflict (Q142)."""
    grade = draft.qrels.grade
    again, of_subtopics = _readable_repeats(draft.qrels)
    if of_subtopics.any():
        session.notes.append(
            "Q143: repeated judgments that differ in column 2 (subtopics) are not fixed"
        )
    again = again.filter(~of_subtopics)
    conflict = of_same_document(again, grade[again.row] != grade[again.first])
    dropped = again.row[~conflict]
    if len(dropped):
        session.done("Q141", len(dropped))
    if "Q142" in session.requested and conflict.any():
        how = session.options.on_conflict
        others = all_but_one(again.filter(conflict), how, grade)
        which = {"max": "highest", "min": "lowest", "last": "last"}[how]
        session.done("Q142", len(others), f"kept the {which} grade of documents judged twice")
        dropped = np.concatenate([dropped, others])
    return draft.without_rows(dropped) if len(dropped) else draft


def _readable_repeats(qrels: QrelsView) -> tuple[Repeats, Flags]:
    """Return the repeats of documents with readable grades, and flag those of subtopics."""
    again, grade = qrels.repeats, qrels.grade
    is_nan = np.isnan(grade[again.row]) | np.isnan(grade[again.first])
    again = again.filter(~of_same_document(again, is_nan))
    return again, of_same_document(again, _of_other_subtopic(qrels, again))
