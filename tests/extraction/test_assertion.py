import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.extraction.assertion import assert_mentions
from trectools_plus.extraction.mentions import ASSERTIONS, Mention


def mention(text, word):
    start = text.index(word)
    return Mention("X", start, start + len(word), frozenset([start]), 1.0, "dictionary")


@pytest.mark.parametrize(
    ("text", "assertion"),
    [
        ("He has FINDING.", "affirmed"),
        ("No FINDING.", "negated"),
        ("No fever, rash, or FINDING.", "negated"),
        ("There was no evidence of FINDING.", "negated"),
        ("The patient denies FINDING.", "negated"),
        ("FINDING was not seen.", "negated"),
        ("FINDING was ruled out.", "negated"),
        ("No fever but FINDING.", "affirmed"),
        ("No fever. FINDING.", "affirmed"),
        ("No fever; FINDING.", "affirmed"),
        ("Not only FINDING.", "affirmed"),
        ("With or without FINDING.", "affirmed"),
        ("She does not walk and at the age of ten FINDING.", "affirmed"),
        ("Without treatment FINDING may occur.", "affirmed"),
        ("May include FINDING.", "affirmed"),
        ("Possible FINDING.", "uncertain"),
        ("FINDING cannot be excluded.", "uncertain"),
        ("FINDING is suspected.", "uncertain"),
        ("His mother had FINDING.", "affirmed"),  # ConText lets "had" end the reach
        ("His mother with FINDING died.", "other_person"),
        ("Family history of FINDING.", "other_person"),
        ("FINDING in his father.", "other_person"),
        ("Familial FINDING.", "affirmed"),
        ("No family history of FINDING.", "other_person"),
        ("Nothing of NOTE; FINDING", "affirmed"),
    ],
)
def test_what_sentences_say(text, assertion):
    assert [one.assertion for one in assert_mentions(text, [mention(text, "FINDING")])] == [
        assertion
    ]


def test_a_trigger_inside_a_mention_is_part_of_its_name():
    text = "Absent speech, seizures."
    found = assert_mentions(text, [mention(text, "Absent speech"), mention(text, "seizures")])
    assert [one.assertion for one in found] == ["affirmed", "affirmed"]


@given(st.text(alphabet="no tabsenf.,; \nwithout", max_size=80), st.data())
def test_every_mention_comes_back_once(text, data):
    words = [place for place, letter in enumerate(text) if letter.isalnum()]
    chosen = data.draw(st.lists(st.sampled_from(words), unique=True)) if words else []
    given_mentions = [Mention("X", at, at + 1, frozenset([at]), 1.0, "dictionary") for at in chosen]
    found = assert_mentions(text, given_mentions)
    assert sorted(one.start for one in found) == sorted(chosen)
    assert {one.assertion for one in found} <= set(ASSERTIONS)
