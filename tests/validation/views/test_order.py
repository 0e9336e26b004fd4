"""Orders and repeats against a plain look at every row."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.formats.columns.ids import Ids
from trectools_plus.formats.columns.rows import QueryBlocks, find_blocks
from trectools_plus.formats.ranking import rank_documents
from trectools_plus.formats.tables import Run
from trectools_plus.validation.views.kinds import RunView

ROWS = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.sampled_from(["d1", "d2", "d3", "é"]),
        st.integers(0, 4),
        st.sampled_from([0.0, 1.0, 1.00000001, 2.0, -1.0]),
    ),
    max_size=25,
)


def _run(rows: list[tuple[str, str, int, float]]) -> Run:
    schema = {"query_id": pl.String, "doc_id": pl.String, "rank": pl.Int64, "score": pl.Float64}
    return Run(pl.DataFrame(rows, schema=schema, orient="row"))


@given(rows=ROWS)
def test_blocks_number_queries_by_first_appearance(
    rows: list[tuple[str, str, int, float]],
) -> None:
    ids = [row[0] for row in rows]
    cut = len(ids) // 2
    whole, *parts = (
        QueryBlocks(*find_blocks(Ids.of_texts(part))) for part in (ids, ids[:cut], ids[cut:])
    )
    for blocks in (whole, QueryBlocks.joined(parts)):
        assert_blocks(blocks, ids)


def assert_blocks(blocks: QueryBlocks, ids: list[str]) -> None:
    order = list(dict.fromkeys(ids))
    assert blocks.query_ids == order
    assert [blocks.query_id(row) for row in range(len(ids))] == ids
    assert [order[number] for number in blocks.query] == ids
    assert blocks.sizes.tolist() == [ids.count(query_id) for query_id in order]
    assert blocks.first_rows.tolist() == [ids.index(query_id) for query_id in order]
    changes = [n for n in range(1, len(ids)) if ids[n] != ids[n - 1] and ids[n] in ids[:n]]
    assert np.setdiff1d(blocks.starts, blocks.first_rows).tolist() == changes


@given(rows=ROWS)
def test_orders_sort_stably_within_queries(rows: list[tuple[str, str, int, float]]) -> None:
    view = RunView.of_table(_run(rows))
    order = list(dict.fromkeys(row[0] for row in rows))
    by_rank = sorted(range(len(rows)), key=lambda n: (order.index(rows[n][0]), rows[n][2]))
    by_score = sorted(by_rank, key=lambda n: (order.index(rows[n][0]), -rows[n][3]))
    places = np.arange(len(rows))
    assert view.ranked.rows(places).tolist() == by_rank
    assert view.scored.rows(places).tolist() == by_score


@given(rows=ROWS)
def test_ties_are_those_of_the_canonical_ranking(rows: list[tuple[str, str, int, float]]) -> None:
    run = _run(rows)
    ranked = rank_documents(run.frame)
    tied = (
        (ranked["score"].cast(pl.Float32) == ranked["score"].cast(pl.Float32).shift())
        & (ranked["query_id"] == ranked["query_id"].shift())
    ).sum()
    assert len(RunView.of_table(run).ties32) == tied
