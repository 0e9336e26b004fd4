"""Lay words and abbreviations in texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.retrieval.hpo.mentions import (
    LayTerms,
    lay_rows,
    terms_of_phrase,
)

SEIZURE, BEDWETTING, FLOPPY, DISABILITY = "HP:0001250", "HP:0010677", "HP:0008947", "HP:0001249"
ROWS = lay_rows()
ENGLISH = LayTerms("en")


def found(text: str, language: str = "en") -> dict[str, float]:
    return {one.term_id: one.share for one in LayTerms(language).find(text)}


@given(st.sampled_from(ROWS))
def test_every_phrase_is_found_as_a_whole_text(row: tuple[str, str, str]) -> None:
    phrase, term_id, language = row
    assert term_id in terms_of_phrase(phrase)
    assert found(phrase, language)[term_id] == 1


@pytest.mark.parametrize(
    ("text", "term_id"),
    [
        ("fits", SEIZURE),
        ("severe fits", SEIZURE),
        ("floppy baby", FLOPPY),
        ("the baby is floppy", FLOPPY),
        ("wets the bed", BEDWETTING),
        ("she wets the bed at night", BEDWETTING),
        ("he still wet his bed when he was ten", BEDWETTING),
        ("ID", DISABILITY),
        ("epilepsy and ID.", DISABILITY),
    ],
)
def test_phrases_are_found_inflected_and_inside_of_texts(text: str, term_id: str) -> None:
    assert 0 < found(text)[term_id] <= 1


@pytest.mark.parametrize(
    ("text", "term_id"),
    [
        ("id", DISABILITY),  # an abbreviation has its letter case
        ("a bed with a long list of other things and then something wet", BEDWETTING),
        ("wet", BEDWETTING),
        ("", SEIZURE),
    ],
)
def test_other_texts_have_no_phrase(text: str, term_id: str) -> None:
    assert term_id not in found(text)
    assert term_id not in terms_of_phrase(text)


def test_the_share_falls_with_other_words_but_not_with_function_words() -> None:
    assert found("she has fits")[SEIZURE] == 1
    assert found("fits at school")[SEIZURE] == pytest.approx(1 / 2)
    shares = [found(f"fits {'qqq ' * count}")[SEIZURE] for count in range(5)]
    assert shares == sorted(shares, reverse=True)


def test_phrases_of_other_languages_are_found_in_their_language_only() -> None:
    assert "HP:0000365" in found("surdité", "fr")
    assert "HP:0000365" not in found("surdité", "en")
    assert "HP:0000365" in terms_of_phrase("Surdité")


@given(st.text(max_size=80))
def test_any_text_is_read(text: str) -> None:
    assert all(0 < one.share <= 1 for one in ENGLISH.find(text))
