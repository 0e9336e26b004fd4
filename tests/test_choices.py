"""The words that users choose from are those that the tables of the packages have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

import pytest

from trectools_plus import choices
from trectools_plus.retrieval.fusion import COMBINATIONS
from trectools_plus.retrieval.index.parts import AGGREGATIONS


@pytest.mark.parametrize(
    ("words", "table"),
    [
        (choices.STRATEGIES, AGGREGATIONS),
        (get_args(choices.FusionMethod), COMBINATIONS),
    ],
)
def test_words_are_those_of_the_table(words: tuple[str, ...], table: Iterable[str]) -> None:
    assert sorted(words) == sorted(table)
