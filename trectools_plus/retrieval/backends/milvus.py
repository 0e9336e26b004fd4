"""The backend ``milvus``: a local ``.db``, or a cluster, with the modes of this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from trectools_plus.errors import TrectoolsPlusError, UsageError
from trectools_plus.formats.documents import Documents
from trectools_plus.retrieval.backends.base import BackendRequest, Failure, Hits, Query, Source
from trectools_plus.retrieval.backends.milvus_collection import MilvusCollection, open_collection
from trectools_plus.retrieval.backends.milvus_connection import (
    MilvusAddress,
    MilvusConnection,
    UnreachableError,
)
from trectools_plus.retrieval.backends.milvus_limits import (
    check_depth,
    check_milvus_modes,
    check_settings,
    check_version,
)
from trectools_plus.retrieval.backends.milvus_search import open_modes
from trectools_plus.retrieval.backends.milvus_settings import MilvusSettings
from trectools_plus.retrieval.base import Ranking, Retriever


class MilvusBackend:
    """Inserts documents into Milvus, once, and searches there.

    Args:
        settings: Where Milvus is.

    Raises:
        UsageError: If the address is none, or holds credentials.
    """

    name = "milvus"

    needs_corpus = True

    def __init__(self, settings: MilvusSettings | None = None) -> None:
        self._settings = settings or MilvusSettings()
        self._address = MilvusAddress.parse(self._settings.uri)
        self._opened: dict[str, Any] = {}

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
                f"{connection.server_version}/{collection.name}",
            )
            for mode, retriever in retrievers.items()
        }


class MilvusSource:
    """One mode, asked in the main thread.

    Args:
        retriever: What searches.
        connection: Closed with the source.
        batch_size: Queries in one request.
        index_key: What is searched: the server's version and the collection.
    """

    concurrency = 1

    def __init__(
        self, retriever: Retriever, connection: MilvusConnection, batch_size: int, index_key: str
    ) -> None:
        self._retriever = retriever
        self._connection = connection
        self.batch_size = batch_size
        self.index_key = index_key

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
        return [_hits(ranking, ms) for ranking in found]

    def close(self) -> None:
        """Disconnect; other modes of the same connection are closed with it."""
        self._connection.close()


def _hits(ranking: Ranking, ms: float) -> Hits:
    return Hits(ranking.doc_ids, ranking.scores.tolist(), ms)


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
