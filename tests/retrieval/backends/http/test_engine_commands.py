"""Commands with ``--engine`` against a small search engine over HTTP, which fails at first."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from trectools_plus.cli.app import runs_app
from trectools_plus.errors import UsageError
from trectools_plus.retrieval.run_files import FetchManifest
from trectools_plus.validation.loading import load_run

DOCUMENTS = {"d1": "swept wing", "d2": "heat transfer", "d3": "wing flutter"}
PARTIAL = {"timed_out": True, "hits": {"total": {"value": 0}, "hits": []}}


class Engine:
    """A server with one index in the form of Elasticsearch.

    Attributes:
        url: Its address.
        requests: The path, key and bodies of each request.
        broken: Replies to the first requests: JSON, or bytes that are cut after the headers.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, str | None, list[Any]]] = []
        self.broken: list[Any] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def handler(self) -> type[BaseHTTPRequestHandler]:
        engine = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: Any) -> None:
                """Print nothing."""

            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["content-length"])).decode()
                lines = [json.loads(line) for line in content.split("\n") if line]
                engine.requests.append((self.path, self.headers["authorization"], lines))
                reply = engine.broken.pop(0) if engine.broken else answer(lines[0])
                content = reply if isinstance(reply, str) else json.dumps(reply)
                length = len(content) + (100 if isinstance(reply, str) else 0)
                self.send_response(200)
                self.send_header("content-length", str(length))
                self.end_headers()
                self.wfile.write(content.encode())

        return Handler


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
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("ENGINE_KEY", "abcdefgh-secret")
    running = Engine()
    thread = threading.Thread(target=running.server.serve_forever, args=[0.01], daemon=True)
    thread.start()
    yield running
    running.server.shutdown()
    running.server.server_close()
    thread.join()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "topics.tsv").write_text("q1\tswept wing\nq2\theat\nq3\tnothing here\n")
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\nq2 0 d2 1\nq3 0 d3 1\n")
    return tmp_path


def test_fetch_runs(engine: Engine, data: Path) -> None:
    cut = json.dumps({"hits": {"hits": []}})
    engine.broken = [PARTIAL, {"error": {"type": "x"}, "status": 503}, cut, {"hits": {}}]
    words = ["--topics", str(data / "topics.tsv"), "--engine", "elasticsearch"]
    words += ["--http-url", f"{engine.url}/articles", "--http-key-env", "ENGINE_KEY"]
    words += ["--set", "http.text_fields=title,text", "--set", "http.vector_field=vector"]
    words += ["--set", "http.backoff=0", "--modes", "lexical,vector", "--depth", "2"]
    result = CliRunner().invoke(runs_app, ["fetch", *words, "--output-dir", str(data / "runs")])
    assert result.exit_code == 0, result.output
    run = load_run(data / "runs" / "lexical.run").frame
    assert dict(run.select("query_id", "doc_id").filter(run["rank"] == 1).iter_rows()) == {
        "q1": "d1",
        "q2": "d2",
    }
    path, key, bodies = engine.requests[0]
    assert path == "/articles/_search"
    assert key == "ApiKey abcdefgh-secret"
    assert bodies[-1]["query"]["multi_match"]["fields"] == ["title", "text"]
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
