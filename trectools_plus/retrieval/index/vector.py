"""The vector modes: exact cosine similarity over every document, or over parts of documents.

The last digits of 32-bit matrix products depend on the machine, the number of threads and the
batch. So a matrix product only selects candidates: documents whose score is above the cutoff
or at most an error bound below it. Each candidate is scored again in 64 bits and rounded to 32 bits
once. Equal texts get equal scores, and a run does not depend on batch size or threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from itertools import compress, islice
from pathlib import Path
from typing import Any, Self

import numpy as np

from trectools_plus.display import Progress, no_progress
from trectools_plus.errors import InputError, checked
from trectools_plus.formats.files.index_cache import load_array
from trectools_plus.formats.tables import Corpus
from trectools_plus.retrieval.index.encoder import Encoder, TextEncoder
from trectools_plus.retrieval.index.index import Index
from trectools_plus.retrieval.index.models import first_rows
from trectools_plus.retrieval.index.parts import (
    AGGREGATIONS,
    Aggregation,
    Positions,
    TextParts,
)
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import Ranking, Scores, empty_ranking, top_positions

_TEXTS_PER_STEP = 2_048
# The products of a batch of queries need at most 16 MiB, or one query needs more.
_PRODUCTS_AT_ONCE = 1 << 22


class EmbeddedIndex(Index):
    """An index of vectors, one for each part of the documents. An empty query finds nothing.

    Args:
        parts: The parts of the documents.
        facts: Everything that determines their texts, for the index key.
        encoder: The encoder; ``None`` uses the static embeddings.
        progress: Receives the progress of building an index that is not in the cache.
    """

    aggregation = AGGREGATIONS["all_max"]

    def __init__(
        self,
        parts: TextParts,
        facts: Mapping[str, Any],
        encoder: Encoder | None,
        progress: Progress,
    ) -> None:
        self._parts, self.encoder = parts, encoder or TextEncoder()
        self.open(parts.doc_ids, {**facts, **self.encoder.facts()}, progress)

    def search(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Rank the documents that have a part of the aggregated kinds by their similarity."""
        if not queries:
            return []
        vectors = self.encoder.embed_queries(queries)
        nearest = nearest_documents(self.content, vectors, self._parts, self.aggregation, depth)
        return [
            Ranking([self.doc_ids[row] for row in rows.tolist()], scores)
            if vector.any()
            else empty_ranking()
            for vector, (rows, scores) in zip(vectors, nearest, strict=True)
        ]

    def build(self, folder: Path, progress: Progress) -> None:
        """Write one vector for each text to ``vectors.npy``; equal texts get equal vectors."""
        firsts = np.array(first_rows(self._parts.texts()), dtype=np.intp)
        vectors = np.lib.format.open_memmap(
            folder / "vectors.npy", "w+", np.float32, (len(firsts), self.encoder.dimensions)
        )
        is_first = firsts == np.arange(len(firsts))
        distinct, texts = np.flatnonzero(is_first), compress(self._parts.texts(), is_first)
        for start in range(0, len(distinct), _TEXTS_PER_STEP):
            rows = distinct[start : start + _TEXTS_PER_STEP]
            vectors[rows] = self.encoder.embed_documents([*islice(texts, len(rows))])
            progress("embedding documents", start + len(rows), len(distinct))
        vectors[~is_first] = vectors[firsts[~is_first]]
        vectors.flush()

    def load(self, folder: Path) -> Scores:
        """Map the vectors into memory."""
        return load_array(folder / "vectors.npy", np.float32, 2)


class VectorRetriever(EmbeddedIndex):
    """Cosine of query and document vectors.

    Args:
        documents: The corpus.
        progress: Receives the progress of building an index that is not in the cache.
        encoder: The encoder; ``None`` uses the static embeddings.
    """

    name = "vector"

    def __init__(
        self,
        documents: Corpus,
        progress: Progress = no_progress,
        encoder: Encoder | None = None,
    ) -> None:
        parts = TextParts.of_documents(documents)
        super().__init__(parts, {"corpus_sha256": parts.sha256}, encoder, progress)


class MultiVectorRetriever(EmbeddedIndex):
    """Cosines of the query and the parts, aggregated by document.

    Args:
        parts: The parts of the documents.
        settings: ``aggregation_strategy`` is used.
        progress: Receives the progress of building an index that is not in the cache.
        encoder: The encoder; ``None`` uses the static embeddings.

    Raises:
        InputError: If no document has a part that the strategy aggregates.
    """

    name = "multi-vector"

    @checked
    def __init__(
        self,
        parts: TextParts,
        settings: RetrievalSettings,
        progress: Progress = no_progress,
        encoder: Encoder | None = None,
    ) -> None:
        super().__init__(parts, {"parts_sha256": parts.sha256}, encoder, progress)
        self._set_strategy(settings.aggregation_strategy)

    def with_strategy(self, strategy: str) -> Self:
        """Return a retriever with another strategy on the same index.

        Raises:
            InputError: If no document has a part that the strategy aggregates.
        """
        other = copy(self)
        other._set_strategy(strategy)
        return other

    def _set_strategy(self, strategy: str) -> None:
        self.aggregation = AGGREGATIONS[strategy]
        if not len(self.aggregation.rows_of(self._parts)):
            raise InputError(
                f"{strategy} cannot be used: no document has a "
                f"{' or '.join(self.aggregation.kinds)}",
                where=self._parts.path,
                remedy="use all_max (the title of a plain document is its label, its text its "
                "definition)",
            )


def _candidates(scores: Scores, depth: int, dimensions: int) -> Positions:
    """Return the positions that can be among the ``depth`` best, ascending.

    A document whose 32-bit score is further below the cutoff than a margin cannot be among the best
    in 64 bits. The margin is twice the error of a 32-bit dot product of two unit vectors in any
    order of summation (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1), plus
    the rounding errors of a weighted mean of three such products.
    """
    if depth >= len(scores):
        return np.arange(len(scores))
    cutoff, margin = len(scores) - depth, (2 * dimensions + 24) * 2.0**-24
    return np.flatnonzero(
        scores >= np.partition(scores, cutoff)[cutoff].astype(np.float64) - margin
    )


def nearest_documents(
    vectors: Scores,
    queries: Scores,
    parts: TextParts,
    aggregation: Aggregation,
    depth: int,
    block: int = _PRODUCTS_AT_ONCE,
) -> Iterator[tuple[Positions, Scores]]:
    """Yield the documents with the exactly highest aggregated products.

    Args:
        vectors: ``float32`` of shape ``(len(parts.documents), dimensions)``, rows of length 1 or 0.
        queries: ``float32`` of shape ``(n_queries, dimensions)``, rows of length 1 or 0.
        parts: The documents of the rows.
        aggregation: The aggregation of products to a document's score.
        depth: Maximum number of documents for each query.
        block: Number of products to compute at once.

    Yields:
        For each query, the document numbers, best first and ties by lower number, and the scores,
        computed in 64 bits and rounded to 32 bits.
    """
    rows = aggregation.rows_of(parts)
    used = vectors if len(rows) == len(vectors) else vectors[rows]
    numbers, documents = np.unique(parts.documents[rows], return_inverse=True)
    kinds, step = parts.kinds[rows], max(1, block // len(rows))
    for start in range(0, len(queries), step):
        batch = queries[start : start + step]
        for query, estimates in zip(
            batch, aggregation.score(batch @ used.T, documents, kinds), strict=True
        ):
            candidates = _candidates(estimates, depth, vectors.shape[1])
            is_candidate = np.zeros(len(numbers), dtype=np.bool_)
            is_candidate[candidates] = True
            some = np.flatnonzero(is_candidate[documents])
            # Each in 64 bits and separately, rounded to 32 bits once.
            products = (used[some].astype(np.float64) * query).sum(axis=1)[np.newaxis]
            exact = aggregation.score(products, documents[some], kinds[some])[0]
            scores: Scores = exact.astype(np.float32)
            top = top_positions(scores, depth)
            yield numbers[candidates[top]], scores[top]
