"""Best and worst AP and nDCG over all orders of tied documents.

Only relevant documents add to either measure, so only their places are looked at. Within a group
of tied documents the best order puts the higher grades first, the worst puts them last. Then the
i-th relevant document of a group has the place "first of the group + i" at best, and counted from
the group's end at worst.

AP and nDCG are those of trec_eval: ``map`` (relevant from grade 1 on, divided by all relevant
documents of the query) and ``ndcg`` (gain = grade, discount log2(1 + rank), whole depth).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.validation.order import Rows
from trectools_plus.validation.qrels_view import QrelsView
from trectools_plus.validation.run_view import RunView

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far ties may move a measure.

    Attributes:
        measure: Its name.
        low: Its mean in the worst order, over all judged queries with a relevant document.
        high: Its mean in the best order.
        n_queries: In how many queries the two differ.
    """

    measure: str
    low: float
    high: float
    n_queries: int


@dataclass(frozen=True, slots=True)
class _Retrieved:
    """The relevant documents that a run has, grouped by tie.

    Attributes:
        query: Their query's number among the judged queries.
        group_start: How many documents stand above their tie, in their query.
        group_size: How many documents their tie has.
        group: The number of their tie.
        grade: Their grade.
    """

    query: Rows
    group_start: Rows
    group_size: Rows
    group: Rows
    grade: Numbers


def find_bounds(run: RunView, qrels: QrelsView, judged: Rows) -> Iterator[Bounds]:
    """The bounds of AP and of nDCG; scores are compared in 32 bits, as trec_eval 9 does.

    Args:
        run: A run with finite scores, each document once in its query.
        qrels: The judgments.
        judged: The run's rows whose document is judged for its query.
    """
    relevant = _relevant(qrels)
    n_relevant = np.bincount(relevant["query"].to_numpy())
    counted = n_relevant > 0
    if not counted.any():
        return
    found = _retrieved(run, relevant, judged)
    ideal = _ideal_dcg(relevant, len(n_relevant))
    for measure, contribution, most in (
        ("AP", _precision, n_relevant.astype(np.float64)),
        ("nDCG", _discounted, ideal),
    ):
        low, high = (
            np.bincount(found.query, contribution(found, best), len(n_relevant))[counted]
            / most[counted]
            for best in (False, True)
        )
        n_queries = int((high - low > 1e-9).sum())
        yield Bounds(measure, float(low.mean()), float(high.mean()), n_queries)


def _relevant(qrels: QrelsView) -> pl.DataFrame:
    """``query, query_id, doc_id, grade``: relevant judgments, each document once."""
    frame = pl.DataFrame(
        {
            "query": qrels.blocks.query,
            "query_id": qrels.frame["query_id"],
            "doc_id": qrels.frame["doc_id"],
            "grade": qrels.grade,
        }
    )
    relevant = frame.filter((pl.col("grade") >= 1) & pl.col("grade").is_finite())
    return relevant.unique(["query_id", "doc_id"], keep="first", maintain_order=True)


def _retrieved(run: RunView, relevant: pl.DataFrame, judged: Rows) -> _Retrieved:
    scored = run.scored
    same = scored.same_query
    tied = same & (scored.score32[1:] == scored.score32[:-1])
    places = np.arange(run.n_rows)
    query_starts = _starts(places, same)
    group_starts = _starts(places, tied)
    heads = np.flatnonzero(np.concatenate([[True], ~tied]))
    sizes = np.diff(np.append(heads, run.n_rows))
    # From rows of the file to places in the order of scores.
    place_of = places if scored.row is None else np.argsort(scored.row)
    pairs = run.frame.select("query_id", "doc_id")[judged].with_columns(row=pl.Series(judged))
    joined = pairs.join(relevant, on=["query_id", "doc_id"])
    at = place_of[joined["row"].to_numpy()]
    group = np.searchsorted(heads, group_starts[at])
    return _Retrieved(
        query=joined["query"].to_numpy().astype(np.int64),
        group_start=group_starts[at] - query_starts[at],
        group_size=sizes[group],
        group=group,
        grade=joined["grade"].to_numpy(),
    )


def _starts(places: Rows, joined: npt.NDArray[np.bool_]) -> Rows:
    """For each place: the first place of the stretch that it is joined to."""
    begins = np.concatenate([[True], ~joined])
    starts: Rows = np.maximum.accumulate(np.where(begins, places, 0))
    return starts


def _ranks(found: _Retrieved, best: bool) -> tuple[Rows, Rows]:
    """An order of the documents by query and rank, and their ranks (from 1) in that order."""
    grade = -found.grade if best else found.grade
    order = np.lexsort((grade, found.group))
    group = found.group[order]
    places = np.arange(len(order))
    start = _starts(places, group[1:] == group[:-1]) if len(order) else places
    nth = places - start
    rank = found.group_start[order] + nth + 1
    if not best:
        n_in_group = np.bincount(group)[group] if len(group) else group
        rank = rank + found.group_size[order] - n_in_group
    return order, rank


def _precision(found: _Retrieved, best: bool) -> Numbers:
    """Precision at the rank of each document, in the order of ``found``."""
    order, rank = _ranks(found, best)
    query = found.query[order]
    places = np.arange(len(order))
    # Ties are numbered by query and score, so that the order is that of the ranking.
    start = _starts(places, query[1:] == query[:-1]) if len(order) else places
    values = np.empty(len(order))
    values[order] = (places - start + 1) / rank
    return values


def _discounted(found: _Retrieved, best: bool) -> Numbers:
    """Discounted gain of each document, in the order of ``found``."""
    order, rank = _ranks(found, best)
    values = np.empty(len(order))
    values[order] = found.grade[order] / np.log2(1 + rank)
    return values


def _ideal_dcg(relevant: pl.DataFrame, n_queries: int) -> Numbers:
    query, grade = relevant["query"].to_numpy(), relevant["grade"].to_numpy()
    order = np.lexsort((-grade, query))
    places = np.arange(len(order))
    start = _starts(places, query[order][1:] == query[order][:-1])
    gains = grade[order] / np.log2(places - start + 2)
    return np.bincount(query[order], gains, n_queries).astype(np.float64)
