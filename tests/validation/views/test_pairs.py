"""The list of documents that there are, and the pattern that their ids follow."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from trectools_plus.errors import UsageError
from trectools_plus.validation.views.pairs import DocumentIds, read_document_ids


def test_a_list_is_one_id_a_line(tmp_path: Path) -> None:
    path = tmp_path / "ids.txt.gz"
    path.write_bytes(gzip.compress('\ufeffa\r\n b \n\nc d\n"q"\n'.encode()))
    assert read_document_ids(path).to_list() == ["a", "b", "c d", '"q"']


@pytest.mark.parametrize(
    ("ids", "pattern", "lacking"),
    [
        (["a1", "b2"], None, [False, False, True, True]),
        (None, "[a-z][0-9]", [False, False, False, True]),
        (None, "a1|b2", [False, False, True, True]),
        (["a1", "C3"], "[a-z][0-9]", [False, True, True, True]),
        (None, None, [False] * 4),
    ],
)
def test_an_id_must_be_in_the_list_and_match_as_a_whole(
    ids: list[str] | None, pattern: str | None, lacking: list[bool]
) -> None:
    documents = DocumentIds(None if ids is None else pl.Series(ids), pattern)
    assert documents.lacks(pl.Series(["a1", "b2", "c3", "xa1"])).tolist() == lacking


@pytest.mark.parametrize("pattern", ["[", "((", "*"])
def test_a_bad_pattern_is_a_usage_error(pattern: str) -> None:
    with pytest.raises(UsageError, match="not a regular expression") as caught:
        DocumentIds(pattern=pattern)
    assert "col(" not in str(caught.value)
    assert "\n" not in str(caught.value)
