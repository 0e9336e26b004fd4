"""Ids that are meant to be the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.formats.columns.ids import Ids
from trectools_plus.validation.views.kinds import near_matches, unify_spelling, unify_spellings


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("007", "7"),
        ("q07", "q7"),
        ("Q7", "q7"),
        ("é", "e\u0301"),
        ("7\u200b", "7"),
        ("7.0", "7"),
        ("Q07\ufeff", "q7"),
    ],
)
def test_near_matches(ours: str, theirs: str) -> None:
    assert near_matches([ours], [theirs]) == {ours: theirs}


@pytest.mark.parametrize(("ours", "theirs"), [("70", "7"), ("q1", "q10"), ("1.5", "15"), ("0", "")])
def test_other_ids_are_other_ids(ours: str, theirs: str) -> None:
    assert near_matches([ours], [theirs]) == {}


@pytest.mark.parametrize("stray", ["03", "3\u200b", "\ufeff3", "3.0"])
def test_a_stray_spelling_is_found_beside_the_right_one(stray: str) -> None:
    assert {*near_matches(["1", "3", stray], ["1", "3"])} == {stray}
    # Theirs, which ours lack, is the likelier one.
    assert near_matches(["1", "001"], ["1", "01"]) == {"001": "01"}


def test_ids_that_both_sides_have_are_no_near_matches() -> None:
    assert near_matches(["1", "01", "A"], ["a", "A", "01", "1"]) == {}
    assert near_matches(["1"], ["1", "01"]) == {}
    assert near_matches(["1.1", "1.10"], ["1.1"]) == {}
    assert near_matches(["1.10"], ["1.1"]) == {"1.10": "1.1"}


@given(st.lists(st.sampled_from(["a", "A", "É", "e\u0301", "x\u200b", "x", "ß" * 90, "Z" * 200])))
def test_folded_ids_are_the_folds_of_each(texts: list[str]) -> None:
    assert unify_spellings(Ids.of_texts(texts)).texts() == [unify_spelling(text) for text in texts]
