"""The labels of a review: merged judgments, disagreements, and the decisions of adjudicators.

A label is the decision of an adjudicator if there is one, and otherwise the merged judgment of the
annotators. Judgments of a query that an annotator cannot judge do not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.formats.tables import QRELS_SCHEMA, Qrels
from trectools_plus.service.review.judgments import (
    Annotator,
    QueryJudgments,
    find_annotator,
    list_annotators,
    read_all_judgments,
    read_decisions,
)
from trectools_plus.service.review.store import Store

MERGE_RULE = "the median of the annotators' grades; of two in the middle, the lower"

Judged = Mapping[str, QueryJudgments]
"""The judgments of one annotator by query."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """The answers about a query on which annotators differ.

    Attributes:
        documents: The results with different grades, sorted.
        result: True if the chosen results differ.
        choice: True if the chosen columns differ.
    """

    documents: tuple[str, ...]
    result: bool
    choice: bool


def read_counted(store: Store, annotator: Annotator) -> dict[str, QueryJudgments]:
    """Return the judgments of an annotator, without queries that the annotator cannot judge."""
    judged = read_all_judgments(store, annotator)
    return {query_id: one for query_id, one in judged.items() if one.cannot_judge is None}


def read_shown(store: Store) -> dict[str, dict[str, set[str]]]:
    """Return the shown documents by query and mode."""
    shown: dict[str, dict[str, set[str]]] = {}
    for query_id, mode, doc_id in store.rows("SELECT query_id, mode, doc_id FROM shown"):
        shown.setdefault(query_id, {}).setdefault(mode, set()).add(doc_id)
    return shown


def find_disagreements(store: Store) -> dict[str, Disagreement]:
    """Return the disagreements of the annotators, by query.

    Decisions of adjudicators have no influence on them.
    """
    by_query: dict[str, list[QueryJudgments]] = {}
    for annotator in list_annotators(store):
        for query_id, one in read_counted(store, annotator).items():
            by_query.setdefault(query_id, []).append(one)
    found = {query_id: _compare(judged) for query_id, judged in by_query.items()}
    return {
        query_id: one
        for query_id, one in found.items()
        if one.documents or one.result or one.choice
    }


def _compare(judged: Sequence[QueryJudgments]) -> Disagreement:
    grades: dict[str, set[int | None]] = {}
    for one in judged:
        for doc_id, grade in one.grades.items():
            grades.setdefault(doc_id, set()).add(grade.grade)
    return Disagreement(
        tuple(sorted(doc_id for doc_id, found in grades.items() if len(found) > 1)),
        len({one.answer for one in judged} - {None}) > 1,
        len({one.choice for one in judged} - {None}) > 1,
    )


def is_decided(disagreement: Disagreement, decision: QueryJudgments) -> bool:
    """Return true if a decision settles the whole disagreement."""
    return decision.cannot_judge is not None or (
        decision.grades.keys() >= set(disagreement.documents)
        and not (disagreement.result and decision.answer is None)
        and not (disagreement.choice and decision.choice is None)
    )


def grades_of(store: Store, annotator: Annotator) -> Qrels:
    """Return the grades of one annotator, sorted by query and document; can be empty."""
    rows = [
        (query_id, "0", doc_id, one.grade)
        for query_id, judged in read_counted(store, annotator).items()
        for doc_id, one in judged.grades.items()
    ]
    return _qrels(rows)


def chosen_by(judged: Judged, shown: Mapping[str, Mapping[str, set[str]]]) -> Qrels:
    """Return the results that one annotator chose as qrels.

    Args:
        judged: The judgments of the annotator.
        shown: The shown documents by query and mode.

    Returns:
        Relevance 1 for the chosen result, and 0 for all other shown results of the same query;
        queries without an answer are omitted. Sorted by query and document.
    """
    rows = [
        (query_id, "0", doc_id, int(doc_id == one.answer))
        for query_id, one in judged.items()
        if one.answer is not None
        for doc_id in set().union(*shown[query_id].values())
    ]
    return _qrels(rows)


def merge_grades(all_grades: list[Qrels]) -> Qrels:
    """Return one grade per query and document: the median, the lower one of two middle grades.

    Args:
        all_grades: The grades of each annotator.

    Returns:
        All graded pairs, sorted by query and document.
    """
    frame = pl.concat([pl.DataFrame(schema=QRELS_SCHEMA), *(one.frame for one in all_grades)])
    middle = pl.col("relevance").sort().get((pl.len() - 1) // 2)
    merged = frame.group_by("query_id", "doc_id").agg(middle)
    return Qrels(merged.sort("query_id", "doc_id"))


def final_grades(store: Store) -> Qrels:
    """Return the merged grades with the adjudicators' decisions."""
    merged = merge_grades([grades_of(store, one) for one in list_annotators(store)])
    decisions = read_decisions(store)
    decided = [
        (query_id, "0", doc_id, grade.grade)
        for query_id, one in decisions.items()
        for doc_id, grade in one.grades.items()
    ]
    return _replace(merged, _qrels(decided), decisions)


def final_results(store: Store) -> Qrels:
    """Return the chosen results with the adjudicators' decisions.

    Returns:
        Relevance 1 for a result that more than half of the annotators of the query chose, and 0
        for the other shown results.
    """
    shown, decisions = read_shown(store), read_decisions(store)
    chosen = [chosen_by(read_counted(store, one), shown) for one in list_annotators(store)]
    return _replace(merge_grades(chosen), chosen_by(decisions, shown), decisions)


def final_choices(store: Store) -> list[dict[str, str]]:
    """Return the chosen modes by query, of each annotator and, last, of the adjudicators.

    A query that adjudicators decided has their answer only.
    """
    decisions = read_decisions(store)
    decided = choices_of(decisions)
    settled = decided.keys() | _unusable(decisions)
    return [
        *(
            {
                query_id: mode
                for query_id, mode in choices_of(read_counted(store, one)).items()
                if query_id not in settled
            }
            for one in list_annotators(store)
        ),
        {name: mode for name, mode in decided.items() if name not in _unusable(decisions)},
    ]


def choices_of(judged: Judged) -> dict[str, str]:
    """Return the chosen mode by query; :data:`NONE_CHOSEN` for none of them."""
    return {name: one.choice for name, one in judged.items() if one.choice is not None}


def _replace(merged: Qrels, decided: Qrels, decisions: Judged) -> Qrels:
    """Replace labels by decisions, and omit the queries that adjudicators cannot judge."""
    rest = merged.frame.join(decided.frame, on=["query_id", "doc_id"], how="anti")
    frame = pl.concat([rest, decided.frame.select(rest.columns)])
    kept = frame.filter(~pl.col("query_id").is_in(sorted(_unusable(decisions))))
    return Qrels(kept.sort("query_id", "doc_id"))


def _unusable(decisions: Judged) -> set[str]:
    return {name for name, one in decisions.items() if one.cannot_judge is not None}


def _qrels(rows: Sequence[tuple[str, str, str, int | None]]) -> Qrels:
    frame = pl.DataFrame(rows, schema=QRELS_SCHEMA, orient="row")
    return Qrels(frame.sort("query_id", "doc_id"))


def export_qrels(store: Store, annotator: str | None = None, *, choices: bool = False) -> Qrels:
    """Return the judgments as qrels.

    Args:
        store: The judgments.
        annotator: The annotator, before adjudication; ``None`` for the labels of all: merged by
            :func:`merge_grades`, with the adjudicators' decisions.
        choices: True for the chosen results, with relevance 0 or 1, instead of the grades.

    Raises:
        UsageError: If the annotator is unknown.
        CheckFailedError: If there are no judgments yet.
    """
    if annotator is None:
        qrels = final_results(store) if choices else final_grades(store)
    else:
        found = find_annotator(store, annotator)
        if found is None:
            names = ", ".join(one.name for one in list_annotators(store)) or "none so far"
            raise UsageError(
                f"unknown annotator '{annotator}'",
                where="--annotator",
                remedy=f"known annotators: {names}",
            )
        qrels = grades_of(store, found)
        if choices:
            qrels = chosen_by(read_counted(store, found), read_shown(store))
    if qrels.frame.is_empty():
        raise CheckFailedError(f"there are no {'chosen results' if choices else 'grades'} yet")
    return qrels
