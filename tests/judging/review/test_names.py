"""Names: one person each, however they are spelled."""

import pytest

from trectools_plus.errors import UsageError
from trectools_plus.judging.judgments import clean_name, key_of


@pytest.mark.parametrize(
    ("one", "other"),
    [("Anna", " anna "), ("Jörg", "Jo\u0308rg"), ("Anna  B", "anna b"), ("Straße", "STRASSE")],
)
def test_spellings_of_one_name_are_one_person(one, other):
    assert key_of(one) == key_of(other)


def test_other_names_are_other_people():
    assert len({key_of(name) for name in ("Anna", "Hanna", "Anna B", "Ännä")}) == 4


@pytest.mark.parametrize("name", ["", "  ", "x" * 65, "a\u200bb", "a\x00b", "\u202eanna"])
def test_names_that_cannot_be_told_apart_are_refused(name):
    with pytest.raises(UsageError):
        clean_name(name)
