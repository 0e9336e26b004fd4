"""A run that is read in parts of any size has the findings that it has as a whole."""

from __future__ import annotations

import re
from functools import partial
from itertools import groupby
from pathlib import Path

import polars as pl
import pytest
from harness.tables import cases_of
from hypothesis import assume, example, given
from hypothesis import strategies as st

from trectools_plus.formats.columns.columns import scan_columns
from trectools_plus.formats.columns.rows import RUN_FIELDS
from trectools_plus.formats.files import limits
from trectools_plus.formats.files.content import BOM, content_of_chunk
from trectools_plus.formats.query_chunks import Chunk
from trectools_plus.formats.tables import Qrels
from trectools_plus.validation import Finding, parts
from trectools_plus.validation.engine import check_pair_view, check_view
from trectools_plus.validation.parts import NotInPartsError, ViewSettings, read_in_parts
from trectools_plus.validation.rules.pairs import PairView
from trectools_plus.validation.views.kinds import QrelsView, RunView

LONGEST_LINE = 3000
ROW = "{q} Q0 d{r} {r} {s}.5 tag"


def first_field(line: bytes) -> list[bytes]:
    return line.split()[:1]


BREAKS: dict[str, str] = {
    "F103": "{q} Q0 d\xe9{r} {r} {s}.5 tag",
    "F105": "{q} Q0 d\r{r} {r} {s}.5 tag",
    "F106": "{q} Q0 d\0{r} {r} {s}.5 tag",
    "F110": "{q} Q0 d{r} {r} {s}.5 tag" + " x" * LONGEST_LINE,
    "R101": "{q} Q0 d{r} {r} {s}.5",
    "R102": "{q} Q0 d {r} {r} {s}.5 tag",
    "R102 ": "{q} Q0 d{r} {r} {s}.5 tag of words",
    "R103": "{q},Q0,d{r},{r},{s}.5,tag",
    "R104": "{q} 0 d{r} 1",
    "R105": "qid Q0 docno rank score tag",
    "R108": "{q} d{r} Q0 {r} {s}.5 tag",
    "R110": "{q} Q0 d{r} {r} {s},5 tag",
    "R111": "{q} Q0 d{r} {r} nan tag",
    "R112": "#{q} Q0 d{r} {r} {s}.5 tag",
    "R114": "{q} Q0 d\xc2\xa0{r} {r} {s}.5 tag",
    "R120": "{q} Q0 d{r} -{r} {s}.5 tag",
    "R121": "{q} Q0 d{r} {r} -{s}.5 tag",
    "R122": "{q} Q0 d{r} 1 {s}.5 tag",
    "R131": "{q} Q0 d {r} {s}.5 tag",
    "R142": "{q} Q0 d{r} {r} 7 tag",
}
"""A form of a row that breaks a rule if one row, some or all have it: for errors, and more."""

TABLE = cases_of(__file__.replace("test_parts", "test_rules"), "cases")
BAD: dict[str, list[bytes]] = {
    code: case["bad"].encode().removesuffix(b"\n").split(b"\n")
    for code, case in TABLE.items()
    if code[0] in "FR"
}
"""The lines of the files that break the rules on files and on runs."""

QUERIES = [list(group) for lines in BAD.values() for _, group in groupby(lines, first_field)]
"""The lines of their queries."""


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Call short lines endless, and look for the form of a file in a single row of it."""
    monkeypatch.chdir(tmp_path)
    Path("run").touch()
    monkeypatch.setattr(limits, "MAX_LINE_BYTES", LONGEST_LINE)
    monkeypatch.setattr(parts, "SNIFFED_BYTES", 1)


ODD_FIELDS = ["0", "-", "1.0", "7", "nan", "NA", "007", "d1", "Q0", "x y", "9,5", "t+t", "\xe9"]


def in_parts(lines: list[bytes], n_queries: int, settings: ViewSettings) -> list[Finding] | None:
    """The findings of a run in parts of so many queries; ``None`` if it is read as a whole."""
    queries = [list(group) for _, group in groupby(lines, first_field)]
    starts = range(0, len(queries), n_queries)
    texts = [
        b"".join(line + b"\n" for query in queries[start : start + n_queries] for line in query)
        for start in starts
    ]
    chunks = [
        partial(bytes, BOM + text if at and text.startswith(BOM) else text)
        for at, text in enumerate(texts)
    ]
    try:
        view, _ = read_in_parts("run", chunks, settings, nothing)
    except NotInPartsError:
        return None
    if settings.qrels is not None and not view.pair_facts.n_common:
        return None
    return [*check_view(view), *check_pair_view(pair_of(view, settings))]


def pair_of(view: RunView, settings: ViewSettings) -> PairView:
    return PairView(view, settings.qrels, collection=settings.collection)


def nothing(_: RunView) -> tuple[None, None]:
    return None, None


def whole(lines: list[bytes], settings: ViewSettings) -> list[Finding]:
    data = b"".join(line + b"\n" for line in lines)
    view = settings.view(scan_columns(content_of_chunk("run", data), RUN_FIELDS))
    return [*check_view(view), *check_pair_view(pair_of(view, settings))]


def compare(lines: list[bytes], n_queries: int) -> None:
    """Compare all findings, with all of their attributes."""
    judged = {str(query): {"d1": 1, "D2": query % 3, "x": 1, "d3": 0} for query in range(1, 9)}
    qrels = QrelsView.of_table(Qrels.from_dict(judged))
    for settings in (
        ViewSettings(4, qrels=qrels, collection=pl.Series([f"d{n}" for n in range(100)])),
        ViewSettings(4, for_scoring=True),
    ):
        found = in_parts(lines, n_queries, settings)
        if found is not None:
            assert found == whole(lines, settings)


@st.composite
def broken_runs(draw: st.DrawFn) -> list[bytes]:
    """Rows of some queries, of which all or some break a rule or two; and queries of bad files."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=8))
    forms = draw(st.lists(st.sampled_from([ROW, *BREAKS.values()]), min_size=1, max_size=2))
    sound = draw(st.sets(st.integers(0, len(sizes))))
    lines = [
        row(ROW if query in sound else forms[query % len(forms)], query, rank)
        for query, size in enumerate(sizes)
        for rank in range(1, size + 1)
    ]
    for query, bad in enumerate(draw(st.lists(st.sampled_from(QUERIES), max_size=2)), len(sizes)):
        lines += [re.sub(rb"^(\W*)[^\s,]+", rb"\g<1>%d" % query, line) for line in bad]
    return lines


def row(form: str, query: int, rank: int) -> bytes:
    return form.format(q=query, r=rank, s=20 - rank).encode("latin-1")


def rows(form: str) -> list[bytes]:
    return [row(form, query, rank) for query in range(5) for rank in (1, 2, 3)]


@pytest.mark.parametrize("n_queries", [1, 2, 5])
@pytest.mark.parametrize("code", BREAKS)
def test_each_rule_has_the_same_finding_in_parts(code: str, n_queries: int) -> None:
    lines = rows(BREAKS[code])
    if code == "R105":
        lines = [BREAKS[code].encode(), *rows(ROW)]
    assert code.strip() in {one.code for one in whole(lines, ViewSettings(4))}
    compare(lines, n_queries)


@pytest.mark.parametrize("n_queries", [1, 2])
@pytest.mark.parametrize("code", BAD)
def test_each_bad_file_has_the_same_findings_in_parts(code: str, n_queries: int) -> None:
    compare(BAD[code], n_queries)


@given(broken_runs(), st.integers(1, 4), st.data())
@example([b"# a comment", b"", b"#1 Q0 a 1 2 t"], 1, None)
@example([b"# a comment", b""], 1, None)
@example([b"#1 Q0 a 1 2 t"], 1, None)
@example([b"0 Q0 a 1 - t", b"1 Q0 d1 1 7 t", b"1 Q0 d2 2 7 t"], 1, None)
def test_random_runs_have_the_same_findings_in_parts(
    lines: list[bytes], n_queries: int, data: st.DataObject | None
) -> None:
    for _ in range(data.draw(st.integers(0, 3)) if data else 0):
        at = data.draw(st.integers(0, len(lines) - 1))
        fields = lines[at].split(b" ")
        field = data.draw(st.integers(1, len(fields) - 1)) if len(fields) > 1 else 0
        fields[field] = data.draw(st.sampled_from(ODD_FIELDS)).encode("latin-1")
        lines[at] = data.draw(st.sampled_from([b" ", b"\t", b"  "])).join(fields)
    queries = [query for query, _ in groupby(line.split()[:1] for line in lines)]
    assume(len(queries) == len({*map(tuple, queries)}))
    compare(lines, n_queries)


def test_a_query_in_two_parts_is_not_read_in_parts() -> None:
    lines = [*rows(ROW), row(ROW, 0, 9)]
    with pytest.raises(NotInPartsError):
        read_in_parts("run", chunks_of(lines), ViewSettings(4), nothing)


def test_a_byte_order_mark_in_the_middle_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [BOM + line if b"3 Q0 d1 " in line else line for line in rows(ROW)]
    settings = ViewSettings(4)
    monkeypatch.setattr(parts, "SNIFFED_BYTES", 4096)
    found = in_parts(lines, 1, settings)
    assert found == whole(lines, settings)
    assert found


def chunks_of(lines: list[bytes]) -> list[Chunk]:
    return [partial(bytes, b"".join(line + b"\n" for line in lines[at : at + 4])) for at in (0, 4)]
