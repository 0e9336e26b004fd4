"""Fields of topics in requests to a service: known at the start, sent, and part of a journal."""

from __future__ import annotations

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
