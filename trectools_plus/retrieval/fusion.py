"""Merge several rankings of one query into one, and runs query by query.

By ranks, which count from 1:

- ``rrf``: sum of ``1 / (k + rank)`` (Cormack, Clarke and Büttcher, SIGIR 2009).

By scores:

- ``weighted``: sum of weight times normalised score.
- ``combsum``: sum of the normalised scores.
- ``combmnz``: that sum times the number of rankings that contain the document.
- ``combmax``: highest normalised score. These three are of Fox and Shaw, TREC-2, 1994.

Scores are normalised within each ranking: ``min-max`` to the range 0 to 1, ``z-score`` to mean 0
and standard deviation 1 (of the whole ranking, ddof = 0), or ``none``. If all scores of a ranking
are equal, ``min-max`` and ``z-score`` give its documents 1 and all others 0.

A document that is missing from a ranking gets the normalised score of the last document of that
ranking: it was not found, so it is at most as good. ``combmax`` ignores the rankings that lack a
document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Self

import numpy as np
from pydantic import Field, model_validator

from trectools_plus.choices import FusionMethod, Normalisation
from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.ranking import rank_documents
from trectools_plus.formats.tables import Run
from trectools_plus.retrieval.setting_types import SettingsModel
from trectools_plus.retrieval.settings import (
    DEFAULT_FUSION,
    RetrievalSettings,
    are_valid_weights,
)
from trectools_plus.retrieval.source import (
    CompositeRetriever,
    Ranking,
    Retriever,
    Values,
    empty_ranking,
    rank_scores,
    run_of,
)


class Fusion(SettingsModel):
    """A method of merging rankings.

    Attributes:
        method: The method.
        k: The constant of ``rrf``, at least 0.
        weights: One weight per ranking for ``weighted``, in the order of the rankings.
        normalisation: The normalisation of scores for methods that use scores.
    """

    method: FusionMethod = "rrf"
    k: int = Field(default=60, ge=0)
    weights: tuple[float, ...] | None = None
    normalisation: Normalisation = "min-max"

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        is_valid = self.weights is None or are_valid_weights(self.weights)
        if (self.weights is None) == (self.method == "weighted") or not is_valid:
            raise UsageError(
                "only the fusion method 'weighted' takes weights, and it needs them: finite "
                "numbers of at least 0, with at least one above 0",
                remedy="give both the method 'weighted' and weights, or another method alone",
            )
        if self.method == "combmnz" and self.normalisation == "z-score":
            # With negative scores, a document in more rankings would get a lower score.
            raise UsageError(
                "combmnz multiplies scores, which z-score makes negative", remedy="use min-max"
            )
        return self

    def check_count(self, rankings: int) -> None:
        """Check that there is one weight for each ranking.

        Raises:
            UsageError: If the numbers differ.
        """
        if self.weights is not None and len(self.weights) != rankings:
            raise UsageError(f"expected {rankings} weights but got {len(self.weights)}")


def fuse_rankings(rankings: Sequence[Ranking], fusion: Fusion, depth: int | None) -> Ranking:
    """Merge the rankings of one query.

    Args:
        rankings: At least one ranking; any may be empty.
        fusion: The method.
        depth: Maximum number of documents; ``None`` keeps all.

    Returns:
        The merged ranking in canonical order of the scores, rounded to 32 bits.

    Raises:
        InputError: If scores are used and one is infinite in 32 bits, or below 0 with ``combmnz``.
    """
    doc_ids = list(dict.fromkeys(chain.from_iterable(ranking.doc_ids for ranking in rankings)))
    if not doc_ids:
        return empty_ranking()
    column_of = dict(zip(doc_ids, range(len(doc_ids)), strict=True))
    values = np.zeros((len(rankings), len(doc_ids)))
    is_ranked = np.zeros(values.shape, dtype=np.bool_)
    for row, ranking in enumerate(rankings):
        columns = np.array([column_of[doc_id] for doc_id in ranking.doc_ids], dtype=np.intp)
        is_ranked[row, columns] = True
        values[row], values[row, columns] = _contribution(ranking, fusion)
    if fusion.weights is not None:
        values *= np.array(fusion.weights)[:, np.newaxis]
    if fusion.method == "combmax":
        scores = np.where(is_ranked, values, -np.inf).max(axis=0)
    else:
        scores = values.sum(axis=0) * (is_ranked.sum(axis=0) if fusion.method == "combmnz" else 1)
    # Adding 0 changes -0.0 to 0.0.
    return rank_scores(doc_ids, scores + 0.0, len(doc_ids) if depth is None else depth)


def _contribution(ranking: Ranking, fusion: Fusion) -> tuple[float, Values]:
    """Return the value for documents missing from the ranking, and the value of each document."""
    if fusion.method == "rrf":
        return 0.0, 1.0 / (fusion.k + np.arange(1.0, len(ranking) + 1))
    scores = ranking.scores.astype(np.float64)
    is_negative = fusion.normalisation == "none" and bool((scores < 0).any())
    if not np.isfinite(scores).all() or (fusion.method == "combmnz" and is_negative):
        raise InputError(
            "a score cannot be used: it is too large for 32 bits, or below 0 with combmnz",
            where=f"document {ranking.doc_ids[0]}",
            remedy="use rrf, or rescale the scores",
        )
    if not len(ranking):
        return 0.0, scores
    if fusion.normalisation != "none" and scores[0] == scores[-1]:
        return 0.0, np.ones(len(scores))
    if fusion.normalisation == "min-max":
        scores = (scores - scores[-1]) / (scores[0] - scores[-1])
    elif fusion.normalisation == "z-score":
        scores = (scores - scores.mean()) / scores.std()
    return float(scores[-1]), scores


class HybridRetriever(CompositeRetriever):
    """A retriever that merges the rankings of its components.

    Args:
        components: The retrievers, in the order of the fusion's weights.
        fusion: The method of merging their rankings.
        candidates: Minimum depth of the component searches. For depths up to it, a shorter result
            is the start of a longer one.
    """

    name = "hybrid"

    def __init__(self, components: Sequence[Retriever], fusion: Fusion, candidates: int) -> None:
        fusion.check_count(len(components))
        super().__init__(*components)
        self._fusion, self._candidates = fusion, candidates

    def component_depth(self, depth: int) -> int:
        """Return the depth of the component searches for a result of ``depth`` documents."""
        return max(depth, self._candidates)

    def combine(self, query: str, rankings: Sequence[Ranking], depth: int) -> Ranking:  # noqa: ARG002
        """Merge the rankings of a query, one for each component."""
        return fuse_rankings(rankings, self._fusion, depth)


WEIGHTS: Mapping[tuple[str, ...], tuple[float, ...]] = {
    ("lexical", "vector"): (0.6, 0.4),
    ("lexical", "vector", "ngram"): (0.3, 0.3, 0.4),
}
"""Default weights by the merged modes; docs/retrieval.md has the figures. Others are equal."""


def fusion_of(settings: RetrievalSettings, merged: Sequence[str]) -> Fusion:
    """Return the fusion of the rankings of these modes.

    Args:
        settings: The settings; without a method, it is :data:`~.settings.DEFAULT_FUSION`.
        merged: The canonical names of the modes without those of embedding models.
    """
    weights, method = None, settings.fusion or DEFAULT_FUSION
    if method == "weighted":
        equal = (1.0 / len(merged),) * len(merged)
        weights = settings.weights or WEIGHTS.get(tuple(merged), equal)
    return Fusion(
        method=method,
        k=settings.rrf_k,
        weights=weights,
        normalisation=settings.normalisation or "min-max",
    )


def fuse(
    runs: Iterable[Any] | Mapping[str, Any],
    fusion: str | Fusion = "rrf",
    depth: int | None = None,
    name: str = "fused",
    **settings: Any,
) -> Run:
    """Merge runs by their scores; their rank columns are ignored.

    Args:
        runs: The runs in any form that :func:`trectools_plus.evaluate` accepts, in a list or with
            names.
        fusion: The name of the method, or a :class:`Fusion`.
        depth: Maximum number of documents for each query, at least 1; ``None`` keeps all documents
            of the runs.
        name: The new run's tag.
        **settings: Further fields of :class:`Fusion`, for example ``k=60`` or ``weights``: a list
            in the order of the runs.

    Returns:
        A run with the queries of all runs, in order of first appearance; ranks from 1, scores
        exact in 32 bits, canonical order. A query that is missing from some runs is merged from the
        others.

    Raises:
        UsageError: If there is no run, ``depth`` is below 1, or a setting is unknown or wrong.
        InputError: If scores are used and one is infinite in 32 bits, or below 0 with ``combmnz``.
        FindingsError: If a file has an error that makes scores wrong or ambiguous.
    """
    from trectools_plus.validation.inputs import list_runs

    named = list_runs(runs)
    chosen = fusion.model_dump() if isinstance(fusion, Fusion) else {"method": fusion}
    method = Fusion(**{**chosen, **settings})
    if depth is not None and (not isinstance(depth, int) or depth < 1):
        raise UsageError(f"expected a depth of at least 1 but got {depth!r}")
    method.check_count(len(named))
    tables = [rankings_of(run) for _, run in named]
    query_ids = list(dict.fromkeys(chain(*tables)))
    empty = empty_ranking()
    rankings = [
        fuse_rankings([table.get(query_id, empty) for table in tables], method, depth)
        for query_id in query_ids
    ]
    return run_of(query_ids, rankings, name)


def rankings_of(run: Run) -> dict[str, Ranking]:
    """Return each query's ranking in canonical order, with scores rounded to 32 bits."""
    grouped = (
        rank_documents(run.frame).group_by("query_id", maintain_order=True).agg("doc_id", "score")
    )
    with np.errstate(over="ignore"):  # fuse_rankings() refuses infinite scores if it uses them
        return {
            query_id: Ranking(doc_ids, np.array(scores).astype(np.float32))
            for query_id, doc_ids, scores in grouped.iter_rows()
        }
