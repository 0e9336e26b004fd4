"""Services of other shapes than the default one, by settings alone; and what settings refuse."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from trectools_plus.benchmark.config_file import load_fetch_settings
from trectools_plus.errors import UsageError
from trectools_plus.retrieval.backends.base import Failure, Hits, Query
from trectools_plus.retrieval.backends.http import HttpSource
from trectools_plus.retrieval.backends.http_answers import AnswerError, read_answer
from trectools_plus.retrieval.backends.http_settings import HttpSettings

URL = "http://search.test/api"
QUERIES = [Query("q1", 'heart "rate"'), Query("q2", "lung {top_k}\né")]


def ask(
    settings: dict[str, Any], reply: Callable[[httpx.Request], httpx.Response] | Any, depth: int = 3
) -> tuple[list[Hits | Failure], httpx.Request]:
    """Ask for the first query; a reply that is no function is JSON."""
    seen: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return reply(request) if callable(reply) else httpx.Response(200, json=reply)

    full = HttpSettings.model_validate({"url": URL, "retries": 0, **settings})
    source = HttpSource(full, "dense", transport=httpx.MockTransport(handle))
    try:
        return source.ask(QUERIES[: full.batch_size], depth), seen[0]
    finally:
        source.close()


def test_the_default_request_is_the_documented_one() -> None:
    reply = {"results": [{"query_id": "q1", "segments": []}]}
    (hits,), request = ask({}, reply)
    assert isinstance(hits, Hits)
    assert (request.method, request.url) == ("POST", URL)
    query = {"query_id": "q1", "query_text": 'heart "rate"', "top_k": 3}
    assert json.loads(request.content) == {"mode": "dense", "queries": [query]}
    assert "x-api-key" not in request.headers


def test_a_batch_has_an_item_per_query_and_texts_are_no_templates() -> None:
    reply = {"results": [{"query_id": one.query_id, "segments": []} for one in QUERIES]}
    _, request = ask({"batch_size": 2}, reply)
    texts = [one["query_text"] for one in json.loads(request.content)["queries"]]
    assert texts == [one.text for one in QUERIES]


def test_a_search_engine_with_hits_and_sources() -> None:
    body = '{"size": "{top_k}", "exact": true, "query": {"match": {"text": "{query_text}"}}}'
    settings = {"body": body, "results": None, "ids": "$.hits.hits[*]._id"}
    settings |= {"scores": "$.hits.hits[*]._score", "diagnostics": "$.took"}
    reply = {"took": 5, "hits": {"hits": [{"_id": 7, "_score": 2}, {"_id": "d1", "_score": 1.5}]}}
    (hits,), request = ask(settings, reply)
    assert hits == Hits(["7", "d1"], [2.0, 1.5], hits.latency_ms, 1, 5)
    assert json.loads(request.content)["size"] == 3
    assert json.loads(request.content)["exact"] is True


def test_a_vector_database_with_parallel_lists_of_distances() -> None:
    settings = {"body": '{"texts": ["{query_text}"], "n": "{top_k}"}', "results": "$.ids[*]"}
    settings = {**settings, "results": None, "ids": "$.ids[0][*]", "scores": "$.distances[0][*]"}
    reply = {"ids": [["a", "b"]], "distances": [[0.1, 0.4]]}
    (hits,), _ = ask({**settings, "higher_is_better": False}, reply)
    assert isinstance(hits, Hits)
    assert (hits.ids, hits.scores) == (["a", "b"], [-0.1, -0.4])


def test_get_with_a_query_string() -> None:
    settings = {"method": "GET", "url": f"{URL}/{{mode}}", "params": {"q": "{query_text}"}}
    settings |= {"results": None, "ids": "$[*]", "scores": None}
    (hits,), request = ask(settings, ["d1", "d2"])
    assert isinstance(hits, Hits)
    assert (hits.ids, hits.scores) == (["d1", "d2"], None)
    assert request.url.path == "/api/dense"
    assert request.url.params["q"] == 'heart "rate"'
    assert request.content == b""


ENTRY = {"query_id": "q1", "segments": [{"segment_id": "a", "score": 1}]}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({}, "the answer has no entry for query q1"),
        ([], "the answer has no entry for query q1"),
        ({"results": [ENTRY, ENTRY]}, "the answer has 2 entries for query q1"),
        ({"results": [{**ENTRY, "segments": [{"segment_id": "a"}]}]}, "1 ids .* and 0 scores"),
        (
            {"results": [{**ENTRY, "segments": [{"segment_id": "a"}, {"score": 2}]}]},
            "do not stand side by side",
        ),
        (
            {"results": [{**ENTRY, "segments": [{"segment_id": None, "score": 1}]}]},
            "expected an id at .* but got null",
        ),
        (
            {"results": [{**ENTRY, "segments": [{"segment_id": "a", "score": "1"}]}]},
            "expected a score at .* but got text",
        ),
        (lambda _: httpx.Response(200, text="<html>"), "the answer is no JSON: <html>"),
        (lambda _: httpx.Response(200, text='{"a": NaN}'), "the answer is no JSON"),
        (lambda _: httpx.Response(200, text="[" * 100_000), "the answer is no JSON"),
        (lambda _: httpx.Response(302, headers={"location": "http://b"}), "HTTP 302 Found"),
        (
            lambda _: httpx.Response(
                200, content=b"no gzip at all", headers={"content-encoding": "gzip"}
            ),
            "the answer cannot be read",
        ),
    ],
)
def test_answers_that_are_none(reply: Any, reason: str) -> None:
    (failure,), _ = ask({}, reply)
    assert isinstance(failure, Failure)
    assert re.search(reason, failure.reason), failure.reason
    assert "\n" not in failure.reason


def test_too_large_an_answer_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trectools_plus.retrieval.backends.http.LARGEST_ANSWER", 2**20)
    (failure,), _ = ask({}, lambda _: httpx.Response(200, content=b" " * (2**20 + 1)))
    assert isinstance(failure, Failure)
    assert "larger than 1 MiB" in failure.reason


def test_entries_by_position() -> None:
    settings = HttpSettings.model_validate({"url": URL, "query_id": None})
    first, second = read_answer({"results": [ENTRY, ENTRY]}, QUERIES, settings)
    assert first == second
    with pytest.raises(AnswerError, match=r"1 entries .* for 2 queries"):
        read_answer({"results": [ENTRY]}, QUERIES, settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"url": "search.test"}, "expected a URL"),
        ({"url": "http://user:pass@a"}, "holds a user or password"),
        ({"url": "http://a?api_key=abc&q={query_text}"}, "'api_key' looks like the place"),
        ({"headers": {"Authorization": "Bearer abc"}}, "'Authorization' looks like"),
        ({"params": {"token": "abc"}}, "'token' looks like the place of a secret"),
        ({"body": '{"q": "{query_text}", "password": "abc"}'}, "'password' looks like"),
        ({"key_env": "sk-abc/123"}, "expected the name of an environment variable"),
        ({"body": "{query_text}"}, "no valid JSON"),
        ({"body": {"q": "{query_text}"}}, "expected the body as JSON text"),
        ({"body": '{"q": "x"}'}, "the query is sent nowhere"),
        ({"ids": "$.a["}, r"'\$.a\[' is no JSONPath"),
        ({"ids": "segments"}, r"does not begin with \$"),
        ({"batch_size": 2, "results": None}, "an entry per query"),
        ({"batch_size": 2, "body": '{"q": "{query_text}"}'}, "a batch needs one list"),
        ({"method": "GET"}, "the query is sent nowhere"),
        ({"method": "DELETE"}, "method"),
        ({"headers": {"a b": "c"}}, "'a b' is no name of a header"),
        ({"timeout": 0}, "timeout"),
    ],
)
def test_settings_that_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        HttpSettings.model_validate({"url": URL, **settings})
    with pytest.raises(UsageError) as caught:
        load_fetch_settings(None, {"http": {"url": URL, **settings}})
    # What may be a secret is not shown.
    assert "abc" not in str(caught.value)
    assert "pass@" not in str(caught.value)


def test_settings_from_yaml_texts() -> None:
    texts = {"url": URL, "retries": "3", "timeout": "2.5", "higher_is_better": "false"}
    settings = HttpSettings.model_validate({**texts, "scores": "none", "headers": {"X-Team": "a"}})
    assert (settings.retries, settings.timeout, settings.scores) == (3, 2.5, None)
    assert HttpSettings.model_validate(settings.model_dump(mode="json")) == settings


def test_facts_leave_out_what_only_shapes_the_speed() -> None:
    slow = HttpSettings.model_validate({"url": URL, "concurrency": 1, "retries": 9, "key_env": "K"})
    assert slow.facts == HttpSettings.model_validate({"url": URL}).facts
    other = HttpSettings.model_validate({"url": URL, "ids": "$.segments[*].id"})
    assert other.facts != slow.facts
