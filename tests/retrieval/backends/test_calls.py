"""The call that the signature of a retrieval function decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from trectools_plus.errors import UsageError
from trectools_plus.retrieval.backends.python import Call, LoadedRetriever

GIVEN: list[Any] = []
"""What the last call was given."""


def record(*values: Any) -> list[str]:
    GIVEN[:] = values
    return ["d1"]


class Methods:
    def with_depth(self, query: str, k: int) -> list[str]:
        return record(query, k)

    def alone(self, query: str) -> list[str]:
        return record(query)

    def __call__(self, text: str, top_k: int = 10) -> list[str]:
        return record(text, top_k)


def index_first(index: str, query: str, k: int = 3) -> list[str]:
    return record(index, query, k)


def keywords_only(*, query: str, limit: int) -> list[str]:
    return record(query, limit)


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (lambda query: record(query), ["text"]),
        (lambda k: record(k), ["text"]),
        (lambda query, k: record(query, k), ["text", 7]),
        (lambda one, other: record(one, other), ["text", 7]),
        (lambda text, depth=5: record(text, depth), ["text", 7]),
        (lambda query, *, top_k=10: record(query, top_k), ["text", 7]),
        (lambda q, limit=10, filters=None: record(q, limit, filters), ["text", 7, None]),
        (lambda q, num_results=10: record(q, num_results), ["text", 7]),
        (lambda q, filters=None, n=10: record(q, filters, n), ["text", None, 7]),
        (lambda q, seed=42: record(q, seed), ["text", 42]),
        (lambda q, /, size=1: record(q, size), ["text", 7]),
        (lambda q, k, /: record(q, k), ["text", 7]),
        (lambda q, **named: record(q, named), ["text", {}]),
        (keywords_only, ["text", 7]),
        (partial(index_first, "i"), ["i", "text", 7]),
        (partial(index_first, index="i"), ["i", "text", 7]),
        (partial(index_first, "i", k=4), ["i", "text", 4]),
        (Methods().with_depth, ["text", 7]),
        (Methods().alone, ["text"]),
        (Methods(), ["text", 7]),
    ],
)
def test_the_signature_decides(function: Callable[..., Any], given: list[Any]) -> None:
    call = Call(function, "module:function")
    assert [call("text", 7), call("text", 7)] == [["d1"], ["d1"]]
    assert given == GIVEN


def test_builtins_have_no_signature() -> None:
    table = {"text": ["d1"]}
    for function in (table.get, table.__getitem__):
        assert Call(function, "table")("text", 7) == ["d1"]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: ["d1"], "takes no query — module:f"),
        (partial(keywords_only, query="x", limit=1), "takes no query"),
        (lambda query, index, model, k: [], "requires index, model, k beside the query"),
    ],
)
def test_other_functions_are_refused_in_one_line(function: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        Call(function, "module:f")
    assert "\n" not in str(refused.value)


class OneQuery:
    def search(self, query: str, k: int = 10) -> list[str]:
        return record(query, k)


class Typed:
    def search(self, what: str) -> dict[str, float]:
        return {record(what)[0]: 1.0}


class Listed:
    def search(self, queries: Sequence[str], depth: int) -> list[list[str]]:
        return [record(queries, depth)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [(OneQuery, ["text", 7]), (Typed, ["text"]), (Listed, [["text"], 7])],
)
def test_a_method_search_takes_a_query_or_a_list(given: Any, expected: list[Any]) -> None:
    assert LoadedRetriever(given()).search("text", 7)[0] == ["d1"]
    assert expected == GIVEN
