"""Fields of topics in requests to a service: known at the start, sent, and part of a journal."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import polars as pl
import pytest

from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Topics
from trectools_plus.retrieval.backends.http.mapping import HttpSettings
from trectools_plus.retrieval.backends.http.source import HttpBackend
from trectools_plus.retrieval.fetch.fetch import FetchRequest, fetch_runs
from trectools_plus.retrieval.fetch.topics import iter_queries

BODY = '{"q": "{query_text}", "acl": "{topic.acl}", "n": "{topic.n}"}'


def make_request(
    acl: list[Any], *, body: str = BODY, columns: tuple[str, ...] = ()
) -> FetchRequest:
    frame = pl.DataFrame({"query_id": ["q1", "q2"], "text": ["a", "b"], "acl": acl, "n": [1, None]})
    settings = HttpSettings.model_validate({"url": "http://127.0.0.1:9/", "body": body})
    return FetchRequest(None, Topics(frame.drop(columns)), ["dense"], backend=HttpBackend(settings))


def test_queries_have_the_fields_that_the_request_needs() -> None:
    request = make_request(["x", "y"])
    assert request.topic_fields == ["acl", "n"]
    queries = [*iter_queries(request.topics, request.topic_fields)]
    assert [query.fields for query in queries] == [{"acl": "x", "n": 1}, {"acl": "y", "n": None}]
    assert [query.fields for query in iter_queries(request.topics)] == [{}, {}]


def test_a_missing_field_is_refused_before_the_first_request() -> None:
    with pytest.raises(UsageError):
        fetch_runs(make_request(["x", "y"], columns=("acl",)))


def test_other_values_are_another_request() -> None:
    assert make_request(["x", "y"]).facts == make_request(["x", "y"]).facts
    assert make_request(["x", "y"]).facts != make_request(["x", "z"]).facts
    without = '{"q": "{query_text}"}'
    assert (
        make_request(["x"] * 2, body=without).facts == make_request(["z"] * 2, body=without).facts
    )


def test_the_command_sends_fields_of_topics(program: Any, tmp_path: Path) -> None:
    seen: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            content = b'{"ids": ["d1"]}'
            self.send_response(200)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    topics = tmp_path / "topics.jsonl"
    topics.write_text('{"query_id": "q1", "text": "a", "acl": "x", "n": "2"}\n')
    config = tmp_path / "bench.yaml"
    config.write_text(
        f"backend: http\nmodes: [dense]\ntopics: {topics}\nhttp:\n"
        f"  url: http://127.0.0.1:{server.server_port}/\n"
        f"  results: none\n  ids: $.ids[*]\n  scores: none\n  body: |\n    {BODY}\n"
    )
    done = program(
        [
            "trectools-plus",
            "runs",
            "fetch",
            "--config",
            str(config),
            "--output-dir",
            str(tmp_path / "out"),
        ],
        tmp_path,
    )
    server.shutdown()
    server.server_close()
    assert done.code == 0, done.stderr
    assert seen == [{"q": "a", "acl": "x", "n": "2"}]
