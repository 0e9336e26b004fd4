"""The backend ``milvus`` with the modes ``lexical``, ``vector`` and ``hybrid``.

Milvus scores in 32 bits and orders ties arbitrarily. So a search requests more documents than
needed, until the cutoff is not inside a tie, and the results are put into canonical order here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from trectools_plus.errors import TrectoolsPlusError, UsageError
from trectools_plus.formats.documents import Documents
from trectools_plus.retrieval.backends.embedded.modes import canonical_mode
from trectools_plus.retrieval.backends.milvus.collection import MilvusCollection, open_collection
from trectools_plus.retrieval.backends.milvus.connection import (
    MilvusAddress,
    MilvusConnection,
    UnreachableError,
)
from trectools_plus.retrieval.backends.milvus.support import (
    MAX_RESULTS,
    MilvusSettings,
    check_depth,
    check_milvus_modes,
    check_settings,
    check_version,
)
from trectools_plus.retrieval.fusion import HybridRetriever, fusion_of
from trectools_plus.retrieval.index.encoder import TextEncoder
from trectools_plus.retrieval.index.lexical import Analyzer
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import (
    Backend,
    BackendRequest,
    CompositeRetriever,
    Failure,
    Hits,
    Query,
    Ranking,
    Retriever,
    Scores,
    Source,
    empty_ranking,
    rank_scores,
)


class MilvusBackend(Backend):
    """A backend that inserts documents into Milvus once and searches there.

    Args:
        settings: Address and vector index.

    Raises:
        UsageError: If the address is not valid, or contains credentials.
    """

    name = "milvus"
    needs_corpus = True
    streams_documents = True

    def __init__(self, settings: MilvusSettings | None = None) -> None:
        self._settings = settings or MilvusSettings()
        self._address = MilvusAddress.parse(self._settings.uri)
        self._opened: dict[str, Any] = {}

    @classmethod
    def check_modes(cls, modes: Sequence[str], setting: Any = None) -> None:  # noqa: ARG003
        """Check that Milvus has all modes and none is repeated."""
        check_milvus_modes(modes)

    @property
    def facts(self) -> dict[str, Any]:
        """The address, the kind of the vector index, and the place of the fusion."""
        settings = self._settings.model_dump(exclude_defaults=True, include={"server_fusion"})
        address = {"uri": self._address.uri, "vector_index": self._settings.vector_index}
        return address | settings

    @property
    def record(self) -> dict[str, Any]:
        """The settings, the server's version, the collection and its documents."""
        return {"uri": self._address.uri, **self._settings.model_dump(exclude={"uri"})} | (
            self._opened
        )

    def open(self, request: BackendRequest) -> Mapping[str, Source]:
        """Find or fill the collection of the documents, and open a source for each mode.

        Raises:
            UsageError: If a mode is unknown, there are no documents, or Milvus does not support
                the settings.
            MissingExtraError: If the extra ``milvus`` is not installed.
            InputError: If the server cannot be reached or fails, or the documents cannot be read.
        """
        check_milvus_modes(request.modes)
        check_settings(request.settings, server_fusion=self._settings.server_fusion)
        check_depth(request.depth)
        if request.corpus is None:
            raise UsageError(
                "the backend milvus needs documents to search",
                remedy="give --dataset or --corpus",
            )
        documents = request.corpus
        connection = MilvusConnection(self._address)
        try:
            check_version(connection, request.modes)
            collection = open_collection(
                connection,
                documents,
                request.settings,
                self._settings.vector_index,
                progress=request.progress,
            )
            self._opened = _describe(collection, documents, request)
            retrievers = open_modes(
                collection,
                request.modes,
                request.settings,
                server_fusion=self._settings.server_fusion,
            )
            for retriever in retrievers.values():
                # The first search is slow and must not count as a query's latency.
                retriever.search(["warm up"], 1)
        except BaseException:
            connection.close()
            raise
        return {
            mode: MilvusSource(
                retriever,
                connection,
                request,
                {mode: f"{connection.server_version}/{collection.name}"},
            )
            for mode, retriever in retrievers.items()
        }


class MilvusSource(Source):
    """One mode, searched in the main thread.

    Args:
        retriever: The retriever.
        connection: The connection, shared by all modes; closing one source closes it.
        request: The request that the mode was opened for.
        index_keys: The server's version and the collection, by mode.
    """

    def __init__(
        self,
        retriever: Retriever,
        connection: MilvusConnection,
        request: BackendRequest,
        index_keys: dict[str, str],
    ) -> None:
        self._retriever = retriever
        self._connection = connection
        self._exclude_self = request.exclude_self
        self.batch_size = request.settings.batch_size or 1
        self._index_keys = index_keys

    def ask(self, queries: Sequence[Query], depth: int) -> list[Hits | Failure]:
        """Search for all queries in one request and divide the time evenly among them."""
        started = perf_counter()
        try:
            found = self._search(queries, depth)
        except UnreachableError as error:
            failure = Failure(str(error), "unavailable", lasting=True, stops=True)
            return [failure] * len(queries)
        except TrectoolsPlusError as error:
            stops = isinstance(error, UsageError)
            return [Failure(str(error), lasting=True, stops=stops)] * len(queries)
        ms = 1000 * (perf_counter() - started) / len(queries)
        return [Hits.of(ranking, ms) for ranking in found]

    def _search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Search; with ``exclude_self``, drop the query's document before rankings are merged."""
        retriever, texts = self._retriever, [query.text for query in queries]
        if not self._exclude_self or not isinstance(retriever, CompositeRetriever):
            return retriever.search(texts, depth)
        depth -= 1  # the request includes the dropped document
        component_depth = retriever.component_depth(depth)
        found = [
            [
                ranking.without(query.query_id).head(component_depth)
                for ranking, query in zip(
                    component.search(texts, component_depth + 1), queries, strict=True
                )
            ]
            for component in retriever.components
        ]
        return retriever.combine(texts, found, depth)

    def index_keys(self) -> dict[str, str]:
        """Return the server's version and the collection, by mode."""
        return self._index_keys

    def close(self) -> None:
        """Close the connection, which the other modes share."""
        self._connection.close()


def _describe(
    collection: MilvusCollection, documents: Documents, request: BackendRequest
) -> dict[str, Any]:
    return {
        "server_version": collection.connection.server_version,
        "collection": collection.name,
        "collection_key": collection.key,
        "documents": {
            "path": documents.path,
            "count": collection.count,
            "digest": collection.sha256,
        },
        "cut_documents": collection.cut_documents,
        "settings": request.settings.model_dump(mode="json"),
    }


# Results that a search requests in addition to its depth, to see whether the cutoff is in a tie.
_SPARE_RESULTS = 28
# Minimum number of candidates of an HNSW search; Milvus requires at least as many as results.
_MINIMUM_EF = 128


class MilvusField(ABC):
    """A retriever that searches one field of a collection.

    Args:
        collection: The collection to search.

    Attributes:
        name: The name of the mode and of the field.
    """

    name: str

    def __init__(self, collection: MilvusCollection) -> None:
        self._collection = collection

    @abstractmethod
    def prepare(self, queries: Sequence[str]) -> list[Any | None]:
        """Return the data of each query for the server; ``None`` for a query without results."""

    @abstractmethod
    def parameters(self, limit: int) -> dict[str, Any]:
        """Return the parameters of the index search."""

    @abstractmethod
    def scores(self, distances: Scores) -> Scores:
        """Convert the server's distances into scores."""

    def request(self, prepared: Sequence[Any], limit: int) -> dict[str, Any]:
        """Return the search request for prepared queries."""
        return {"data": list(prepared), "anns_field": self.name, "limit": limit}

    def search(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Rank the documents of the collection for each query."""
        prepared = self.prepare(queries)
        found: list[Ranking] = [empty_ranking() for _ in queries]
        pending = [row for row, data in enumerate(prepared) if data is not None]
        limit = min(check_depth(depth) + _SPARE_RESULTS, MAX_RESULTS)
        while pending:
            answer = self._collection.connection.call(
                "search",
                self._collection.name,
                **self.request([prepared[row] for row in pending], limit),
                search_params=self.parameters(limit),
                output_fields=["doc_id"],
                **self._collection.read_options,
            )
            tied = []
            for row, hits in zip(pending, answer, strict=True):
                doc_ids, distances = _columns(hits)
                scores = self.scores(distances)
                found[row] = rank_scores(doc_ids, scores, depth)
                if len(doc_ids) == limit < MAX_RESULTS and scores[-1] >= found[row].scores[-1]:
                    tied.append(row)
            pending, limit = tied, min(2 * limit, MAX_RESULTS)
        return found


class MilvusLexical(MilvusField):
    """BM25 on the server. Documents that share no term with a query are not results.

    Args:
        collection: The collection to search.
        settings: ``stemmer`` and ``stopwords`` are used; ``k1`` and ``b`` are in the collection.
    """

    name = "lexical"

    def __init__(self, collection: MilvusCollection, settings: RetrievalSettings) -> None:
        super().__init__(collection)
        self._analyzer = Analyzer(settings)

    def prepare(self, queries: Sequence[str]) -> list[Any | None]:
        """Return the terms of each query; ``None`` for a query without terms."""
        return [" ".join(self._analyzer.terms(query)) or None for query in queries]

    def parameters(self, limit: int) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters of the index search."""
        return {"metric_type": "BM25"}

    def scores(self, distances: Scores) -> Scores:
        """Return the absolute values, because milvus-lite returns negative BM25 scores."""
        return np.abs(distances)


class MilvusVector(MilvusField):
    """Cosine of query and document vectors on the server. An empty query finds nothing."""

    name = "vector"

    def __init__(self, collection: MilvusCollection) -> None:
        super().__init__(collection)
        self._encoder = TextEncoder()

    def prepare(self, queries: Sequence[str]) -> list[Any | None]:
        """Return the vector of each query; ``None`` if it is zero."""
        return [vector if vector.any() else None for vector in self._encoder.embed_queries(queries)]

    def parameters(self, limit: int) -> dict[str, Any]:
        """Return the parameters of the index search."""
        is_graph = self._collection.vector_index == "hnsw"
        return {
            "metric_type": "IP",
            "params": {"ef": max(limit, _MINIMUM_EF)} if is_graph else {},
        }

    def scores(self, distances: Scores) -> Scores:
        """Return the distances, which are inner products."""
        return distances


class MilvusServerHybrid:
    """Both searches and their reciprocal rank fusion on the server.

    The server orders ties arbitrarily before it fuses the ranks.

    Args:
        collection: The collection to search.
        lexical: The lexical search.
        vector: The vector search.
        settings: ``rrf_k`` and ``candidates`` are used.
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
        self._fields = (lexical, vector)
        self._settings = settings

    def search(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Search both fields, and merge the rankings on the server."""
        prepared = list(zip(*(field.prepare(queries) for field in self._fields), strict=True))
        found: list[Ranking] = [empty_ranking() for _ in queries]
        # A query may have no lexical or no vector part; queries with the same parts form a batch.
        for parts in ([0, 1], [0], [1]):
            rows = [
                row
                for row, data in enumerate(prepared)
                if [part for part in (0, 1) if data[part] is not None] == parts
            ]
            if rows:
                answers = self._merge([prepared[row] for row in rows], parts, depth)
                for row, (doc_ids, scores) in zip(rows, answers, strict=True):
                    found[row] = rank_scores(doc_ids, scores, depth)
        return found

    def _merge(self, prepared: Sequence[Any], parts: list[int], depth: int) -> list[Any]:
        from pymilvus import AnnSearchRequest, RRFRanker

        limit = check_depth(max(depth, self._settings.candidates))
        requests = [
            AnnSearchRequest(
                **self._fields[part].request([data[part] for data in prepared], limit),
                param=self._fields[part].parameters(limit),
            )
            for part in parts
        ]
        answer = self._collection.connection.call(
            "hybrid_search",
            self._collection.name,
            requests,
            ranker=RRFRanker(self._settings.rrf_k),
            # All merged documents, because a cutoff could be inside a tie.
            limit=min(len(parts) * limit, MAX_RESULTS),
            output_fields=["doc_id"],
            **self._collection.read_options,
        )
        return [_columns(hits) for hits in answer]


def open_modes(
    collection: MilvusCollection,
    modes: Sequence[str],
    settings: RetrievalSettings,
    *,
    server_fusion: bool = False,
) -> dict[str, Retriever]:
    """Return a retriever for each mode, in the order of ``modes``.

    Args:
        collection: The collection to search.
        modes: Names or aliases of ``retrieval.backends.embedded.modes.MODES``.
        settings: The settings that the collection was opened with.
        server_fusion: Whether the server merges the rankings of ``hybrid``.
    """
    lexical, vector = MilvusLexical(collection, settings), MilvusVector(collection)
    hybrid: Retriever
    if server_fusion:
        hybrid = MilvusServerHybrid(collection, lexical, vector, settings)
    else:
        hybrid = HybridRetriever((lexical, vector), fusion_of(settings), settings.candidates)
    known: dict[str, Retriever] = {"lexical": lexical, "vector": vector, "hybrid": hybrid}
    return {mode: known[canonical_mode(mode)] for mode in modes}


def _columns(hits: Any) -> tuple[list[str], Scores]:
    """Return the ids of one query's hits, and the server's distances."""
    distances = np.array([hit["distance"] for hit in hits], dtype=np.float32)
    return [hit["doc_id"] for hit in hits], distances
