"""Scores without ties: the same ranking, strictly descending, with minimal changes."""

from __future__ import annotations

from random import Random

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.formats.ranking import rank_documents, separate_ties
from trectools_plus.formats.tables import Run
from trectools_plus.measures.judged import first_documents

SCORES = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-9, -2.5, 1e-45, -1e-45]),
    st.floats(allow_nan=False, allow_infinity=False),
)
RUNS = st.dictionaries(
    st.sampled_from(["q1", "q2", "é"]),
    st.dictionaries(st.text("abzé", min_size=1, max_size=3), SCORES, min_size=1, max_size=12),
    min_size=1,
)


@given(RUNS)
def test_the_ranking_stays_and_no_two_scores_are_equal(scores: dict[str, dict[str, float]]) -> None:
    run = Run.from_dict(scores)
    separated = separate_ties(run.frame)
    before, after = rank_documents(run.frame), rank_documents(separated)
    columns = ["query_id", "doc_id", "rank"]
    assert before.select(columns).equals(after.select(columns))
    for _, rows in after.group_by("query_id", maintain_order=True):
        column = rows["score"].to_numpy().astype(np.float32)
        assert (column[1:] < column[:-1]).all()
    assert separate_ties(separated).equals(separated)


def test_ties_move_by_single_steps_and_other_scores_not_at_all() -> None:
    run = Run.from_dict({"q": {"c": 1.0, "b": 1.0, "a": 1.0, "x": 0.5}})
    down = np.nextafter(np.float32(1), np.float32(0))
    assert separate_ties(run.frame)["score"].to_list() == [
        1.0,
        float(down),
        float(np.nextafter(down, np.float32(0))),
        0.5,
    ]


@given(RUNS, st.randoms(use_true_random=False), st.integers(1, 4))
def test_first_documents_are_those_of_the_ranking(
    scores: dict[str, dict[str, float]], random: Random, depth: int
) -> None:
    rows = [(query, doc) for query, documents in scores.items() for doc in documents]
    random.shuffle(rows)  # queries may be interleaved
    run = Run(
        pl.DataFrame(
            {
                "query_id": [query for query, _ in rows],
                "doc_id": [doc for _, doc in rows],
                "score": [scores[query][doc] for query, doc in rows],
            }
        )
    )
    expected = rank_documents(run.frame).filter(pl.col("rank") <= depth)
    assert first_documents(run, depth).equals(expected.select("query_id", "doc_id", "rank"))


@given(RUNS)
def test_order_is_that_of_a_plain_sort(scores: dict[str, dict[str, float]]) -> None:
    with np.errstate(over="ignore"):
        expected = [
            (query_id, doc_id, rank)
            for query_id, documents in scores.items()
            for rank, doc_id in enumerate(
                sorted(
                    documents,
                    key=lambda doc_id: (np.float32(documents[doc_id]), doc_id.encode()),
                    reverse=True,
                ),
                1,
            )
        ]
    ranked = rank_documents(Run.from_dict(scores).frame)
    assert list(ranked.select("query_id", "doc_id", "rank").iter_rows()) == expected
    assert rank_documents(ranked).equals(ranked)  # in order already: nothing is sorted
    assert rank_documents(ranked.with_columns(rank=0)).equals(ranked)
