"""Fragile ids, against pandas itself; the order of queries."""

from __future__ import annotations

import io

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.formats.columns.columns import scan_columns
from trectools_plus.formats.files.content import FileContent
from trectools_plus.validation.engine import check_view
from trectools_plus.validation.findings import Finding
from trectools_plus.validation.rules.runs import READ_AS_MISSING
from trectools_plus.validation.views.kinds import RunView


def _findings(ids: list[str], query: str = "q", *, optional: bool = False) -> dict[str, Finding]:
    rows = [f"{query} Q0 {doc_id} {n} {-n} t\n" for n, doc_id in enumerate(ids, 1)]
    view = RunView.of_file(scan_columns(FileContent("run", "".join(rows).encode()), 6))
    view.optional_rules = optional
    return {finding.code: finding for finding in check_view(view)}


def _pandas_changes(text: str) -> bool:
    value = pd.read_csv(io.StringIO(f"id\n{text}\n"), quoting=3)["id"][0]
    return bool(pd.isna(value)) or str(value) != text


@pytest.mark.parametrize("text", READ_AS_MISSING)
def test_what_pandas_reads_as_missing_is_named(text: str) -> None:
    found = _findings(["d1", text])["R115"]
    assert (found.line, found.count, found.doc_id) == (2, 1, text)
    assert "read as missing" in found.message
    assert _pandas_changes(text)


@given(st.from_regex(r"[+-]?[0-9]{1,6}(\.[0-9]{0,5})?([eE][+-]?[0-9]{1,2})?", fullmatch=True))
def test_a_number_is_fragile_if_pandas_writes_another(text: str) -> None:
    expected = _pandas_changes(text)
    assert ("R115" in _findings([text])) >= expected  # spreadsheets may change some more
    assert ("R115" in _findings(["d1", text])) >= expected


@pytest.mark.parametrize(
    "text", ["7", "123456789012345678", "1.5", "-3", "0", "FT911-1", "0a", "N", "name"]
)
def test_ids_that_survive_are_not_named(text: str) -> None:
    assert "R115" not in _findings([text])
    assert not _pandas_changes(text)


def test_lines_of_queries_and_documents_are_in_order() -> None:
    found = _findings(["a", "007", "NA"], query="01")["R115"]
    assert found.lines == (1, 2, 3)
    assert (found.query_id, found.doc_id, found.column) == ("01", None, 1)


@pytest.mark.parametrize(
    ("ids", "is_found"),
    [
        (["1", "2", "10"], False),
        (["1", "10", "2"], False),  # ascending as texts
        (["q9", "q10"], False),
        (["a", "B"], True),
        (["3", "2", "1"], True),
    ],
)
def test_query_order_is_checked_only_on_request(ids: list[str], is_found: bool) -> None:
    data = "".join(f"{query_id} Q0 d 1 1 t\n" for query_id in ids).encode()
    view = RunView.of_file(scan_columns(FileContent("run", data), 6))
    assert "R128" not in {finding.code for finding in check_view(view)}
    view.optional_rules = True
    assert ("R128" in {finding.code for finding in check_view(view)}) == is_found
