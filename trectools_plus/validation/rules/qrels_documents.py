"""Rules on repeated judgments: the same document judged twice for a query."""

from __future__ import annotations

import numpy as np
import polars as pl

from trectools_plus.text import number, visible
from trectools_plus.validation.qrels_view import QrelsView
from trectools_plus.validation.registry import Hit, rule


@rule(
    "Q141",
    "duplicate-agrees",
    on="qrels",
    scope="query",
    severity="warning",
    fix="safe",
    tables=True,
    checks="(qid, docid) twice, same grade",
    rationale="trec_eval stops at a repeated judgment, even if it agrees.",
    example="qrels.txt:2: warning Q141: d01 judged again for query 1 with grade 2. Remove the "
    "repeat.",
    remedy="Remove the repeat",
)
def duplicate_agrees(qrels: QrelsView) -> Hit | None:
    """A judgment is repeated with the same grade."""
    again = _repeats(qrels, agree=True)
    if again.is_empty():
        return None
    row = again["row"][0]
    more = f" ({again.height:,} such rows)" if again.height > 1 else ""
    return Hit(
        f"{visible(qrels.doc_id(row))} judged again for query {visible(qrels.query_id(row))} "
        f"with grade {number(qrels.grade[row])}{more}",
        qrels.lines(again["row"].to_list()),
        again.height,
        qrels.column(row, 3),
        qrels.query_id(row),
        qrels.doc_id(row),
    )


@rule(
    "Q142",
    "duplicate-conflicts",
    on="qrels",
    scope="query",
    severity="error",
    fix="ask",
    tables=True,
    checks="(qid, docid) twice, other grade",
    rationale="trec_eval stops, ir_measures and ranx keep the last grade, others the first: one "
    "file, several results.",
    example="qrels.txt:10: error Q142: d01 is 0 here, 2 on line 1. Keep one grade for each "
    "document of a query.",
    remedy="Keep one grade for each document of a query",
)
def duplicate_conflicts(qrels: QrelsView) -> Hit | None:
    """A document has two grades for one query."""
    again = _repeats(qrels, agree=False)
    if again.is_empty():
        return None
    row, first = again["row"][0], again["first"][0]
    more = f" ({again.height:,} such rows)" if again.height > 1 else ""
    here, there = number(qrels.grade[row]), number(qrels.grade[first])
    return Hit(
        f"{visible(qrels.doc_id(row))} is {here} here, {there} on {qrels.at_line(first)}"
        f", in query {visible(qrels.query_id(row))}{more}",
        qrels.lines(again["row"].to_list()),
        again.height,
        qrels.column(row, 4),
        qrels.query_id(row),
        qrels.doc_id(row),
    )


@rule(
    "Q143",
    "looks-diversity",
    on="qrels",
    scope="query",
    severity="error",
    fix="ask",
    tables=True,
    checks="duplicates differ in column 2: subtopic qrels",
    rationale="In qrels for diversity, column 2 is the subtopic and a document is judged once for "
    "each. Every measure of relevance alone ignores column 2, and keeps any one of the grades.",
    example="qrels.txt:2: error Q143: column 2 holds subtopics: d01 is judged for 1 and 2 in query "
    "7. Choose one subtopic or merge them.",
    remedy="Choose one subtopic or merge them",
)
def looks_diversity(qrels: QrelsView) -> Hit | None:
    """A document is judged for several subtopics of a query."""
    again = qrels.repeats.filter(_of_other_subtopic(qrels))
    if again.is_empty():
        return None
    row, first = again["row"][0], again["first"][0]
    subtopics = qrels.frame["iteration"]
    more = f" ({again.height:,} such rows)" if again.height > 1 else ""
    return Hit(
        f"column 2 holds subtopics: {visible(qrels.doc_id(row))} is judged for "
        f"{visible(subtopics[first])} and {visible(subtopics[row])} in query "
        f"{visible(qrels.query_id(row))}{more}",
        qrels.lines(again["row"].to_list()),
        again.height,
        qrels.column(row, 2),
        qrels.query_id(row),
        qrels.doc_id(row),
    )


def _of_other_subtopic(qrels: QrelsView) -> pl.Series:
    """For each repeated (query, document) pair: whether its column 2 is not that of the first."""
    subtopics, again = qrels.frame["iteration"], qrels.repeats
    return subtopics.gather(again["row"]) != subtopics.gather(again["first"])


def _repeats(qrels: QrelsView, *, agree: bool) -> pl.DataFrame:
    """Repeated (query, document) pairs whose grades agree, or do not; unreadable ones neither."""
    again = qrels.repeats.filter(~_of_other_subtopic(qrels))
    here, there = qrels.grade[again["row"].to_numpy()], qrels.grade[again["first"].to_numpy()]
    readable = ~(np.isnan(here) | np.isnan(there))
    return again.filter(pl.Series(readable & ((here == there) == agree), dtype=pl.Boolean))
