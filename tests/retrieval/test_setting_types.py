from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from trectools_plus.models import explain_problem
from trectools_plus.retrieval.setting_types import Flag, Names, Number, WholeNumber


class Settings(BaseModel):
    whole: WholeNumber = 1
    number: Number = 1.0
    flag: Flag = False
    names: Names = ()


@pytest.mark.parametrize(
    ("field", "given", "value"),
    [
        ("whole", "7", 7),
        ("whole", "-7", -7),
        ("whole", 7, 7),
        ("number", "0.5", 0.5),
        ("number", ".5", 0.5),
        ("number", "1e-3", 0.001),
        ("number", "3", 3.0),
        ("number", 3, 3.0),
        ("flag", "true", True),
        ("flag", "False", False),
        ("names", "a, AP(rel=2,x=1)@3,", ("a", "AP(rel=2,x=1)@3")),
        ("names", ["a"], ("a",)),
    ],
)
def test_read(field: str, given: Any, value: Any) -> None:
    assert getattr(Settings(**{field: given}), field) == value


@pytest.mark.parametrize(
    ("field", "given", "words"),
    [
        ("whole", "010", "expected a whole number but got '010'"),
        ("whole", "1:40", "expected a whole number but got '1:40'"),
        ("whole", "yes", "expected a whole number but got 'yes'"),
        ("whole", "1_000", "expected a whole number"),
        ("whole", 1.0, "expected a whole number but got 1"),
        ("whole", True, "expected a whole number but got True"),
        ("whole", None, "expected a whole number but got None"),
        ("number", "0,5", "expected a number but got '0,5'"),
        ("number", "00.5", "expected a number"),
        ("number", True, "expected a number but got True"),
        ("flag", "yes", "input should be a valid boolean, got 'yes'"),
        ("flag", 1, "input should be a valid boolean, got 1"),
        ("names", 3, "expected a list but got 3"),
    ],
)
def test_refused_in_plain_words(field: str, given: Any, words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Settings(**{field: given})
    what, remedy = explain_problem(caught.value.errors()[0])
    assert what.startswith(words)
    assert remedy is None
