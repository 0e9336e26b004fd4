"""What a reader must know of the input behind a figure: no number is printed in silence."""

from __future__ import annotations

import polars as pl

from trectools_plus.measures.judged import MEMBERSHIP_LEVEL, JudgedQueries


def level_notes(level: int, queries: JudgedQueries) -> list[str]:
    """Say when no document reaches a relevance level, in the qrels or in some queries.

    Args:
        level: The lowest grade that counts as relevant.
        queries: The queries that count, and their judgments.

    Returns:
        At most one note. Queries without a document of grade 1 are listed elsewhere.
    """
    if level <= MEMBERSHIP_LEVEL:
        return []
    highest = queries.frame.select(pl.col("relevance").max()).item()
    if highest is None:
        return []
    if highest < level:
        return [f"no document of the qrels has grade {level} or more; the highest is {highest}"]
    reached = queries.frame.filter(pl.col("relevance") >= level)["query"].n_unique()
    total = len(queries.query_ids)
    if reached == total:
        return []
    return [f"no document of grade {level} or more for {total - reached} of {total} queries"]
