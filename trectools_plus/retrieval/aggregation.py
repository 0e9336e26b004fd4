"""How the scores of a document's parts become the document's score.

========================= =====================================================================
``label_only``            the label's score
``label_synonyms_min``    the lowest score of label and synonyms
``label_synonyms_max``    the highest score of label and synonyms
``all_max``               the highest score of label, synonyms and definition
``all_weighted``          the sum, over the kinds, of weight times highest score of that kind
========================= =====================================================================

The weights are divided by the sum of those whose kind the document has: a term without synonyms
is scored by its label and definition alone, in their proportion. So every document score lies
between the lowest and the highest score of its parts. A document without any part of the kinds
that count is not ranked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from trectools_plus.retrieval.parts import KINDS, Segments

AggregationName = Literal[
    "label_only", "label_synonyms_min", "label_synonyms_max", "all_max", "all_weighted"
]
DEFAULT_WEIGHTS: Mapping[str, float] = {"label": 0.5, "synonym": 0.3, "definition": 0.2}

Float = TypeVar("Float", np.float32, np.float64)


@dataclass(frozen=True, slots=True)
class Aggregation:
    """A way from scores of parts to a score of the document.

    Attributes:
        kinds: The kinds that count, as the start of ``KINDS``.
        combine: ``max``, ``min`` or ``sum``, over the kinds.
        weights: By kind, for ``sum``; above 0 for at least one.
    """

    kinds: tuple[str, ...]
    combine: Literal["max", "min", "sum"] = "max"
    weights: Mapping[str, float] | None = None

    def score(
        self,
        products: Mapping[str, npt.NDArray[Float]],
        segments: Mapping[str, Segments],
        documents: int,
    ) -> npt.NDArray[Float]:
        """Scores of documents from scores of parts.

        Args:
            products: By kind, scores of its rows, of shape ``(queries, rows)``.
            segments: By kind, whose rows they are; no kind without rows.
            documents: How many documents there are.

        Returns:
            Shape ``(queries, documents)``, in the products' precision; ``-inf`` for a document
            without any part that counts.
        """
        best = {
            kind: self._reduce(products[kind], segments[kind])
            for kind in self.kinds
            if kind in segments
        }
        some = next(iter(products.values()))
        if self.combine == "sum":
            return self._sum(best, segments, np.zeros((len(some), documents), some.dtype))
        worst, take = (-np.inf, np.maximum) if self.combine == "max" else (np.inf, np.minimum)
        scores = np.full((len(some), documents), worst, dtype=some.dtype)
        for kind, values in best.items():
            own = segments[kind].documents
            scores[:, own] = take(scores[:, own], values)
        scores[np.isinf(scores)] = -np.inf
        return scores

    def _reduce(self, products: npt.NDArray[Float], segments: Segments) -> npt.NDArray[Float]:
        reducer = np.minimum if self.combine == "min" else np.maximum
        return reducer.reduceat(products, segments.starts - segments.first, axis=1)

    def _sum(
        self,
        best: Mapping[str, npt.NDArray[Float]],
        segments: Mapping[str, Segments],
        scores: npt.NDArray[Float],
    ) -> npt.NDArray[Float]:
        assert self.weights is not None
        mass = np.zeros(scores.shape[1], dtype=scores.dtype)
        for kind, values in best.items():
            own, weight = segments[kind].documents, scores.dtype.type(self.weights[kind])
            scores[:, own] += weight * values
            mass[own] += weight
        counts = mass > 0
        scores[:, counts] /= mass[counts]
        scores[:, ~counts] = -np.inf
        return scores


AGGREGATIONS: Mapping[str, Aggregation] = {
    "label_only": Aggregation(("label",)),
    "label_synonyms_min": Aggregation(("label", "synonym"), "min"),
    "label_synonyms_max": Aggregation(("label", "synonym")),
    "all_max": Aggregation(KINDS),
    "all_weighted": Aggregation(KINDS, "sum", DEFAULT_WEIGHTS),
}
"""By name; ``all_weighted`` with the default weights."""


def aggregation_of(name: str, weights: Mapping[str, float]) -> Aggregation:
    """The aggregation of this name.

    Args:
        name: Of ``AGGREGATIONS``.
        weights: By kind, for ``all_weighted``; a kind that is not named, or has weight 0, does
            not count.
    """
    found = AGGREGATIONS[name]
    if found.combine != "sum":
        return found
    used = {kind: weights[kind] for kind in KINDS if weights.get(kind, 0.0) > 0}
    return Aggregation(tuple(used), "sum", used)
