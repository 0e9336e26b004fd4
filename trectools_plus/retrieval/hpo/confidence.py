"""The confidence in the first result of a query."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from trectools_plus.retrieval.source import Retriever, leaves_of

_DEPTH = 100
"""The size of the rankings with which the first result is compared."""
_WEIGHT_OF_SIMILARITY = 2
LEAST_CONFIDENCE: Mapping[tuple[str, ...], float] = {
    ("ngram",): 0.4,
    ("multi-vector",): 0.4,
    ("multi-vector", "ngram"): 3.8,
    ("lexical", "multi-vector", "ngram"): 3.9,
}
"""By the searched indexes: the least confidence in a first result that is probably right.

At most a tenth of the right first results of the included test sets are below; see the figures in
docs/retrieval.md.
"""


def confidence_in(retriever: Retriever, query: str, doc_id: str) -> float | None:
    """Return the confidence in the first result of a query, less the least confidence.

    The confidence is the mean over the searched indexes of the standard deviations between the
    score and the mean score, plus twice the mean similarity of n-grams and embeddings. Of a single
    index, it is the similarity alone, which separates right and wrong results better.

    Args:
        retriever: The retriever that found it.
        query: The query.
        doc_id: The first result.

    Returns:
        At least 0 if the result is probably right; ``None`` if the retriever searches other
        indexes.
    """
    deviations: dict[str, float] = {}
    similarities: list[float] = []
    for leaf in leaves_of(retriever):
        (ranking,) = leaf.search([query], _DEPTH)
        scores = dict(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True))
        spread = float(ranking.scores.std()) if scores else 0.0
        is_above = doc_id in scores and spread > 0
        mean = fmean(scores.values()) if scores else 0.0
        deviations[leaf.name] = (scores[doc_id] - mean) / spread if is_above else -1.0
        if leaf.name in ("ngram", "multi-vector"):
            similarities.append(scores.get(doc_id, 0.0))
    least = LEAST_CONFIDENCE.get(tuple(sorted(deviations)))
    if least is None:
        return None
    if len(deviations) == 1:
        return similarities[0] - least
    return fmean(deviations.values()) + _WEIGHT_OF_SIMILARITY * fmean(similarities) - least
