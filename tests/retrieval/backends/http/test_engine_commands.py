"""Commands with ``--engine`` against a small search engine, which fails at first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from trectools_plus.cli.app import runs_app
from trectools_plus.errors import UsageError
from trectools_plus.retrieval.run_files import FetchManifest
from trectools_plus.validation.loading import load_run

DOCUMENTS = {"d1": "swept wing", "d2": "heat transfer", "d3": "wing flutter"}
PARTIAL = {"timed_out": True, "hits": {"total": {"value": 0}, "hits": []}}


def answer(body: Any) -> Any:
    """Rank by the number of common words, or by a vector whose numbers are not used."""
    if "knn" in body:
        assert all(isinstance(one, float) for one in body["knn"]["query_vector"])
        found = dict.fromkeys(DOCUMENTS, 1.0)
    else:
        words = set(body["query"]["multi_match"]["query"].split())
        counts = {doc: float(len(words & set(text.split()))) for doc, text in DOCUMENTS.items()}
        found = {doc: count for doc, count in counts.items() if count}
    hits = [
        {"_id": doc, "_score": score}
        for doc, score in sorted(found.items(), key=lambda pair: -pair[1])
    ]
    shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
    total = {"value": len(hits), "relation": "eq"}
    return {"timed_out": False, "_shards": shards, "hits": {"total": total, "hits": hits}}


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, Any]]:
    """The path, key and body of each request to an engine, whose first four answers are bad."""
    monkeypatch.setenv("ENGINE_KEY", "abcdefgh-secret")
    seen: list[tuple[str, str, Any]] = []
    bad = [PARTIAL, {"error": {"type": "x"}, "status": 503}, None, {"hits": {}}]

    def handle(_: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        seen.append((request.url.path, request.headers["authorization"], body))
        reply = bad.pop(0) if bad else answer(body)
        if reply is None:
            raise httpx.RemoteProtocolError("cut")
        return httpx.Response(200, json=reply)

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", handle)
    return seen


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "topics.tsv").write_text("q1\tswept wing\nq2\theat\nq3\tnothing here\n")
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\nq2 0 d2 1\nq3 0 d3 1\n")
    return tmp_path


def test_fetch_runs(requests: list[Any], data: Path) -> None:
    words = ["--topics", str(data / "topics.tsv"), "--engine", "elasticsearch"]
    words += ["--http-url", "http://engine.test/articles", "--http-key-env", "ENGINE_KEY"]
    words += ["--set", "http.text_fields=title,text", "--set", "http.vector_field=vector"]
    words += ["--set", "http.backoff=0", "--modes", "lexical,vector", "--depth", "2"]
    result = CliRunner().invoke(runs_app, ["fetch", *words, "--output-dir", str(data / "runs")])
    assert result.exit_code == 0, result.output
    run = load_run(data / "runs" / "lexical.run").frame
    assert dict(run.select("query_id", "doc_id").filter(run["rank"] == 1).iter_rows()) == {
        "q1": "d1",
        "q2": "d2",
    }
    path, key, body = requests[0]
    assert path == "/articles/_search"
    assert key == "ApiKey abcdefgh-secret"
    assert body["query"]["multi_match"]["fields"] == ["title", "text"]
    text = (data / "runs" / "vector.run.manifest.json").read_text()
    assert "abcdefgh-secret" not in text
    settings = FetchManifest.model_validate_json(text).backend_settings
    assert settings["query_vectors"]["vector"]["model"] == "l2_supercat"
    assert '"query_vector": "{query_vector}"' in settings["requests"]["vector"]["body"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--engine", "lucene", "--http-url", "http://a"], "or 'milvus' but got 'lucene'"),
        (["--engine", "vespa"], "the engine's URL is missing"),
        (["--engine", "qdrant", "--http-url", "http://a"], "http.index is missing"),
        (["--engine", "vespa", "--http-url", "http://u:p@a"], "password, token or key"),
        (["--engine", "vespa", "--http-url", "http://a?sig=abc"], "token or key"),
        (["--set", "http.index"], "--set http.index has no '='"),
        (["--set", "http.indx=a", "--http-url", "http://a"], "unknown setting 'http.indx'"),
    ],
)
def test_wrong_options(words: list[str], message: str, data: Path) -> None:
    given = ["fetch", "--topics", str(data / "topics.tsv"), *words, "--output-dir", str(data / "r")]
    result = CliRunner().invoke(runs_app, given)
    assert isinstance(result.exception, UsageError)
    assert message in str(result.exception)
    assert "abc" not in str(result.exception)
    assert "u:p" not in str(result.exception)
