"""Several rankings of one query merged into one.

- ``rrf``: sum of ``1 / (k + rank)``, ranks from 1 (Cormack, Clarke and Büttcher, SIGIR 2009).
- ``weighted``: sum of weight times normalised score.
- ``combsum``, ``combmnz``, ``combmax``: sum of the normalised scores, that sum times the number
  of rankings with the document, and the highest of them (Fox and Shaw, TREC-2, 1994).

Scores are normalised within each ranking, ``min-max`` to 0–1 or ``z-score`` to mean 0 and
standard deviation 1 (of the ranking as a whole, ddof = 0). A document that a ranking lacks counts
as its last one there. A ranking whose scores are all equal says only which documents it found:
those get 1, all others 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, model_validator

from trectools_plus.errors import InputError, UsageError
from trectools_plus.retrieval.base import Ranking, empty_ranking
from trectools_plus.retrieval.settings import Normalisation
from trectools_plus.retrieval.top_documents import rank_scores

Values = npt.NDArray[np.float64]
Found = npt.NDArray[np.bool_]

# Each takes values of shape (rankings, documents) and which of them were found.
COMBINATIONS: dict[str, Callable[[Values, Found], Values]] = {
    "rrf": lambda values, _: values.sum(axis=0),
    "weighted": lambda values, _: values.sum(axis=0),
    "combsum": lambda values, _: values.sum(axis=0),
    "combmnz": lambda values, found: values.sum(axis=0) * found.sum(axis=0),
    "combmax": lambda values, found: np.where(found, values, -np.inf).max(axis=0),
}


class Fusion(BaseModel):
    """How rankings are merged.

    Attributes:
        method: A name of ``COMBINATIONS``.
        k: The constant of ``rrf``.
        weights: One weight per ranking for ``weighted``, in the order of the rankings.
        normalisation: The common scale of every method but ``rrf``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    method: str = "rrf"
    k: int = Field(default=60, ge=0)
    weights: tuple[float, ...] | None = None
    normalisation: Normalisation = "min-max"

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.method not in COMBINATIONS:
            known = ", ".join(COMBINATIONS)
            raise UsageError(f"unknown fusion method '{self.method}'", remedy=f"use {known}")
        if (self.weights is None) == (self.method == "weighted"):
            raise UsageError("weights and the fusion method 'weighted' need each other")
        _check_weights(self.weights)
        if self.method == "combmnz" and self.normalisation == "z-score":
            # Below 0, more rankings with a document would push it down.
            raise UsageError(
                "combmnz multiplies scores, which z-score makes negative", remedy="use min-max"
            )
        return self

    def check_count(self, rankings: int) -> None:
        """See that there is one weight for each ranking.

        Raises:
            UsageError: If there are more or fewer.
        """
        if self.weights is not None and len(self.weights) != rankings:
            raise UsageError(f"expected {rankings} weights but got {len(self.weights)}")


def fuse(rankings: Sequence[Ranking], fusion: Fusion, depth: int) -> Ranking:
    """Merge the rankings of one query.

    Args:
        rankings: At least one; any may be empty.
        fusion: How.
        depth: How many documents to keep at most.

    Returns:
        The merged ranking in canonical order of the sums, rounded to 32 bits.

    Raises:
        InputError: If scores to be normalised are infinite in 32 bits.
    """
    places: dict[str, int] = {}
    for ranking in rankings:
        for doc_id in ranking.doc_ids:
            places.setdefault(doc_id, len(places))
    if not places:
        return empty_ranking()
    values = np.zeros((len(rankings), len(places)))
    found = np.zeros(values.shape, dtype=np.bool_)
    for row, ranking in enumerate(rankings):
        own = np.fromiter((places[doc_id] for doc_id in ranking.doc_ids), np.intp, len(ranking))
        found[row, own] = True
        values[row], values[row, own] = _contribution(ranking, fusion)
    if fusion.weights is not None:
        values *= np.array(fusion.weights)[:, np.newaxis]
    # Adding 0 turns -0.0, which files would show, into 0.0.
    return rank_scores(list(places), COMBINATIONS[fusion.method](values, found) + 0.0, depth)


def _contribution(ranking: Ranking, fusion: Fusion) -> tuple[float, Values]:
    """What the ranking adds for a document it lacks, and for each one it has."""
    if fusion.method == "rrf":
        return 0.0, 1.0 / (fusion.k + np.arange(1.0, len(ranking) + 1))
    if not len(ranking):
        return 0.0, np.empty(0)
    scores = ranking.scores.astype(np.float64)
    if not np.isfinite(scores).all():
        raise InputError(
            "a score is too large for 32 bits and cannot be normalised",
            where=f"document {ranking.doc_ids[0]}",
            remedy="use rrf, or rescale the scores",
        )
    if scores[0] == scores[-1]:
        return 0.0, np.ones(len(scores))
    if fusion.normalisation == "min-max":
        return 0.0, (scores - scores[-1]) / (scores[0] - scores[-1])
    normalised = (scores - scores.mean()) / scores.std()
    return float(normalised[-1]), normalised


def _check_weights(weights: tuple[float, ...] | None) -> None:
    if weights is None:
        return
    if not all(0 <= weight < float("inf") for weight in weights) or not any(weights):
        raise UsageError(
            f"weights {', '.join(f'{weight:g}' for weight in weights)} cannot be used",
            remedy="give finite weights of at least 0, one of them above 0",
        )
