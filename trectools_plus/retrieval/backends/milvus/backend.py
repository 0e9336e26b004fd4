"""The backend ``milvus``, with the modes of this package.

Milvus scores in 32 bits and orders ties as it likes. So a few more documents than asked for are
fetched, until the cut is not inside a tie, and put into canonical order here.
"""

from __future__ import annotations

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
from trectools_plus.retrieval.backends.milvus.settings import (
    MAX_RESULTS,
    MilvusSettings,
    check_depth,
    check_milvus_modes,
    check_settings,
    check_version,
    weights_of,
)
from trectools_plus.retrieval.index.analyzer import Analyzer
from trectools_plus.retrieval.index.encoder import TextEncoder
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import (
    Backend,
    BackendRequest,
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
    """Inserts documents into Milvus, once, and searches there.

    Args:
        settings: Where Milvus is.

    Raises:
        UsageError: If the address is none, or holds credentials.
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
        """Check that all modes are among those that Milvus has, and none is asked for twice."""
        check_milvus_modes(modes)

    @property
    def facts(self) -> dict[str, Any]:
        """Where it searches and how."""
        return {"uri": self._address.uri, "vector_index": self._settings.vector_index}

    @property
    def record(self) -> dict[str, Any]:
        """The address without credentials, the collection, the server's version, the documents."""
        return {"uri": self._address.uri, **self._settings.model_dump(exclude={"uri"})} | (
            self._opened
        )

    def open(self, request: BackendRequest) -> Mapping[str, Source]:
        """Find the documents' collection or fill it, and make a source for each mode.

        Raises:
            UsageError: If a mode is unknown, there are no documents, or Milvus cannot do as the
                settings ask.
            MissingExtraError: If the extra ``milvus`` is not installed.
            InputError: If the server cannot be reached or fails, or the documents cannot be read.
        """
        check_milvus_modes(request.modes)
        check_settings(request.settings)
        check_depth(request.depth)
        if request.corpus is None:
            raise UsageError(
                "the backend milvus searches documents that it is given",
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
            retrievers = open_modes(collection, request.modes, request.settings)
            for retriever in retrievers.values():
                # Loading what a first search needs is no part of any query's latency.
                retriever.search(["warm up"], 1)
        except BaseException:
            connection.close()
            raise
        return {
            mode: MilvusSource(
                retriever,
                connection,
                request.settings.batch_size,
                {mode: f"{connection.server_version}/{collection.name}"},
            )
            for mode, retriever in retrievers.items()
        }


class MilvusSource(Source):
    """One mode, asked in the main thread.

    Args:
        retriever: What searches.
        connection: Closed with the source.
        batch_size: Queries in one request.
        index_keys: The server's version and the collection, by mode.
    """

    def __init__(
        self,
        retriever: Retriever,
        connection: MilvusConnection,
        batch_size: int,
        index_keys: dict[str, str],
    ) -> None:
        self._retriever = retriever
        self._connection = connection
        self.batch_size = batch_size
        self._index_keys = index_keys

    def ask(self, queries: Sequence[Query], depth: int) -> list[Hits | Failure]:
        """Search for all queries in one request; their time is shared evenly."""
        started = perf_counter()
        try:
            found = self._retriever.search([query.text for query in queries], depth)
        except UnreachableError as error:
            failure = Failure(str(error), "unavailable", lasting=True, stops=True)
            return [failure] * len(queries)
        except TrectoolsPlusError as error:
            stops = isinstance(error, UsageError)
            return [Failure(str(error), lasting=True, stops=stops)] * len(queries)
        ms = 1000 * (perf_counter() - started) / len(queries)
        return [Hits.of(ranking, ms) for ranking in found]

    def index_keys(self) -> dict[str, str]:
        """Return the server's version and the collection, by mode."""
        return self._index_keys

    def close(self) -> None:
        """Disconnect; other modes of the same connection are closed with it."""
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


_SPARE_RESULTS = 28
_LEAST_EF = 128
_LEXICAL = {"metric_type": "BM25"}


class MilvusLexical:
    """BM25 on the server. A document that shares no term with a query is no result.

    Args:
        collection: Where to search.
        settings: ``stemmer`` and ``stopwords`` are used; ``k1`` and ``b`` are in the collection.
    """

    name = "lexical"

    def __init__(self, collection: MilvusCollection, settings: RetrievalSettings) -> None:
        self._collection = collection
        self._analyzer = Analyzer(settings)

    def prepare(self, queries: Sequence[str]) -> list[str | None]:
        """Return what each query asks of the server, ``None`` for nothing."""
        return [" ".join(self._analyzer.terms(query)) or None for query in queries]

    def request(self, asked: Sequence[Any], limit: int) -> dict[str, Any]:
        """The part of a search for prepared queries."""
        return {"data": list(asked), "anns_field": "lexical", "limit": limit}

    def parameters(self, limit: int) -> dict[str, Any]:  # noqa: ARG002 (as MilvusVector)
        """Return how the index is searched."""
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
        self._encoder = TextEncoder()

    def prepare(self, queries: Sequence[str]) -> list[Any | None]:
        """The vector of each query, ``None`` where it is zero."""
        return [vector if vector.any() else None for vector in self._encoder.embed(queries)]

    def request(self, asked: Sequence[Any], limit: int) -> dict[str, Any]:
        """The part of a search for prepared queries."""
        return {"data": list(asked), "anns_field": "vector", "limit": limit}

    def parameters(self, limit: int) -> dict[str, Any]:
        """Return how the index is searched."""
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
        weights = weights_of(self._settings)
        return WeightedRanker(*(weights[place] for place in parts), norm_score=True)


def open_modes(
    collection: MilvusCollection, modes: Sequence[str], settings: RetrievalSettings
) -> dict[str, Retriever]:
    """A retriever for each mode, in the order of ``modes``.

    Args:
        collection: Where to search.
        modes: Names of ``retrieval.backends.embedded.modes.MODES``, or other names of these.
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
