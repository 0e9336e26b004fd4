"""Services of other shapes than the default one, by settings alone; and what settings refuse."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import httpx
import pytest
from harness.tables import cases_of
from pydantic import ValidationError

from trectools_plus.benchmark.run.config_file import load_fetch_settings
from trectools_plus.errors import UsageError
from trectools_plus.retrieval.backends.http import HttpSource
from trectools_plus.retrieval.backends.http_mapping import HttpSettings
from trectools_plus.retrieval.source import Failure, Hits, Query

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
        return source.ask(QUERIES[:1], depth), seen[0]
    finally:
        source.close()


def test_the_default_request_is_the_documented_one() -> None:
    (hits,), request = ask({}, {"results": [{"query_id": "q1", "segments": []}]})
    assert isinstance(hits, Hits)
    assert (request.method, request.url) == ("POST", URL)
    query = {"query_id": "q1", "query_text": 'heart "rate"', "top_k": 3}
    assert json.loads(request.content) == {"mode": "dense", "queries": [query]}
    assert "x-api-key" not in request.headers


def test_a_vector_database_with_parallel_lists_of_distances() -> None:
    settings = {"body": '{"texts": ["{query_text}"], "n": "{top_k}"}', "results": "$.ids[*]"}
    settings = {**settings, "results": None, "ids": "$.ids[0][*]", "scores": "$.distances[0][*]"}
    reply = {"ids": [["a", "b"]], "distances": [[0.1, 0.4]]}
    (hits,), _ = ask({**settings, "higher_is_better": False}, reply)
    assert (hits.ids, hits.scores) == (["a", "b"], [-0.1, -0.4])


@pytest.mark.parametrize(
    ("ids", "scores", "answer", "found"),
    cases_of(__file__, "side"),
)
def test_ids_and_scores_stand_side_by_side(
    ids: str, scores: str, answer: Any, found: list[str] | None
) -> None:
    (reply,), _ = ask({"results": None, "ids": ids, "scores": scores}, answer)
    if found is None:
        assert isinstance(reply, Failure)
    else:
        assert reply.ids == found


def test_get_with_a_query_string() -> None:
    url = f"{URL}/{{mode}}?index=a&size={{top_k}}&q={{query_text}}"
    settings = {"url": url, "body": "none", "results": None, "ids": "$[*]", "scores": None}
    (hits,), request = ask(settings, ["d1", "d2"])
    assert (hits.ids, hits.scores) == (["d1", "d2"], None)
    assert (request.url.path, request.content) == ("/api/dense", b"")
    assert dict(request.url.params) == {"index": "a", "size": "3", "q": 'heart "rate"'}


def test_a_number_of_tokens_is_no_secret() -> None:
    body = {"q": "{query_text}", "max_tokens": 9, "tokenizer": "standard"}
    reply = {"results": [{"query_id": "q1", "segments": []}]}
    _, request = ask({"body": json.dumps(body)}, reply)
    assert json.loads(request.content)["max_tokens"] == 9


def test_too_long_a_url_is_a_failure_of_its_query() -> None:
    url = f"{URL}?{'a' * 65_000}={'{query_text}' * 100}"
    full = HttpSettings.model_validate({"url": url, "body": None})
    source = HttpSource(full, "dense", transport=httpx.MockTransport(lambda _: httpx.Response(500)))
    (failure,) = source.ask(QUERIES[:1], 3)
    assert "the request cannot be sent: URL" in failure.reason
    assert not failure.stops


@pytest.mark.parametrize(
    ("variable", "value", "remedy"),
    [
        ("ALL_PROXY", "socks5://user:hidden@127.0.0.1:9", "httpx.socks"),
        ("HTTPS_PROXY", "user:hidden:8080", "correct the variable, or unset it"),
        ("SSL_CERT_FILE", "/no/such/hidden.pem", "correct the variable, or unset it"),
    ],
)
def test_an_unusable_environment_is_reported(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, remedy: str
) -> None:
    if variable == "ALL_PROXY" and find_spec("socksio"):
        pytest.skip("httpx can use this proxy")
    monkeypatch.setenv(variable, value)
    with pytest.raises(UsageError, match=remedy) as caught:
        HttpSource(HttpSettings.model_validate({"url": URL}), "dense")
    assert variable in str(caught.value)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        *cases_of(__file__, "answers"),
        (lambda _: httpx.Response(200, text="<html>"), "the answer is no JSON: <html>"),
        (lambda _: httpx.Response(200, text='{"a": NaN}'), "the answer is no JSON"),
        (lambda _: httpx.Response(200, text="[" * 100_000), "the answer is no JSON"),
        (
            lambda _: httpx.Response(302, headers={"location": "http://b"}),
            "HTTP 302 Found: redirects are not followed, to http://b",
        ),
        (lambda _: httpx.Response(304), "HTTP 304 Not Modified"),
        (lambda _: httpx.Response(204), "the answer is empty"),
        (lambda _: httpx.Response(206, json={}), "HTTP 206 Partial Content"),
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
    assert re.search(reason, failure.reason), failure.reason
    assert "\n" not in failure.reason


ENGINE = {"results": None, "ids": "$.hits.hits[*]._id", "scores": None}
ONE_HIT = {"hits": {"hits": [{"_id": "d1"}]}}
NO_HIT = {"hits": {"hits": []}}


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        *cases_of(__file__, "errors"),
        *(
            ({**hits, **more}, "reports an error")
            for hits in (NO_HIT, ONE_HIT)
            for more in cases_of(__file__, "signs")
        ),
    ],
)
def test_an_error_with_status_200_is_no_answer(answer: Any, shown: str) -> None:
    (failure,), _ = ask(ENGINE, lambda _: httpx.Response(200, text=json.dumps(answer)))
    assert shown in failure.reason
    assert "\n" not in failure.reason


def test_the_paths_of_errors_can_be_declared() -> None:
    for errors, kind in ((["state"], Failure), (["!state"], Hits), ([], Hits)):
        (outcome,), _ = ask(
            {**ENGINE, "errors": errors}, {**ONE_HIT, "error": "none of these", "state": "busy"}
        )
        assert isinstance(outcome, kind)


@pytest.mark.parametrize(
    "more",
    cases_of(__file__, "further"),
)
def test_an_empty_list_is_nothing_found(more: dict[str, Any]) -> None:
    for answer, ids in ((NO_HIT, []), (ONE_HIT, ["d1"])):
        (hits,), _ = ask(ENGINE, {**answer, **more})
        assert hits.ids == ids


@pytest.mark.parametrize(
    ("ids", "empty", "missing"),
    cases_of(__file__, "shapes"),
)
def test_nothing_found_in_other_shapes(ids: str, empty: Any, missing: Any) -> None:
    settings = {"results": None, "ids": ids, "scores": None}
    (hits,), _ = ask(settings, empty)
    assert hits.ids == []
    (failure,), _ = ask(settings, missing)
    assert isinstance(failure, Failure), failure


def test_documents_may_have_members_of_any_name() -> None:
    hit = {"_id": "d1", "error": "wrong dose", "status": "error", "timed_out": True}
    (hits,), _ = ask(ENGINE, {"hits": {"hits": [hit]}})
    assert isinstance(hits, Hits)


@pytest.mark.parametrize(
    "bad",
    [
        {"json": {"error": "overloaded"}},
        {"json": {"message": "rate limit"}},
        {"text": '{"hits": {"hits": [{"_id": "d'},
        {"text": "<html>starting</html>"},
        {},
        {"content": b"no gzip at all", "headers": {"content-encoding": "gzip"}},
    ],
)
def test_invalid_answers_are_requested_again(bad: dict[str, Any]) -> None:
    sent: list[int] = []

    def reply(request: httpx.Request) -> httpx.Response:
        sent.append(1)
        return httpx.Response(200, **(bad if len(sent) < 3 else {"json": ONE_HIT}))

    (hits,), _ = ask({**ENGINE, "retries": 2, "backoff": 0}, reply)
    assert (hits.ids, hits.attempts) == (["d1"], 3)
    sent.clear()
    (failure,), _ = ask({**ENGINE, "retries": 1, "backoff": 0}, reply)
    assert failure.lasting
    assert failure.reason.endswith("(2 attempts)")


def test_the_mapping_of_a_document_is_requested_once() -> None:
    sent: list[int] = []

    def reply(request: httpx.Request) -> httpx.Response:
        sent.append(1)
        return httpx.Response(200, json={"hits": {"hits": [{"_id": None}]}})

    ask({**ENGINE, "retries": 2, "backoff": 0}, reply)
    assert len(sent) == 1


@pytest.mark.parametrize(
    ("score", "value"),
    [("12.5", 12.5), ("-3", -3), ("1e-3", 0.001), ("+.5", 0.5), (" 1", None), ("", None)]
    + [(one, None) for one in ("nan", "inf", "-Infinity", "1_000", "1,5", "0x10", "१", "1e999")],
)
def test_scores_may_be_texts_of_numbers(score: str, value: float | None) -> None:
    reply = {"results": [{"query_id": "q1", "segments": [{"segment_id": "a", "score": score}]}]}
    (found,), _ = ask({}, reply)
    if value is None:
        assert "expected a score at $.segments[*].score" in found.reason
    else:
        assert found.scores == [value]


def test_a_wait_above_the_limit_fails_the_query() -> None:
    reply = httpx.Response(503, headers={"retry-after": " 150 "})
    (failure,), _ = ask({"retries": 5}, lambda _: reply)
    assert "it asks to wait 150 s, more than 120" in failure.reason
    assert (failure.attempts, failure.stops) == (1, True)


def test_too_large_an_answer_is_not_read_to_its_end() -> None:
    chunks = iter([b" " * 2**20] * 70)
    (failure,), _ = ask({}, lambda _: httpx.Response(200, content=chunks))
    assert "larger than 64 MiB" in failure.reason
    assert len(list(chunks)) == 5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        *cases_of(__file__, "refused"),
        ({"errors": ["!a b"]}, "is not a path"),
        *(({"ids": path}, "is not a path") for path in ("$.a[", "$..id", "$.a.*", "$.a[?@.b]")),
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
    assert HttpSettings(url=URL, ids="$.segments[*].id").facts != slow.facts


COUNTED = {
    "results": None,
    "ids": "$.result.docs[*].id",
    "scores": None,
    "total": "$.result.count",
    "incomplete": "$.result.part,$.warnings[*],!$.shards.all",
}


@pytest.mark.parametrize(
    ("answer", "found"),
    cases_of(__file__, "urls"),
)
def test_total_and_incomplete(answer: Any, found: list[str] | None) -> None:
    (reply,), _ = ask(COUNTED, answer)
    assert isinstance(reply, Failure if found is None else Hits), reply
    if isinstance(reply, Hits):
        assert reply.ids == found


@pytest.mark.parametrize(
    "settings",
    [
        {"body": '{"q": "{query_text}", "acl": "{filter}"}'},
        {"body": '{"q": "{query_text}", "{tenant}": 1}'},
        {"body": '{"q": "{query_text}", "rules": [{"user": "id:{user}"}]}'},
        {"body": '{"q": "{query_text|sql}"}'},
        {"body": '{"q": "{query_text}", "n": "{topk}"}'},
        {"body": '{"q": "{query_text}", "n": "{topic}"}'},
        {"url": f"{URL}/{{index}}/search"},
        {"headers": {"X-Tenant": "{tenant}"}},
        {"headers": {"X-Query": "{query_id}"}},
    ],
)
def test_unknown_placeholders_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        HttpSettings.model_validate({"url": URL, **settings})


@pytest.mark.parametrize("text", ["{ id }", "{{filter}}", "{!bool should=$a}", "{}", "{1,2}"])
def test_other_braces_are_sent_as_they_are(text: str) -> None:
    body = json.dumps({"q": "{query_text}", "other": text})
    _, request = ask({"body": body, "results": None, "ids": "$.ids[*]"}, {"ids": []})
    assert json.loads(request.content)["other"] == text


def test_placeholders_in_names_are_replaced() -> None:
    settings = {"body": '{"{mode}": "{query_text}"}'}
    _, request = ask({**settings, "results": None, "ids": "$.ids[*]"}, {"ids": []})
    assert json.loads(request.content) == {"dense": 'heart "rate"'}
