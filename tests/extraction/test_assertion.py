from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.extraction.assertion import assert_mentions
from trectools_plus.extraction.words import ASSERTIONS, Mention


def mention(text, word):
    start = text.index(word)
    return Mention("X", start, start + len(word), frozenset([start]), 1.0)


def test_a_trigger_inside_a_mention_is_part_of_its_name():
    text = "Absent speech, seizures."
    found = assert_mentions(text, [mention(text, "Absent speech"), mention(text, "seizures")])
    assert [one.assertion for one in found] == ["affirmed", "affirmed"]


@given(st.text(alphabet="no tabsenf.,; \nwithout", max_size=80), st.data())
def test_every_mention_comes_back_once(text, data):
    words = [place for place, letter in enumerate(text) if letter.isalnum()]
    chosen = data.draw(st.lists(st.sampled_from(words), unique=True)) if words else []
    given_mentions = [Mention("X", at, at + 1, frozenset([at]), 1.0) for at in chosen]
    found = assert_mentions(text, given_mentions)
    assert sorted(one.start for one in found) == sorted(chosen)
    assert {one.assertion for one in found} <= set(ASSERTIONS)
