"""Chunks to documents, against Polars, and deep enough whatever the chunks are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.retrieval.answering import (
    Answer,
    answer_batch,
    collapse_chunks,
)
from trectools_plus.retrieval.source import Collapse, Failure, FetchOptions, Hits, Query, Source

CHUNKS = st.lists(
    st.tuples(st.integers(0, 9), st.floats(-100, 100, allow_nan=False, width=32)), max_size=120
)


class Listed(Source):
    """A source that holds one list of chunks, best first."""

    batch_size = 10

    def __init__(self, ids: Sequence[str], scores: Sequence[float] | None) -> None:
        self.ids, self.scores = ids, scores
        self.depths: list[int] = []

    def ask(self, queries: Sequence[Query], depth: int) -> list[Hits | Failure]:
        self.depths.append(depth)
        scores = None if self.scores is None else self.scores[:depth]
        return [Hits(self.ids[:depth], scores, 1.0) for _ in queries]


def ask(source: Listed, wanted: FetchOptions, query_id: str = "q") -> Answer | Failure:
    return answer_batch(source, [Query(query_id, "text")], wanted)[query_id]


@pytest.mark.parametrize("method", ["max", "first", "sum"])
@given(chunks=CHUNKS)
def test_scores_are_those_of_a_group_by(
    method: Literal["max", "first", "sum"], chunks: list[tuple[int, float]]
) -> None:
    ids = [f"d{doc}#{place}" for place, (doc, _) in enumerate(chunks)]
    scores = [score for _, score in chunks]
    found = collapse_chunks(ids, scores, Collapse(method=method, separator="#"))
    frame = pl.DataFrame(
        {"doc": [f"d{doc}" for doc, _ in chunks], "score": scores},
        schema={"doc": pl.String, "score": pl.Float64},
    )
    grouped = frame.group_by("doc", maintain_order=True).agg(getattr(pl.col("score"), method)())
    expected = dict(grouped.iter_rows())
    assert list(found) == list(expected)
    assert found == pytest.approx(expected)


@given(chunks=CHUNKS, depth=st.integers(1, 12), exclude=st.booleans())
def test_searches_until_there_are_enough_documents(
    chunks: list[tuple[int, float]], depth: int, exclude: bool
) -> None:
    chunks = sorted(chunks, key=lambda chunk: (-chunk[1], -chunk[0]))
    ids = [f"d{doc}#{place}" for place, (doc, _) in enumerate(chunks)]
    source = Listed(ids, [score for _, score in chunks])
    collapse = Collapse(separator="#", max_chunks=1000)
    outcome = ask(source, FetchOptions(depth, exclude, collapse), "d3")
    there = {f"d{doc}" for doc, _ in chunks} - ({"d3"} if exclude else set())
    assert len(outcome.ranking) == min(depth, len(there))
    assert not outcome.cut_short
    best = {doc: max(s for d, s in chunks if d == doc) for doc, _ in chunks}
    wanted = sorted(((s, f"d{d}") for d, s in best.items() if f"d{d}" in there), reverse=True)
    assert outcome.ranking.doc_ids == [doc for _, doc in wanted[:depth]]
    assert source.depths == [(depth + exclude) * 2**step for step in range(len(source.depths))]


def test_one_document_of_many_chunks_is_bounded() -> None:
    source = Listed([f"d#{n}" for n in range(10_000)], None)
    outcome = ask(source, FetchOptions(5, collapse=Collapse(separator="#")))
    assert (outcome.ranking.doc_ids, outcome.cut_short) == (["d"], True)
    assert source.depths == [5, 10, 20, 40, 80]


def test_the_last_separator_counts() -> None:
    ids, scores = ["a#b#3", "plain"], [2.0, 1.0]
    assert collapse_chunks(ids, scores, Collapse(separator="#")) == {"a#b": 2, "plain": 1}
    assert collapse_chunks(ids, scores, Collapse()) == {"a#b#3": 2, "plain": 1}


@pytest.mark.parametrize(
    ("ids", "scores", "collapse", "reason"),
    [
        (["a", "b", "a"], [3, 2, 1], None, "document id 'a' comes twice"),
        (["a b"], [1], None, "'a b' cannot be written"),
        ([""], [1], None, "cannot be written"),
        (["#1"], [1], Collapse(separator="#"), "cannot be written"),
        (["\ud800"], [1], None, "cannot be written"),
        (["a"], [float("nan")], None, "score nan"),
        (["a"], [float("inf")], None, "score inf"),
        (["a"], [1e300], None, "score 1e+300"),
        (["a", "a"], [3e38, 3e38], Collapse(method="sum"), "score 6e+38"),
        (["a"], None, Collapse(method="sum"), "no scores to sum"),
    ],
)
def test_unusable_answers_are_failures(
    ids: list[str], scores: list[float] | None, collapse: Collapse | None, reason: str
) -> None:
    assert reason in ask(Listed(ids, scores), FetchOptions(5, collapse=collapse)).reason


def test_ties_are_in_canonical_order() -> None:
    outcome = ask(Listed(["a", "c", "b"], [1.0, 1.0, 2.0]), FetchOptions(5))
    assert outcome.ranking.doc_ids == ["b", "c", "a"]
