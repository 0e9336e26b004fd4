"""Existing runs merged into one, query by query."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Run
from trectools_plus.ranking import rank_documents
from trectools_plus.retrieval.base import Ranking, empty_ranking
from trectools_plus.retrieval.fetch import run_of
from trectools_plus.retrieval.fusion import Fusion, fuse


def fuse_runs(runs: Sequence[Run], fusion: Fusion, depth: int = 100, name: str = "fused") -> Run:
    """Merge runs. Their rank columns are ignored: ranks follow the scores in canonical order.

    Args:
        runs: At least one, each free of errors (see ``validation.load_run``).
        fusion: How.
        depth: How many documents to keep for each query, at most; at least 1.
        name: The new run's tag.

    Returns:
        All queries of all runs, in the order in which they first appear; ranks from 1, scores
        exact in 32 bits, canonical order. A query that some runs lack is merged from the others.

    Raises:
        UsageError: If there is no run, or ``depth`` is below 1, or weights are too many or few.
        InputError: If scores to be normalised are infinite in 32 bits.
    """
    if not runs:
        raise UsageError("no run to fuse")
    if depth < 1:
        raise UsageError(f"expected a depth of at least 1 but got {depth}")
    fusion.check_count(len(runs))
    tables = [rankings_of(run) for run in runs]
    query_ids = list(dict.fromkeys(query_id for table in tables for query_id in table))
    nothing = empty_ranking()
    rankings = [
        fuse([table.get(query_id, nothing) for table in tables], fusion, depth)
        for query_id in query_ids
    ]
    return run_of(query_ids, rankings, name)


def rankings_of(run: Run) -> dict[str, Ranking]:
    """Each query's ranking in canonical order, scores rounded to 32 bits."""
    grouped = (
        rank_documents(run.frame).group_by("query_id", maintain_order=True).agg("doc_id", "score")
    )
    return {
        query_id: Ranking(doc_ids, _to_32_bits(scores))
        for query_id, doc_ids, scores in grouped.iter_rows()
    }


def _to_32_bits(scores: list[float]) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    with np.errstate(over="ignore"):  # fuse() refuses infinite scores where they matter
        return np.array(scores).astype(np.float32)
