"""The multi-vector mode: a vector for each part of a document, and one score out of theirs.

As in :mod:`trectools_plus.retrieval.vector`, 32-bit matrix products only select: each document
that they put within their error bound of the cutoff gets its score from products in 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import InputError
from trectools_plus.progress import Progress, no_progress
from trectools_plus.retrieval.aggregation import Aggregation, aggregation_of
from trectools_plus.retrieval.base import Ranking, Scores, empty_ranking
from trectools_plus.retrieval.encoder import Encoder, TextEncoder
from trectools_plus.retrieval.index_cache import IndexRecipe, open_index
from trectools_plus.retrieval.parts import TextParts
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.top_documents import Positions, top_positions
from trectools_plus.retrieval.vector import build_vectors, exact_products, load_vectors, margin

# Products of a batch of queries with all parts: at most 64 MiB, but for one query always.
_PRODUCTS_AT_ONCE = 1 << 24


class MultiVectorRetriever:
    """Cosine of query and parts, aggregated to documents. An empty query finds nothing.

    Args:
        parts: What the documents consist of.
        settings: ``aggregation_strategy`` and ``aggregation_weights`` are used.
        progress: Told of the building of an index that is not in the cache yet.
        encoder: Makes the vectors; the static embeddings if ``None``.

    Raises:
        InputError: If no document has a part that the strategy looks at.
    """

    name = "multi-vector"

    def __init__(
        self,
        parts: TextParts,
        settings: RetrievalSettings,
        progress: Progress = no_progress,
        encoder: Encoder | None = None,
    ) -> None:
        self._parts = parts
        self._weights = settings.aggregation_weights
        self._encoder = encoder or TextEncoder()
        self.recipe = IndexRecipe(
            "multi-vector", {"parts_sha256": parts.sha256, **self._encoder.facts()}
        )
        self.index_key = self.recipe.key

        def build(folder: Path) -> None:
            build_vectors(folder, parts.texts, self._encoder, progress)

        def load(folder: Path) -> Scores:
            return load_vectors(folder, len(parts.texts), self._encoder.dimensions)

        self._vectors = open_index(self.recipe, build, load, progress)
        self._use(settings.aggregation_strategy)

    def with_strategy(self, strategy: str) -> Self:
        """A retriever with another strategy on the same index.

        Raises:
            InputError: If no document has a part that the strategy looks at.
        """
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._use(strategy)
        return other

    def _use(self, strategy: str) -> None:
        aggregation = aggregation_of(strategy, self._weights)
        if not set(aggregation.kinds) & set(self._parts.segments):
            raise InputError(
                f"{strategy} has nothing to look at: no document has a "
                f"{' or '.join(aggregation.kinds)}",
                where=self._parts.path,
                remedy="use all_max (a plain document's title is its label, its text its "
                "definition)",
            )
        self.strategy = strategy
        self._aggregation = aggregation

    def search(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Rank the documents that have a part that counts."""
        if not queries:
            return []
        vectors = self._encoder.embed_queries(queries)
        found = nearest_documents(self._vectors, vectors, self._parts, self._aggregation, depth)
        doc_ids = self._parts.doc_ids
        return [
            Ranking([doc_ids[place] for place in places], scores)
            if vector.any()
            else empty_ranking()
            for vector, (places, scores) in zip(vectors, found, strict=True)
        ]


def nearest_documents(
    vectors: Scores,
    queries: Scores,
    parts: TextParts,
    aggregation: Aggregation,
    depth: int,
    block: int = _PRODUCTS_AT_ONCE,
) -> Iterator[tuple[Positions, Scores]]:
    """The documents with the highest aggregated products, exactly.

    Args:
        vectors: ``float32`` of shape ``(len(parts.texts), dimensions)``, rows of length 1 or 0.
        queries: ``float32`` of shape ``(n_queries, dimensions)``, rows of length 1 or 0.
        parts: Which rows are whose.
        aggregation: How products of parts become a document's score.
        depth: How many documents to return at most for each query.
        block: How many products to compute at once.

    Yields:
        For each query the document numbers, best first and ties by lower number, and the scores:
        computed in 64 bits, rounded to 32.
    """
    kinds = [kind for kind in aggregation.kinds if kind in parts.segments]
    first = min(parts.segments[kind].first for kind in kinds)
    end = max(parts.segments[kind].end for kind in kinds)
    step = max(1, block // (end - first))
    for start in range(0, len(queries), step):
        batch = queries[start : start + step]
        products = batch @ vectors[first:end].T
        of_kinds = {
            kind: products[:, parts.segments[kind].first - first : parts.segments[kind].end - first]
            for kind in kinds
        }
        rough = aggregation.score(of_kinds, parts.segments, len(parts.doc_ids))
        for query, line in zip(batch, rough, strict=True):
            documents = _candidates(line, depth, margin(vectors.shape[1]))
            scores = _exact_scores(vectors, query, documents, parts, aggregation)
            top = top_positions(scores, depth)
            yield documents[top], scores[top]


def _candidates(scores: Scores, depth: int, slack: float) -> Positions:
    """In rising order, every document that can be among the ``depth`` best."""
    if depth >= len(scores):
        return np.flatnonzero(scores > -np.inf)
    place = len(scores) - depth
    floor = np.partition(scores, place)[place].astype(np.float64) - slack
    return np.flatnonzero((scores >= floor) & (scores > -np.inf))


def _exact_scores(
    vectors: Scores,
    query: Scores,
    documents: Positions,
    parts: TextParts,
    aggregation: Aggregation,
) -> Scores:
    """Scores of some documents by products in 64 bits, rounded to 32 bits once."""
    products: dict[str, npt.NDArray[np.float64]] = {}
    segments = {}
    for kind in aggregation.kinds:
        if kind in parts.segments:
            rows, own = parts.segments[kind].gather(documents)
            if len(rows):
                products[kind] = exact_products(vectors, rows, query)[np.newaxis]
                segments[kind] = own
    if not products:
        return np.empty(0, dtype=np.float32)
    scores: Scores = aggregation.score(products, segments, len(documents))[0].astype(np.float32)
    return scores
