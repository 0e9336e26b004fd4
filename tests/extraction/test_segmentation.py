import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.extraction.words import chunk, stem_of, words_of

LEVELS = ("sentence", "clause", "phrase")
TEXTS = st.one_of(
    st.text(max_size=200),
    st.text(alphabet="ab .,;:()/-–\n?!e.g. and or which", max_size=200),
)


@given(text=TEXTS, level=st.sampled_from(LEVELS))
def test_offsets_are_exact_and_nothing_is_lost(text, level):
    chunks = chunk(text, level)
    for part in chunks:
        assert text[part.start : part.end] == part.text == part.text.strip() != ""
    places = [place for part in chunks for place in range(part.start, part.end)]
    assert places == sorted(set(places))
    covered = set(places)
    split_words = {"and", "or", "but"}
    for word in words_of(text):
        inside = covered.issuperset(range(word.start, word.end))
        assert inside or (level == "phrase" and word.text.lower() in split_words)


@given(text=TEXTS)
def test_finer_chunks_lie_within_coarser_ones(text):
    for coarse, fine in itertools.pairwise(LEVELS):
        outer = chunk(text, coarse)
        for part in chunk(text, fine):
            assert any(one.start <= part.start and part.end <= one.end for one in outer)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two!  Three?", ["One.", "Two!", "Three?"]),
        ("Seen e.g. Monday. Then", ["Seen e.g. Monday.", "Then"]),
        ("Dr. Smith came. He left.", ["Dr. Smith came.", "He left."]),
        ("A value of 3.5 mg. Next", ["A value of 3.5 mg.", "Next"]),
        ("Head:\nline one\r\nline two", ["Head:", "line one", "line two"]),
        ("Mild.;Severe cases", ["Mild.;", "Severe cases"]),
        ("by Carmignac et al. The", ["by Carmignac et al. The"]),
        ("", []),
        ("  \n ... ", []),
    ],
)
def test_sentences(text, sentences):
    assert [part.text for part in chunk(text)] == sentences


def test_clauses_and_phrases():
    text = "Seizures (focal), which began early; fever and rash/itch"
    assert [part.text for part in chunk(text, "clause")] == [
        "Seizures",
        "focal",
        "which began early",
        "fever and rash/itch",
    ]
    assert [part.text for part in chunk(text, "phrase")][-3:] == ["fever", "rash", "itch"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Seizures", "seizure"),
        ("anaemia", "anemia"),
        ("oedema", "edema"),
        ("tumours", "tumor"),
        ("Chiari's", "chiari"),
        ("cafe\u0301", "café"),
    ],
)
def test_forms_of_one_word_have_one_stem(one, other):
    assert stem_of(one) == stem_of(other) != ""


def test_function_words_have_no_stem():
    assert [stem_of(word) for word in ("The", "of", "AND")] == ["", "", ""]
