"""Presets of search engines against programs that other projects wrote.

``osmem-server`` is an independent implementation of OpenSearch's HTTP interface, without vectors.
Qdrant's client has an implementation of Qdrant in memory, and the models of its HTTP interface.
"""

from __future__ import annotations

import json
import re
import urllib.request
from collections import Counter
from collections.abc import Iterator
from typing import Any
from zlib import crc32

import httpx
import numpy as np
import pytest

from trectools_plus.formats.tables import Topics
from trectools_plus.retrieval.backends.http import HttpBackend, HttpSource
from trectools_plus.retrieval.backends.http_mapping import HttpSettings
from trectools_plus.retrieval.fetch import FetchRequest, fetch_runs
from trectools_plus.retrieval.index.encoder import TextEncoder
from trectools_plus.retrieval.source import Failure, FetchOptions, Hits, Query

DOCUMENTS = {
    "d1": "swept wing in supersonic flow",
    "d2": "heat transfer on a flat plate",
    "d3": "a wing with a flap",
    "d4": "boundary layer of a plate",
}
HOSTILE = 'wing "AND" (NOT) [TO] {x} \\ / : ^2 ~ * ? ! || && <b> $lexical {!lucene} é𝄞\n\t'
TOPICS = Topics.from_dict({"q1": "swept wing", "q2": HOSTILE, "q3": "zebra", "q4": "plate"})
FOUND = {
    "q1": {"d1", "d3"},
    "q2": {"d1", "d3"},
    "q4": {"d2", "d4"},
}


def call(method: str, url: str, body: Any) -> None:
    request = urllib.request.Request(
        url,
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
        method=method,
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status in (200, 201)


@pytest.fixture(scope="module")
def server(require_module: Any) -> Iterator[str]:
    """The URL of a server with the documents."""
    with require_module("osmem_server").OsmemServer.start(japanese=False) as running:
        call("PUT", f"{running.url}/articles", {"mappings": {"properties": {"number": KEYWORD}}})
        for doc_id, text in DOCUMENTS.items():
            document = {"title": text, "number": doc_id.upper()}
            call("PUT", f"{running.url}/articles/_doc/{doc_id}?refresh=true", document)
        yield running.url


KEYWORD = {"type": "keyword"}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch"])
@pytest.mark.parametrize("id_field", [None, "number"])
def test_opensearch(
    server: str, monkeypatch: pytest.MonkeyPatch, engine: str, id_field: str | None
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    given = {"index": "articles", "text_fields": "title", "retries": 0}
    given |= {} if id_field is None else {"id_field": id_field}
    backend = HttpBackend(HttpSettings.model_validate({"engine": engine, "url": server, **given}))
    request = FetchRequest(None, TOPICS, ["lexical"], FetchOptions(depth=3), backend=backend)
    run = fetch_runs(request)["lexical"]
    assert run.failures == {}
    assert run.missing_queries == ["q3"]
    found = {query: set(results) for query, results in run.run.to_dict().items()}
    if id_field is not None:
        found = {query: {one.lower() for one in results} for query, results in found.items()}
    assert found == FOUND
    first = next(iter(run.run.to_dict()["q1"]))
    assert first.lower() == "d1"  # it contains both words


class Qdrant:
    """Answers requests as Qdrant does: with its models, and its implementation in memory."""

    def __init__(self, require_module: Any) -> None:
        self.models = require_module("qdrant_client.http.models")
        client = require_module("qdrant_client").QdrantClient(":memory:")
        models = self.models
        encoder = TextEncoder()
        dense = {"embedding": models.VectorParams(size=256, distance=models.Distance.COSINE)}
        client.create_collection(
            "articles", dense, sparse_vectors_config={"text": models.SparseVectorParams()}
        )
        vectors = encoder.embed_documents(list(DOCUMENTS.values())).tolist()
        client.upsert(
            "articles",
            [
                models.PointStruct(
                    id=number,
                    vector={"embedding": vector, "text": self.sparse(text)},
                    payload={"number": doc_id},
                )
                for number, ((doc_id, text), vector) in enumerate(
                    zip(DOCUMENTS.items(), vectors, strict=True), start=1
                )
            ],
        )
        self.client = client

    def sparse(self, text: str) -> Any:
        """Return words as a sparse vector: what the server does with a text for ``qdrant/bm25``."""
        counts = Counter(crc32(word.encode()) for word in re.findall(r"\w+", text.lower()))
        return self.models.SparseVector(indices=[*counts], values=[*map(float, counts.values())])

    def infer(self, query: Any) -> Any:
        """Replace a text by its vector."""
        if isinstance(query, self.models.Document):
            assert query.model == "qdrant/bm25"
            return self.sparse(query.text)
        return query

    def answer(self, request: Any) -> Any:
        prefetch = [
            one.model_copy(update={"query": self.infer(one.query)})
            for one in (request.prefetch or [])
        ]
        return self.client.query_points(
            "articles",
            query=self.infer(request.query),
            prefetch=prefetch or None,
            using=request.using,
            limit=request.limit,
            with_payload=request.with_payload,
        )

    def handle(self, request: httpx.Request) -> httpx.Response:
        models = self.models
        assert request.url.path == "/collections/articles/points/query"
        result = self.answer(models.QueryRequest.model_validate_json(request.content))
        shown = result.model_dump(mode="json")
        return httpx.Response(200, json={"result": shown, "status": "ok", "time": 0.001})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
@pytest.mark.parametrize("id_field", [None, "number"])
def test_qdrant(require_module: Any, mode: str, id_field: str | None) -> None:
    qdrant = Qdrant(require_module)
    given = {"index": "articles", "text_fields": "text", "vector_field": "embedding"}
    given |= {} if id_field is None else {"id_field": id_field}
    settings = HttpSettings.model_validate(
        {"engine": "qdrant", "url": "http://qdrant.test", "retries": 0} | given
    )
    source = HttpSource(settings, mode, transport=httpx.MockTransport(qdrant.handle))
    queries = [Query("q1", "swept wing"), Query("q2", HOSTILE), Query("q3", "plate")]
    try:
        replies = source.ask(queries, 2)
    finally:
        source.close()
    assert not any(isinstance(reply, Failure) for reply in replies), replies
    names = {str(number): doc_id for number, doc_id in enumerate(DOCUMENTS, start=1)}
    documents = TextEncoder().embed_documents(list(DOCUMENTS.values()))
    for query, reply in zip(queries, replies, strict=True):
        assert isinstance(reply, Hits)
        ids = [one if id_field else names[one] for one in reply.ids]
        scores = list(reply.scores or [])
        assert scores == sorted(scores, reverse=True)
        cosines = documents @ TextEncoder().embed_queries([query.text])[0]
        best = [list(DOCUMENTS)[row] for row in np.argsort(-cosines)[:2]]
        if mode == "vector":
            assert ids == best
            assert scores == pytest.approx(np.sort(-cosines)[:2] * -1, abs=1e-5)
        elif mode == "lexical" and query.query_id != "q2":
            assert set(ids) == FOUND[{"q1": "q1", "q3": "q4"}[query.query_id]]
        else:
            assert len(ids) == 2
