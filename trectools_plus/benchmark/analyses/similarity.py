"""Similarity of runs: the rank-biased overlap of each two runs, averaged over queries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from trectools_plus.benchmark.report.analyses import Similarity
from trectools_plus.formats.tables import Run
from trectools_plus.measures.judged import IntArray, JudgedQueries
from trectools_plus.statistics.rankings import DEFAULT_PERSISTENCE, extrapolate_overlaps

DEPTH = 100
"""Compared documents per query: with p = 0.9, all further ranks have a weight of 0.00003."""
FEWEST_MODES = 3
"""Reports of fewer modes have no matrix."""


@dataclass(frozen=True, slots=True, eq=False)
class _Ranking:
    """The first documents of a run.

    Attributes:
        frame: ``query, doc_id, rank``.
        lengths: The number of documents of each query.
    """

    frame: pl.DataFrame
    lengths: IntArray


def find_similarity(
    queries: JudgedQueries,
    runs: Mapping[str, Run],
    *,
    p: float = DEFAULT_PERSISTENCE,
    depth: int = DEPTH,
) -> Similarity:
    """Compute the mean rank-biased overlap of each two runs.

    Args:
        queries: The queries to compare.
        runs: The runs, by name.
        p: Persistence, between 0 and 1.
        depth: The number of documents to compare per query.
    """
    rankings = [_rank(queries, run, depth) for run in runs.values()]
    matrix: list[list[float | None]] = [[None] * len(rankings) for _ in rankings]
    for one, first in enumerate(rankings):
        matrix[one][one] = 1.0 if first.lengths.any() else None
        for two in range(one):
            matrix[one][two] = matrix[two][one] = _mean_overlap(first, rankings[two], p)
    return Similarity(p=p, depth=depth, modes=list(runs), rbo=matrix)


def _rank(queries: JudgedQueries, run: Run, depth: int) -> _Ranking:
    frame = queries.rank(run).filter(pl.col("rank") <= depth).select("query", "doc_id", "rank")
    lengths = np.bincount(frame["query"].to_numpy(), minlength=len(queries.query_ids))
    return _Ranking(frame, lengths)


def _mean_overlap(first: _Ranking, second: _Ranking, p: float) -> float | None:
    lengths = np.column_stack([first.lengths, second.lengths])
    answered = lengths.any(axis=1)
    if not answered.any():
        return None
    shared = first.frame.join(
        second.frame, on=["query", "doc_id"], suffix="_other", maintain_order="left"
    )
    deeper = shared.select(pl.max_horizontal("rank", "rank_other")).to_series()
    overlaps = extrapolate_overlaps(
        lengths,
        shared["query"].cast(pl.Int64).to_numpy(),
        deeper.cast(pl.Int64).to_numpy(),
        p,
    )
    return math.fsum(overlaps[answered]) / int(answered.sum())
