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
    resampling_of,
)

_MOST_CHANGED = 10


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

    resampling = resampling_of(config)
    tested = [index for index, pair in enumerate(pairs) if pair is not None and pair.height]
    comparisons = []
    for index in tested:
        pair = pairs[index]
        assert pair is not None
        comparisons += compare_columns(
            (pair["current"] - pair["baseline"]).to_numpy(),
            tests=(ADJUSTED_TEST,),
            **resampling,
        )
    found: list[tuple[float, bool] | None] = [None] * len(pairs)
    for index, p_value in zip(tested, adjust(comparisons, DEFAULT_CORRECTION), strict=True):
        found[index] = (float(p_value), bool(p_value <= alpha_of(resampling["confidence"])))
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


def most_changed(table: pl.DataFrame) -> list[QueryChange]:
    """The queries that changed most, largest change first; ``query_id, a, b`` are the columns."""
    change = (pl.col("b") - pl.col("a")).abs()
    found = (
        table.drop_nulls()
        .with_columns(change.alias("change"))
        .filter(pl.col("change") > EQUAL)
        .sort(["change", "query_id"], descending=[True, False])
    )
    rows = found.select("query_id", "a", "b").head(_MOST_CHANGED).iter_rows()
    return [QueryChange(*row) for row in rows]


def note_undefined(mode: str, measure: str, pair: pl.DataFrame, names: tuple[str, str]) -> str:
    """What to know where a measure is undefined for a query in one report only; else empty.

    The two means are then over different queries, and their difference is not that of the pairs.

    Args:
        mode: The mode, as people call it.
        measure: The measure.
        pair: One column per report, named by ``names``; undefined values are null.
        names: The columns.
    """
    alone = pair.filter(pl.col(names[0]).is_null() != pl.col(names[1]).is_null()).height
    if not alone:
        return ""
    both = pair.drop_nulls().height
    return (
        f"{measure} of {mode} is undefined for {alone} of {pair.height} queries in one report "
        f"only: the two means are over different queries, the test over the {both} that both define"
    )
