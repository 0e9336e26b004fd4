"""Presets of search engines against programs that other projects wrote.

``osmem-server`` is an independent implementation of OpenSearch's HTTP interface, without vectors.
Qdrant's client has the models of its HTTP interface.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest

from trectools_plus.formats.tables import Topics
from trectools_plus.retrieval.backends.http import HttpBackend, HttpSource
from trectools_plus.retrieval.backends.http_mapping import HttpSettings
from trectools_plus.retrieval.fetch import FetchRequest, fetch_runs
from trectools_plus.retrieval.index.encoder import TextEncoder
from trectools_plus.retrieval.source import FetchOptions, Query

pytestmark = pytest.mark.filterwarnings("ignore")
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
    assert next(iter(run.run.to_dict()["q1"])).lower() == "d1"  # it contains both words


@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
@pytest.mark.parametrize("id_field", [None, "number"])
def test_requests_are_those_of_qdrants_client(
    require_module: Any, mode: str, id_field: str | None
) -> None:
    models = require_module("qdrant_client.http.models")
    given = {"index": "articles", "text_fields": "text", "vector_field": "embedding"}
    given |= {} if id_field is None else {"id_field": id_field}
    seen: list[Any] = []

    def handle(request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/collections/articles/points/query"
        seen.append(models.QueryRequest.model_validate_json(request.content))
        return httpx.Response(200, json={"result": {"points": []}, "status": "ok", "time": 0.001})

    settings = HttpSettings.model_validate({"engine": "qdrant", "url": "http://q.test", **given})
    source = HttpSource(settings, mode, transport=httpx.MockTransport(handle))
    (hits,) = source.ask([Query("q2", HOSTILE)], 2)
    source.close()
    assert hits.ids == []
    (request,) = seen
    assert request.limit == 2
    queries = [one.query for one in request.prefetch or [request]]
    texts = [one.text for one in queries if isinstance(one, models.Document)]
    assert texts == ([] if mode == "vector" else [HOSTILE])
    vectors = [one for one in queries if isinstance(one, list)]
    expected = TextEncoder().embed_queries([HOSTILE])
    assert np.allclose(vectors, expected) if vectors else mode == "lexical"
