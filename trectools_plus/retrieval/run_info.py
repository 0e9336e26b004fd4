"""Facts about a run: its size, depth, scores, ties and order."""

from __future__ import annotations

import numpy as np
import polars as pl
from pydantic import ConfigDict

from trectools_plus.errors import InputError
from trectools_plus.formats.tables import Run
from trectools_plus.models import Model
from trectools_plus.ranking import ScorePrecision, rank_documents


class DepthInfo(Model):
    """Results per query."""

    model_config = ConfigDict(frozen=True)

    min: int
    median: float
    max: int


class RunInfo(Model):
    """Facts about a run.

    Attributes:
        path: The file as the user named it.
        tag: The run's tag.
        queries: Number of queries.
        rows: Number of rows.
        depth: Results per query.
        lowest_score: The lowest score of all rows.
        highest_score: The highest score of all rows.
        ties_64: Number of adjacent results of a ranking with equal 64-bit scores.
        ties_32: Number of adjacent results with equal 32-bit scores, including ``ties_64``.
        first_rank: The lowest rank in the file; 1 and 0 are both common.
        ranks_follow_scores: Whether the ranks of every query ascend when its rows are in the order
            of the evaluation: by score, not by rank.
        rows_follow_ranks: Whether the rows of every query are in the order of their ranks.
    """

    model_config = ConfigDict(frozen=True)

    path: str | None
    tag: str
    queries: int
    rows: int
    depth: DepthInfo
    lowest_score: float
    highest_score: float
    ties_64: int
    ties_32: int
    first_rank: int
    ranks_follow_scores: bool
    rows_follow_ranks: bool


def describe_run(run: Run) -> RunInfo:
    """Describe a run without errors (see ``validation.load_run``).

    Args:
        run: The run.

    Returns:
        Numbers of queries, results and ties, and the depth.

    Raises:
        InputError: If the run has no rows.
    """
    frame = run.frame
    if not frame.height:
        raise InputError("the run has no rows", where=run.path)
    depth = frame.group_by("query_id").len()["len"].to_numpy()
    score, rank = frame["score"].to_numpy(), frame["rank"].to_numpy()
    ranked = rank_documents(frame.rename({"rank": "given"}))
    return RunInfo(
        path=run.path,
        tag=run.name,
        queries=len(depth),
        rows=frame.height,
        depth=DepthInfo(min=int(depth.min()), median=float(np.median(depth)), max=int(depth.max())),
        lowest_score=float(score.min()),
        highest_score=float(score.max()),
        ties_64=_count_ties(frame, 64),
        ties_32=_count_ties(frame, 32),
        first_rank=int(rank.min()),
        ranks_follow_scores=_is_sorted(ranked, "given"),
        rows_follow_ranks=_is_sorted(frame, "rank"),
    )


def _count_ties(frame: pl.DataFrame, precision: ScorePrecision) -> int:
    ranked = rank_documents(frame, precision)
    score = pl.col("score").cast(pl.Float32) if precision == 32 else pl.col("score")
    ties: int = ranked.select((score == score.shift().over("query_id")).sum()).item()
    return ties


def _is_sorted(frame: pl.DataFrame, column: str) -> bool:
    descends = pl.col(column) < pl.col(column).shift().over("query_id")
    return not frame.select(descends.any()).item()
