"""Facts about runs."""

from __future__ import annotations

from typing import Any

import polars as pl

from trectools_plus.formats.tables import RUN_SCHEMA, Run
from trectools_plus.validation.loading import describe_view
from trectools_plus.validation.views.runs import RunView


def describe(*rows: tuple[str, str, int, float]) -> dict[str, Any]:
    frame = pl.DataFrame(rows, schema=RUN_SCHEMA, orient="row")
    return describe_view(RunView.of_table(Run(frame, "tag", "x.run")))


def test_facts_by_hand() -> None:
    info = describe(
        ("1", "b", 0, 0.75000001),
        ("1", "a", 1, 0.75),
        ("1", "c", 2, -1.5),
        ("1", "d", 3, -1.5),
        ("2", "x", 0, 9.0),
    )
    assert (info["queries"], info["rows"]) == (2, 5)
    assert info["depth"] == {"min": 1, "median": 2.5, "max": 4}
    assert (info["lowest_score"], info["highest_score"]) == (-1.5, 9.0)
    assert (info["ties_64"], info["ties_32"], info["first_rank"]) == (1, 2, 0)
    # d precedes c in canonical order, against the ranks given.
    assert (info["ranks_follow_scores"], info["rows_follow_ranks"]) == (False, True)


def test_order_of_rows_and_of_ranks() -> None:
    info = describe(("1", "a", 2, 1.0), ("1", "b", 1, 2.0))
    assert (info["ranks_follow_scores"], info["rows_follow_ranks"]) == (True, False)


def test_equal_scores_of_two_queries_are_no_tie() -> None:
    assert describe(("1", "a", 1, 1.0), ("2", "b", 1, 1.0))["ties_64"] == 0
