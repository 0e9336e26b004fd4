"""The three modes on a Milvus collection.

Milvus scores in 32 bits and orders ties as it likes. So a few more documents than asked for are
fetched, until the cut is not inside a tie, and put into canonical order here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trectools_plus.errors import UsageError
from trectools_plus.retrieval.backends.milvus_collection import MilvusCollection
from trectools_plus.retrieval.backends.milvus_connection import MilvusConnection
from trectools_plus.retrieval.base import Ranking, Retriever, Scores, empty_ranking
from trectools_plus.retrieval.encoder import TextEncoder
from trectools_plus.retrieval.hybrid import fusion_of
from trectools_plus.retrieval.modes import MODES, canonical_mode, check_modes
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.text import Analyzer
from trectools_plus.retrieval.top_documents import rank_scores

MAX_RESULTS = 16_384
"""Milvus' limit of results for a query."""

_SPARE_RESULTS = 28
_LEAST_EF = 128
_MOST_K1 = 3
_LEXICAL = {"metric_type": "BM25"}
_EMBEDDED_ONLY = ("multi_vector", "embedding_model", "reranker")


class MilvusLexical:
    """BM25 on the server. A document that shares no term with a query is no result.

    Args:
        collection: Where to search.
        settings: ``stemmer`` and ``stopwords`` are used; ``k1`` and ``b`` are in the collection.
    """

    name = "lexical"

    def __init__(self, collection: MilvusCollection, settings: RetrievalSettings) -> None:
        self._collection = collection
        self.index_key = collection.key
        self._analyzer = Analyzer(settings)

    def prepare(self, queries: Sequence[str]) -> list[str | None]:
        """What each query asks the server, ``None`` for nothing."""
        return [" ".join(self._analyzer.terms(query)) or None for query in queries]

    def request(self, asked: Sequence[Any], limit: int) -> dict[str, Any]:
        """The part of a search for prepared queries."""
        return {"data": list(asked), "anns_field": "lexical", "limit": limit}

    def parameters(self, limit: int) -> dict[str, Any]:  # noqa: ARG002 (as MilvusVector)
        """How the index is searched."""
        return _LEXICAL

    def scores(self, distances: Scores) -> Scores:
        """Scores from what the server calls distances: milvus-lite writes a minus before BM25."""
        return np.abs(distances)

    def search(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Rank the documents that share a term with each query."""
        return _search(self, self._collection, queries, depth)


class MilvusVector:
    """Cosine of query and document vectors on the server. An empty query finds nothing.

    Args:
        collection: Where to search.
    """

    name = "vector"

    def __init__(self, collection: MilvusCollection) -> None:
        self._collection = collection
        self.index_key = collection.key
        self._encoder = TextEncoder()

    def prepare(self, queries: Sequence[str]) -> list[Any | None]:
        """The vector of each query, ``None`` where it is zero."""
        return [vector if vector.any() else None for vector in self._encoder.embed(queries)]

    def request(self, asked: Sequence[Any], limit: int) -> dict[str, Any]:
        """The part of a search for prepared queries."""
        return {"data": list(asked), "anns_field": "vector", "limit": limit}

    def parameters(self, limit: int) -> dict[str, Any]:
        """How the index is searched."""
        inner = {"ef": max(limit, _LEAST_EF)} if self._collection.vector_index == "hnsw" else {}
        return {"metric_type": "IP", "params": inner}

    def scores(self, distances: Scores) -> Scores:
        """Scores from what the server calls distances: the same."""
        return distances

    def search(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Rank documents by their cosine with each query."""
        return _search(self, self._collection, queries, depth)


class MilvusHybrid:
    """Both searches and their fusion on the server.

    ``rrf`` as everywhere. ``weighted`` is Milvus': BM25 scores become ``2 / pi * atan(score)``,
    cosines ``1 / 2 + atan(cosine) / pi``, and a document that a ranking lacks counts as 0 there.

    Args:
        collection: Where to search.
        lexical: The lexical part.
        vector: The vector part.
        settings: ``fusion``, ``rrf_k``, ``weights`` and ``candidates`` are used.
    """

    name = "hybrid"

    def __init__(
        self,
        collection: MilvusCollection,
        lexical: MilvusLexical,
        vector: MilvusVector,
        settings: RetrievalSettings,
    ) -> None:
        self._collection = collection
        self.index_key = collection.key
        self._parts = (lexical, vector)
        self._settings = settings

    def search(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Rank documents by the rankings merged on the server."""
        prepared = list(zip(*(part.prepare(queries) for part in self._parts), strict=True))
        found: list[Ranking] = [empty_ranking() for _ in queries]
        # A query may lack one part; those that have the same parts go together.
        for parts in ([0, 1], [0], [1]):
            rows = [
                row
                for row, asked in enumerate(prepared)
                if [place for place in (0, 1) if asked[place] is not None] == parts
            ]
            if rows:
                answers = self._merge([prepared[row] for row in rows], parts, depth)
                for row, (doc_ids, scores) in zip(rows, answers, strict=True):
                    found[row] = rank_scores(doc_ids, scores, depth)
        return found

    def _merge(self, prepared: Sequence[Any], parts: list[int], depth: int) -> list[Any]:
        from pymilvus import AnnSearchRequest

        limit = check_depth(max(depth, self._settings.candidates))
        requests = [
            AnnSearchRequest(
                **self._parts[place].request([asked[place] for asked in prepared], limit),
                param=self._parts[place].parameters(limit),
            )
            for place in parts
        ]
        answer = self._collection.connection.call(
            "hybrid_search",
            self._collection.name,
            requests,
            ranker=self._ranker(parts),
            # Everything that was merged, so that no cut falls into a tie.
            limit=min(len(parts) * limit, MAX_RESULTS),
            output_fields=["doc_id"],
            **self._collection.reading,
        )
        return [_columns(hits) for hits in answer]

    def _ranker(self, parts: list[int]) -> Any:
        from pymilvus import RRFRanker, WeightedRanker

        if self._settings.fusion == "rrf":
            return RRFRanker(self._settings.rrf_k)
        weights = _weights(self._settings)
        return WeightedRanker(*(weights[place] for place in parts), norm_score=True)


def open_modes(
    collection: MilvusCollection, modes: Sequence[str], settings: RetrievalSettings
) -> dict[str, Retriever]:
    """A retriever for each mode, in the order of ``modes``.

    Args:
        collection: Where to search.
        modes: Names of ``retrieval.modes.MODES``, or other names of these.
        settings: Those that the collection was opened with.

    Raises:
        UsageError: If a mode is unknown or repeated, or Milvus cannot do as the settings ask.
    """
    check_milvus_modes(modes)
    check_settings(settings)
    lexical, vector = MilvusLexical(collection, settings), MilvusVector(collection)
    known: dict[str, Retriever] = {
        "lexical": lexical,
        "vector": vector,
        "hybrid": MilvusHybrid(collection, lexical, vector, settings),
    }
    return {mode: known[canonical_mode(mode)] for mode in modes}


def check_milvus_modes(modes: Sequence[str]) -> None:
    """See that all modes are among those that Milvus has, and none is asked for twice.

    Raises:
        UsageError: If not.
    """
    check_modes(modes)
    others = [mode for mode in modes if canonical_mode(mode) not in MODES]
    if others:
        raise UsageError(
            f"the backend milvus has no mode '{others[0]}'", remedy=f"it has {', '.join(MODES)}"
        )


def check_version(connection: MilvusConnection, modes: Sequence[str]) -> None:
    """See that the server is new enough for the modes.

    Raises:
        UsageError: If it cannot search words, and a mode wants that.
    """
    of_words = [mode for mode in modes if canonical_mode(mode) != "vector"]
    if of_words and not connection.has_full_text:
        raise UsageError(
            f"Milvus {connection.server_version} has no full-text search, which"
            f" '{of_words[0]}' needs: it came with Milvus 2.5",
            where=connection.address.uri,
            remedy="ask for --modes vector, or use a newer server",
        )


def check_settings(settings: RetrievalSettings) -> None:
    """See that Milvus can score and merge as the settings ask.

    Raises:
        UsageError: If not.
    """
    given = settings.model_dump()
    for name in _EMBEDDED_ONLY:
        if given[name]:
            raise UsageError(
                "the backend milvus has no reranker, and only the built-in embeddings of whole "
                "documents",
                where=f"--set {name}",
                remedy="leave that out, or search with the embedded modes",
            )
    if not 0 < settings.k1 <= _MOST_K1:
        raise UsageError(
            f"Milvus takes k1 above 0 and up to {_MOST_K1} but got {settings.k1:g}",
            where="--set k1",
        )
    if settings.fusion == "rrf" and not 0 < settings.rrf_k < MAX_RESULTS:
        raise UsageError(
            f"Milvus merges with rrf_k from 1 to {MAX_RESULTS - 1} but got {settings.rrf_k}",
            where="--set rrf_k",
        )
    if settings.fusion == "weighted" and settings.normalisation != "min-max":
        raise UsageError(
            "Milvus normalises scores in its own way, by arc tangent",
            where="--set normalisation",
            remedy="leave normalisation away, or fetch both modes and merge with runs fuse",
        )
    if settings.fusion == "weighted" and max(_weights(settings)) > 1:
        raise UsageError(
            "Milvus takes weights from 0 to 1", where="--set weights", remedy="divide by their sum"
        )


def _weights(settings: RetrievalSettings) -> Sequence[float]:
    """Of the lexical and the vector ranking."""
    fusion = fusion_of(settings)
    fusion.check_count(2)
    return fusion.weights or ()


def _search(
    mode: MilvusLexical | MilvusVector,
    collection: MilvusCollection,
    queries: Sequence[str],
    depth: int,
) -> list[Ranking]:
    prepared = mode.prepare(queries)
    found: list[Ranking] = [empty_ranking() for _ in queries]
    waiting = [row for row, asked in enumerate(prepared) if asked is not None]
    limit = min(check_depth(depth) + _SPARE_RESULTS, MAX_RESULTS)
    while waiting:
        answer = collection.connection.call(
            "search",
            collection.name,
            **mode.request([prepared[row] for row in waiting], limit),
            search_params=mode.parameters(limit),
            output_fields=["doc_id"],
            **collection.reading,
        )
        tied = []
        for row, hits in zip(waiting, answer, strict=True):
            doc_ids, distances = _columns(hits)
            scores = mode.scores(distances)
            found[row] = rank_scores(doc_ids, scores, depth)
            if len(doc_ids) == limit < MAX_RESULTS and scores[-1] >= found[row].scores[-1]:
                tied.append(row)
        waiting, limit = tied, min(2 * limit, MAX_RESULTS)
    return found


def _columns(hits: Any) -> tuple[list[str], Scores]:
    """Ids of one query's hits, and what the server calls their distances."""
    distances = np.array([hit["distance"] for hit in hits], dtype=np.float32)
    return [hit["doc_id"] for hit in hits], distances


def check_depth(depth: int) -> int:
    """The depth, if Milvus finds as many documents.

    Raises:
        UsageError: If not.
    """
    if depth > MAX_RESULTS:
        raise UsageError(
            f"Milvus finds at most {MAX_RESULTS:,} documents for a query but {depth:,} are asked"
            " for",
            where="--depth",
        )
    return depth
