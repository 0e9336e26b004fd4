"""Every error can be sent to another process and has the same message there."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from trectools_plus.errors import (
    CheckFailedError,
    FormatError,
    IncomparableError,
    InputError,
    MissingExtraError,
    SeveralFilesError,
    TrectoolsPlusError,
    UsageError,
)
from trectools_plus.formats.files.opening import BinaryFileError, find_binary
from trectools_plus.validation import CATALOGUE, FindingsError

FINDING = replace(CATALOGUE["R110"].finding("a.run", "score 'x' is not a number"), line=3)
EXAMPLES = [
    TrectoolsPlusError("what", where="where", remedy="how"),
    InputError("what"),
    FormatError("what", path="a.run", line=3, column=4, remedy="how"),
    BinaryFileError(find_binary(b"%PDF-1.7"), "a.run"),
    UsageError("what", remedy="how"),
    MissingExtraError("this", "that"),
    CheckFailedError("what", where="where"),
    IncomparableError("what"),
    SeveralFilesError([InputError("one"), CheckFailedError("two")]),
    FindingsError([FINDING]),
]


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_survives_pickling(error: TrectoolsPlusError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert copy.exit_code == error.exit_code
    assert vars(copy).keys() == vars(error).keys()
