"""Query by query: whether a change between two reports is significant, and who fell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from trectools_plus.benchmark.compare import (
    ADJUSTED_TEST,
    DEFAULT_CORRECTION,
    EQUAL,
    adjust,
    alpha_of,
)
from trectools_plus.benchmark.config import DEFAULT_CONFIDENCE, DEFAULT_SEED


@dataclass(frozen=True, slots=True)
class QueryChange:
    """A query's value in two reports.

    Attributes:
        query_id: The query.
        before: Its value in the first.
        after: Its value in the second.
    """

    query_id: str
    before: float
    after: float


def check_changes(
    pairs: Sequence[pl.DataFrame | None], config: Mapping[str, Any]
) -> list[tuple[float, bool] | None]:
    """Randomisation tests of several changes as one family, adjusted by Holm.

    Args:
        pairs: ``current`` and ``baseline`` per query; ``None`` is not tested.
        config: Level, resamples and seed, as in a manifest.

    Returns:
        The adjusted p-value and whether it is at most 1 - confidence; ``None`` where not tested.
    """
    from trectools_plus.statistics import compare_columns

    confidence = float(config.get("confidence", DEFAULT_CONFIDENCE))
    tested = [index for index, pair in enumerate(pairs) if pair is not None and pair.height]
    comparisons = []
    for index in tested:
        pair = pairs[index]
        assert pair is not None
        comparisons += compare_columns(
            (pair["current"] - pair["baseline"]).to_numpy(),
            tests=(ADJUSTED_TEST,),
            confidence=confidence,
            resamples=int(config.get("resamples", 10_000)),
            seed=int(config.get("seed", DEFAULT_SEED)),
        )
    found: list[tuple[float, bool] | None] = [None] * len(pairs)
    for index, p_value in zip(tested, adjust(comparisons, DEFAULT_CORRECTION), strict=True):
        found[index] = (float(p_value), bool(p_value <= alpha_of(confidence)))
    return found


def find_fallen(pair: pl.DataFrame, sign: float) -> list[QueryChange]:
    """Queries that got worse, the one that lost most first.

    Args:
        pair: ``query_id, current, baseline``.
        sign: -1 where less is better, else 1.
    """
    lost = sign * (pl.col("baseline") - pl.col("current"))
    fallen = (
        pair.with_columns(lost.alias("lost"))
        .filter(pl.col("lost") > EQUAL)
        .sort(["lost", "query_id"], descending=[True, False])
    )
    columns = ["query_id", "baseline", "current"]
    return [QueryChange(*row) for row in fallen.select(columns).iter_rows()]
