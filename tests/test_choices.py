"""The words that users choose from are those that the tables of the packages have."""

from __future__ import annotations

from trectools_plus import choices
from trectools_plus.retrieval.index.parts import AGGREGATIONS


def test_strategies_are_those_of_the_table() -> None:
    assert sorted(choices.STRATEGIES) == sorted(AGGREGATIONS)
