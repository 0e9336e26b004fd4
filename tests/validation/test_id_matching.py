"""Ids that are meant to be the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.formats.columns.ids import Ids
from trectools_plus.text import listed, number, plural, visible
from trectools_plus.validation.views.id_matching import (
    near_matches,
    unify_spelling,
    unify_spellings,
)


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


def test_wording() -> None:
    assert visible("d\u00a002\u200b") == "d\\xa002\\u200b"
    assert visible("e\u0301") == "e\u0301"
    assert visible("e\u0301", marks=True) == "e\\u0301"
    assert len(visible("x" * 500)) == 48
    assert plural(1, "query", "queries") == "1 query"
    assert plural(1400, "row") == "1,400 rows"
    assert listed([str(n) for n in range(8)]) == "0, 1, 2, 3, 4, … (3 more)"
    assert number(3.0) == "3"
    assert number(0.1) == "0.1"


@given(st.lists(st.sampled_from(["a", "A", "É", "e\u0301", "x\u200b", "x", "ß" * 90, "Z" * 200])))
def test_folded_ids_are_the_folds_of_each(texts: list[str]) -> None:
    assert unify_spellings(Ids.of_texts(texts)).texts() == [unify_spelling(text) for text in texts]
