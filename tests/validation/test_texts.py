"""Texts that are nearly the same, and languages that texts look like."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.testsets.loading import load_test_set, shipped_names
from trectools_plus.validation.texts import (
    MIN_SIMILARITY,
    guess_language,
    near_groups,
    near_pairs,
    primary_language,
)


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ("Recurrent infections", "infection, recurrent", True),
        ("Seizures", "seizure", True),
        ("recurrent respiratory infections", "recurrent respiratory tract infections", True),
        ("hand with six fingers on the left", "hand with six fingers on the lleft", True),
        ("Hypotension", "Hypertension", False),
        ("hypoparathyroidism", "hyperparathyroidism", False),
        ("diabetes mellitus type 1", "diabetes mellitus type 2", False),
        ("", "", False),
        ("?!", "…", False),
    ],
)
def test_what_is_near(one: str, other: str, near: bool) -> None:
    assert near_pairs([one, other], "en") == ([(0, 1)] if near else [])


def test_stems_are_those_of_the_language() -> None:
    assert near_pairs(["Kinder mit Fieber", "Fieber mit Kindern"], "de") == [(0, 1)]


@given(st.lists(st.text("ab 12", max_size=8), max_size=8))
def test_trigrams_as_by_sets(texts: list[str]) -> None:
    def grams(text: str) -> set[str]:
        padded = f" {' '.join(re.findall('[^ ]+', text))} "
        return {padded[at : at + 3] for at in range(len(padded) - 2)}

    def alike(one: str, other: str) -> bool:
        if sorted(re.findall(r"\d+", one)) != sorted(re.findall(r"\d+", other)):
            return False
        common, union = grams(one) & grams(other), grams(one) | grams(other)
        return bool(union) and len(common) >= MIN_SIMILARITY * len(union)

    expected = {
        (earlier, later)
        for earlier, later in itertools.combinations(range(len(texts)), 2)
        if alike(texts[earlier], texts[later])
    }
    pairs = set(near_pairs(texts))

    def of_other_words(pair: tuple[int, int]) -> bool:  # the same words in any order are near, too
        one, other = (set(texts[at].split()) for at in pair)
        return one != other

    assert set(filter(of_other_words, pairs)) == set(filter(of_other_words, expected))
    groups = near_groups(texts)
    assert sorted(at for group in groups for at in group) == list(range(len(texts)))
    place = {at: number for number, group in enumerate(groups) for at in group}
    assert all(place[one] == place[other] for one, other in pairs)


def test_groups_join_what_is_near_by_way_of_another() -> None:
    base = "abnormal morphology of the distal phalanx of the hand"
    texts = [base, "fever", f"{base}s", base.upper()]
    assert near_groups(texts, "en") == [[0, 2, 3], [1]]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("pain in the chest with effort", "en"),
        ("Schmerzen in der Brust und im Arm", "de"),
        ("douleur dans la poitrine et le bras", "fr"),
        ("dolor en el pecho y los brazos", "es"),
        ("pijn op de borst en in het been", "nl"),
        ("Arachnodactyly", None),
        ("N,N-dimethylglycine", None),
        ("", None),
    ],
)
def test_small_words_tell_the_language(text: str, language: str | None) -> None:
    assert guess_language(text) == language


@pytest.mark.parametrize("name", shipped_names())
def test_no_shipped_text_looks_like_another_language(name: str) -> None:
    test_set = load_test_set(name)
    guesses = {guess_language(query.text) for query in test_set.queries}
    assert guesses <= {test_set.metadata.language, None}


def test_regions_and_scripts_are_left_aside() -> None:
    assert {primary_language(code) for code in ("en", "EN-gb", "en_US", " en-Latn-GB ")} == {"en"}
