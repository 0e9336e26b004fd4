"""Merge runs, query by query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from trectools_plus.errors import UsageError
from trectools_plus.formats.run_names import name_runs
from trectools_plus.formats.tables import Run
from trectools_plus.ranking import rank_documents
from trectools_plus.retrieval.fusion import Fusion
from trectools_plus.retrieval.fusion import fuse as fuse_rankings
from trectools_plus.retrieval.source import Ranking, empty_ranking, run_of
from trectools_plus.validation.inputs import Input, list_runs


def fuse(
    runs: Iterable[Input] | Mapping[str, Input],
    fusion: str | Fusion = "rrf",
    depth: int | None = None,
    name: str = "fused",
    **settings: Any,
) -> Run:
    """Merge runs by their scores; their rank columns are ignored.

    Args:
        runs: The runs in any form that :func:`trectools_plus.evaluate` accepts, in a list or with
            names.
        fusion: The name of the method, or a :class:`Fusion` with all its settings.
        depth: Maximum number of documents for each query, at least 1; ``None`` keeps all documents
            of the runs.
        name: The new run's tag.
        **settings: Further fields of :class:`Fusion`, for example ``k=60`` or ``weights``: a list
            in the order of the runs, or a dictionary by their names.

    Returns:
        A run with the queries of all runs, in order of first appearance; ranks from 1, scores
        exact in 32 bits, canonical order. A query that is missing from some runs is merged from the
        others.

    Raises:
        UsageError: If there is no run, ``depth`` is below 1, or a setting is unknown or wrong.
        InputError: If scores are used and one is infinite in 32 bits, or below 0 with ``combmnz``.
        FindingsError: If a file has an error that makes scores wrong or ambiguous.
    """
    named = list_runs(runs)
    weights = settings.get("weights")
    if isinstance(weights, Mapping):
        names = list(name_runs([run for _, run in named], [given for given, _ in named]))
        settings["weights"] = _weights_by_name(weights, names)
    method = fusion if isinstance(fusion, Fusion) else Fusion(method=fusion, **settings)
    if isinstance(fusion, Fusion) and settings:
        raise UsageError(
            "settings are given twice",
            where=", ".join(settings),
            remedy="put them into Fusion(…), or give the name of the method",
        )
    if depth is not None and (not isinstance(depth, int) or depth < 1):
        raise UsageError(f"expected a depth of at least 1 but got {depth!r}")
    method.check_count(len(named))
    tables = [rankings_of(run) for _, run in named]
    query_ids = list(dict.fromkeys(query_id for table in tables for query_id in table))
    empty = empty_ranking()
    rankings = [
        fuse_rankings([table.get(query_id, empty) for table in tables], method, depth)
        for query_id in query_ids
    ]
    return run_of(query_ids, rankings, name)


fuse_runs = fuse
"""The earlier name of :func:`fuse`."""


def _weights_by_name(weights: Mapping[Any, Any], names: list[str]) -> list[Any]:
    if set(weights) != set(names):
        raise UsageError(
            f"expected weights for {', '.join(names)} but got {', '.join(map(str, weights))}",
            remedy="name every run once, in a dictionary of runs and in one of weights",
        )
    return [weights[name] for name in names]


def rankings_of(run: Run) -> dict[str, Ranking]:
    """Return each query's ranking in canonical order, with scores rounded to 32 bits."""
    grouped = (
        rank_documents(run.frame).group_by("query_id", maintain_order=True).agg("doc_id", "score")
    )
    with np.errstate(over="ignore"):  # fuse() refuses infinite scores if it uses them
        return {
            query_id: Ranking(doc_ids, np.array(scores).astype(np.float32))
            for query_id, doc_ids, scores in grouped.iter_rows()
        }
