"""The presets of search engines: their requests, and the answers that each engine documents."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import httpx
import pytest
from harness.tables import cases_of
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.benchmark.run.config_file import load_fetch_settings
from trectools_plus.errors import UsageError
from trectools_plus.retrieval.answering import answer_batch
from trectools_plus.retrieval.backends import http as source_module
from trectools_plus.retrieval.backends.http import HttpBackend, HttpSource
from trectools_plus.retrieval.backends.http_mapping import HttpSettings
from trectools_plus.retrieval.backends.http_templates import (
    escape_lucene,
    load_presets,
)
from trectools_plus.retrieval.backends.selection import default_modes
from trectools_plus.retrieval.index.encoder import TextEncoder
from trectools_plus.retrieval.source import Failure, FetchOptions, Hits, Query

HOSTILE = 'a "b" \\ {c} $d [e] f\'g\n\t\x01 AND NOT h:i* ~ ^ && || /j/ <k> {query_text} é𝄞'
QUERIES = [Query("q1", HOSTILE), Query("q2", "lung")]
PRESETS = load_presets()
MODES = [(name, mode) for name, preset in PRESETS.items() for mode in preset["modes"]]


def answers_of(engine: str, mode: str = "lexical") -> Any:
    """Return the answers of an engine in a mode, in the form that its documentation shows.

    They are: ``found`` with documents d1 and d2 and their ``scores``, ``nothing``, and by a text
    that the message must show, ``errors`` with status 200 and ``partial`` answers.
    """
    name = {"opensearch": "elasticsearch"}.get(engine, engine)
    own = ("weaviate", "typesense") if mode == "vector" else ()
    return cases_of(__file__, f"{name} {mode}" if name in own else name)


def settings_of(engine: str, **more: Any) -> HttpSettings:
    usual = {
        "url": "http://search.test",
        "index": "Article",
        "text_fields": ["title"],
        "vector_field": "embedding",
        "retries": 0,
    }
    return HttpSettings.model_validate({"engine": engine, **usual, **more})


def ask(
    settings: HttpSettings, mode: str, reply: Any, count: int = 1
) -> tuple[list[Hits | Failure], list[httpx.Request]]:
    """Search for the first queries; replies are JSON with status 200, one after the other."""
    seen: list[httpx.Request] = []
    replies: Iterator[Any] = iter(reply if isinstance(reply, list) else [reply] * 20)

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=next(replies))

    source = HttpSource(settings, mode, transport=httpx.MockTransport(handle))
    try:
        return source.ask(QUERIES[:count], 10), seen
    finally:
        source.close()


def body_of(request: httpx.Request) -> Any:
    return json.loads(request.content)


@cache
def encoder() -> TextEncoder:
    """Return the same encoder for every source, because loading its model is slow."""
    return TextEncoder()


@pytest.fixture(autouse=True)
def short_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut vectors to three numbers, so that requests can be compared."""
    embed = TextEncoder.embed_queries
    monkeypatch.setattr(source_module, "make_encoder", lambda _: encoder())
    monkeypatch.setattr(TextEncoder, "embed_queries", lambda self, texts: embed(self, texts)[:, :3])


@pytest.mark.parametrize(("engine", "mode"), MODES)
def test_documents_and_nothing(engine: str, mode: str) -> None:
    answers = answers_of(engine, mode)
    (hits,), _ = ask(settings_of(engine), mode, answers["found"])
    assert (hits.ids, hits.scores) == (["d1", "d2"], answers["scores"])
    (hits,), _ = ask(settings_of(engine), mode, answers["nothing"])
    assert hits.ids == []


@pytest.mark.parametrize(("engine", "mode"), MODES)
def test_errors_with_status_200_and_partial_answers_are_retried_failures(
    engine: str, mode: str
) -> None:
    answers = answers_of(engine, mode)
    assert answers["errors"]
    for shown, answer in {**answers["errors"], **answers["partial"]}.items():
        settings = settings_of(engine, retries=1, backoff=0)
        (failure,), sent = ask(settings, mode, answer)
        assert shown in failure.reason
        assert "\n" not in failure.reason
        assert len(sent) == 2
        (hits,), sent = ask(settings, mode, [answer, answers["found"]])
        assert isinstance(hits, Hits), hits
        assert hits.attempts == 2


@pytest.mark.parametrize(("engine", "mode"), MODES)
def test_the_number_of_results_found_is_read(engine: str, mode: str) -> None:
    """Other engines refuse more results than they return."""
    path = PRESETS[engine].get("total")
    assert (path is None) == (engine in ("qdrant", "weaviate", "milvus"))
    answer = json.loads(json.dumps(answers_of(engine, mode)["found"]))
    if path is not None:
        *steps, last = path.removeprefix("$.").split(".")
        place = answer["results"][0] if engine == "typesense" else answer
        for step in steps:
            place = place[step]
        place[last] = 900
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=answer))
    source = HttpSource(settings_of(engine), mode, transport=transport)
    (outcome,) = answer_batch(source, QUERIES[:1], FetchOptions(10)).values()
    assert outcome.ranking.doc_ids == ["d1", "d2"]
    assert outcome.cut_short == (path is not None)


RULES = [(name, path) for name, preset in PRESETS.items() for path in preset.get("incomplete", [])]


@pytest.mark.parametrize(("engine", "path"), RULES)
def test_every_rule_of_completeness_is_applied(engine: str, path: str) -> None:
    steps = [one or other for one, other in re.findall(r"\.(\w+)|\['([^']+)'\]", path)]
    answer = json.loads(json.dumps(answers_of(engine, "lexical")["found"]))
    place = answer["results"][0] if engine == "typesense" else answer
    for step in steps[:-1]:
        place = place.setdefault(step, {})
    complete, incomplete = (0, False, None, []), 2
    if path.startswith("!"):
        complete, incomplete = (True, None), False
    for value in (*complete, incomplete):
        place[steps[-1]] = value
        (reply,), _ = ask(settings_of(engine), "lexical", answer)
        is_complete = value is not incomplete
        assert isinstance(reply, Hits if is_complete else Failure), (value, reply)
    (reply,), _ = ask(settings_of(engine, incomplete=[]), "lexical", answer)
    assert isinstance(reply, Hits), reply


@pytest.mark.parametrize(("engine", "mode"), MODES)
def test_the_request_has_query_depth_and_fields(engine: str, mode: str) -> None:
    _, (request,) = ask(settings_of(engine), mode, answers_of(engine, mode)["found"])
    text = json.dumps(body_of(request), ensure_ascii=False)
    assert request.method == "POST"
    assert "10" in text
    vector = [float(str(one)) for one in encoder().embed_queries([HOSTILE])[0][:3]]
    assert (json.dumps(vector) in text) == (mode in ("vector", "hybrid"))
    if mode != "vector":
        assert "lung" not in text
        assert "title" in text
    assert ("embedding" in text) == (mode != "lexical" and engine != "weaviate")


def test_a_query_without_a_vector_finds_nothing() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise AssertionError("a request was sent")

    source = HttpSource(settings_of("qdrant"), "vector", transport=httpx.MockTransport(refuse))
    (hits,) = source.ask([Query("q", "")], 10)
    assert hits.ids == []


def unquote_graphql(text: str) -> str:
    """Return the value of the first string in a text, by the grammar of GraphQL."""
    match = re.search(r'"((?:[^"\\\n]|\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt]))*)"', text)
    assert match
    plain = dict(zip('"\\/bfnrt', '"\\/\b\f\n\r\t', strict=True))
    return re.sub(
        r"\\(?:u([0-9a-fA-F]{4})|(.))",
        lambda one: chr(int(one[1], 16)) if one[1] else plain[one[2]],
        match[1],
    )


TEXTS = st.text() | st.text("\"\\{}[]()'\n\r\t\x00 ANDORT:/*~^&|+-!?<>=$é")


@given(TEXTS)
def test_texts_are_escaped_for_the_syntax_of_lucene(text: str) -> None:
    escaped = escape_lucene(text)
    if escaped == '""':
        assert not re.sub(r"[<>\x00-\x1f\x7f]", " ", text).split()
        return
    # Read it as the query parser does: a backslash makes the next character part of a term.
    terms, special, row = "", "", 0
    while row < len(escaped):
        if escaped[row] == "\\":
            terms, row = terms + escaped[row + 1], row + 2
            continue
        special += escaped[row] if escaped[row] in '+-=&|!(){}[]^"~*?:\\/<>\n' else ""
        terms, row = terms + escaped[row], row + 1
    assert special == ""
    assert terms == " ".join(re.sub(r"[<>\x00-\x1f\x7f]", " ", text).split())
    assert not {"AND", "OR", "NOT", "TO"} & set(escaped.split())


@given(TEXTS)
def test_hostile_queries_stay_in_their_place(text: str) -> None:
    """A text in a nested language is read back as it was."""
    body = {
        "yql": 'select * from a where title contains "{query_text|json}" limit 3',
        "graphql": '{ Get { A(bm25: {query: "{query_text|json}"}) { id } } }',
        "inner": json.dumps({"q": "{query_text|json}"}),
    }
    (sent,) = fill(HttpSettings(url="http://a", body=json.dumps(body)), text)
    assert unquote_graphql(sent["yql"]) == text
    assert unquote_graphql(sent["graphql"]) == text
    assert json.loads(sent["inner"]) == {"q": text}
    assert sent["yql"].endswith('" limit 3')


def fill(settings: HttpSettings, *texts: str) -> list[Any]:

    template = settings.template()
    return [template.fill("m", Query("q", text), 3, [])["json"] for text in texts]


def test_presets_of_nested_languages_keep_hostile_queries() -> None:
    _, (request,) = ask(settings_of("weaviate"), "lexical", answers_of("weaviate")["found"])
    assert unquote_graphql(body_of(request)["query"]) == HOSTILE
    _, (request,) = ask(settings_of("solr"), "lexical", answers_of("solr")["found"])
    assert body_of(request)["query"] == escape_lucene(HOSTILE)
    _, (request,) = ask(settings_of("vespa"), "hybrid", answers_of("vespa")["found"])
    assert body_of(request)["query"] == HOSTILE
    assert body_of(request)["yql"] == (
        "select * from sources * where userQuery() or ({targetHits:10}nearestNeighbor(embedding,q))"
    )


@pytest.mark.parametrize(
    ("engine", "url", "expected"),
    [
        ("elasticsearch", "http://h/", "http://h/a%2Fb/_search"),
        ("elasticsearch", "http://h/proxy?routing=a", "http://h/proxy/a%2Fb/_search?routing=a"),
        ("vespa", "http://h", "http://h/search/"),
        ("solr", "http://h/solr", "http://h/solr/a%2Fb/select"),
        ("qdrant", "http://h", "http://h/collections/a%2Fb/points/query"),
    ],
)
def test_the_url_ends_before_the_path_of_the_engine(engine: str, url: str, expected: str) -> None:
    assert settings_of(engine, url=url, index="a/b").for_mode("vector").url == expected


def test_the_index_may_end_the_url() -> None:
    settings = settings_of("solr", url="http://h/solr/a%2Fb", index=None).for_mode("vector")
    assert settings.url == "http://h/solr/a%2Fb/select"


@pytest.mark.parametrize(
    ("engine", "answer"),
    cases_of(__file__, "ids from a field"),
)
def test_ids_from_a_field(engine: str, answer: Any) -> None:
    (hits,), (request,) = ask(settings_of(engine, id_field="meta.doc"), "vector", answer)
    assert hits.ids == ["7"]
    assert engine == "vespa" or "meta.doc" in request.content.decode()


@pytest.mark.parametrize(
    ("settings", "mode", "message"),
    [
        ({"vector_field": None}, "vector", "http.vector_field is missing"),
        ({"index": None}, "lexical", "http.index is missing"),
        ({"engine": "weaviate", "text_fields": []}, "lexical", "http.text_fields is missing"),
        ({"engine": "vespa"}, "splade", "unknown mode"),
    ],
)
def test_incomplete_settings_name_the_remedy(
    settings: dict[str, Any], mode: str, message: str
) -> None:
    given = settings_of(**{"engine": "elasticsearch", **settings})
    with pytest.raises(UsageError) as caught:
        HttpBackend.check_modes([mode], given)
    assert message in str(caught.value)


def test_modes_without_names_are_those_of_the_engine() -> None:
    given = {"engine": "elasticsearch", "url": "http://h", "index": "articles"}
    assert default_modes({}, given) == ["lexical"]
    assert default_modes({}, {**given, "vector_field": "v"}) == ["lexical", "vector", "hybrid"]
    own = {"url": "http://h?q={query_text}", "modes": {"bm25": {}, "dense": {}}}
    assert default_modes({}, own) == ["bm25", "dense"]
    assert default_modes({}, {"url": "http://h"}) == []


def test_modes_have_their_own_requests_and_inherit_the_rest() -> None:
    bodies = {
        name: json.dumps({name: "{query_text}", "mode": "{mode}"}) for name in ("bm25", "dense")
    }
    settings = HttpSettings(
        url="http://a/x",
        headers={"X-Team": "a"},
        results=None,
        ids="$.ids[*]",
        scores=None,
        modes={
            "bm25": {"body": bodies["bm25"]},
            "dense": {
                "body": bodies["dense"],
                "url": "http://b/y",
                "headers": {"X-More": "b"},
                "mode": "vector",
                "ids": "$.found[*]",
            },
        },
    )
    (hits,), (request,) = ask(settings, "bm25", {"ids": ["a"]})
    assert hits.ids == ["a"]
    assert body_of(request) == {"bm25": HOSTILE, "mode": "bm25"}
    (hits,), (request,) = ask(settings, "dense", {"found": ["b"]})
    assert hits.ids == ["b"]
    assert str(request.url) == "http://b/y"
    assert ("x-team" in request.headers, request.headers["x-more"]) == (False, "b")
    assert body_of(request) == {"dense": HOSTILE, "mode": "vector"}
    with pytest.raises(UsageError, match="other"):
        HttpBackend.check_modes(["other"], settings)


def test_a_mode_can_use_another_preset() -> None:
    settings = settings_of(
        "elasticsearch",
        modes={"titles": {"mode": "lexical", "text_fields": "title"}, "lexical": {}},
        text_fields="title,text",
    )
    for mode, fields in (
        ("titles", ["title"]),
        ("lexical", ["title", "text"]),
        ("bm25", ["title", "text"]),
    ):
        _, (request,) = ask(settings, mode, answers_of("elasticsearch")["found"])
        assert body_of(request)["query"]["multi_match"]["fields"] == fields
    own = settings_of("elasticsearch", modes={"mine": {"body": '{"q": "{query_text}"}'}})
    (hits,), (request,) = ask(own, "mine", answers_of("elasticsearch")["found"])
    assert isinstance(hits, Hits)
    assert body_of(request) == {"q": HOSTILE}


@pytest.mark.parametrize(
    "own",
    cases_of(__file__, "types in modes"),
)
def test_wrong_types_in_modes_are_reported(own: dict[str, Any]) -> None:
    http = {"engine": "elasticsearch", "url": "http://h/a", "modes": {"lexical": own}}
    with pytest.raises(UsageError):
        load_fetch_settings(None, {"http": http})  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("mode", "message"),
    cases_of(__file__, "wrong modes"),
)
def test_modes_are_checked_like_other_settings(mode: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        load_fetch_settings(
            None,
            {"http": {"url": "http://a?q={query_text}", "modes": {"x": mode}}},  # type: ignore[dict-item]
        )
    assert "u:p" not in str(caught.value)
    assert "abc" not in str(caught.value)
