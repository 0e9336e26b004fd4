"""A run judged in chunks of any size has the findings that it has as a whole."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from trectools_plus.formats.columns.columns import scan_columns
from trectools_plus.formats.columns.rows import RUN_FIELDS
from trectools_plus.formats.files import limits
from trectools_plus.formats.files.source import source_of
from trectools_plus.formats.query_chunks import double_byte_order_mark
from trectools_plus.validation import CATALOGUE, Finding, Severity
from trectools_plus.validation.chunks import check_chunks, open_chunk, read_file_start
from trectools_plus.validation.engine import check_view
from trectools_plus.validation.registry import SCOPES, Rule
from trectools_plus.validation.views.runs import RunView

LONGEST_LINE = 3000
ROW = "{q} Q0 d{r} {r} {s}.5 tag"

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
"""A form of a row that breaks a rule, if one row, some or all have it."""

ELSEWHERE = {
    "F101": "a file without rows, below",
    "F111": "a stream that is damaged, reported by the engine",
    "R161": "a query deeper than the limit, below",
}


@pytest.fixture(autouse=True)
def short_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Call short lines endless."""
    monkeypatch.setattr(limits, "MAX_LINE_BYTES", LONGEST_LINE)


def rule_id(rule: Rule) -> str:
    return rule.code


@pytest.mark.parametrize("rule", list(CATALOGUE), ids=rule_id)
def test_every_rule_has_a_scope(rule: Rule) -> None:
    assert rule.scope in SCOPES
    assert (rule.scope == "pair") >= (rule.on == "pair")
    assert rule.chunk_accumulator is None or (rule.scope == "file" and rule.on in ("file", "run"))


def test_every_error_is_broken_here() -> None:
    errors = {
        rule.code
        for rule in CATALOGUE
        if rule.on in ("file", "run") and (rule.severity is Severity.ERROR or rule.may_be_error)
    }
    assert errors == {*(code.strip() for code in BREAKS), *ELSEWHERE}


def judged(lines: list[bytes], n_queries: int) -> list[Finding]:
    """The findings of a run in chunks of so many queries."""
    queries = [list(group) for _, group in groupby(lines, lambda line: line.split(b" ")[:1])]
    starts = range(0, len(queries), n_queries)
    texts = [
        b"".join(line + b"\n" for query in queries[start : start + n_queries] for line in query)
        for start in starts
    ]
    chunks = [
        lambda text=text, at=at: double_byte_order_mark(text) if at else text
        for at, text in enumerate(texts)
    ]
    opening = read_file_start("run", chunks)
    found = check_chunks("run", opening, lambda: opening.after_head(chunks), known_lines=True)
    return [one for one in found if one.severity is Severity.ERROR]


def whole(lines: list[bytes]) -> list[Finding]:
    data = b"".join(line + b"\n" for line in lines)
    view = RunView.for_scoring(scan_columns(source_of("run", data), RUN_FIELDS))
    return [one for one in check_view(view) if one.severity is Severity.ERROR]


def gist(findings: list[Finding]) -> list[tuple[object, ...]]:
    """All of a finding but its message, which does not know lines of other chunks."""
    return [
        (one.code, one.blocks_scoring, one.line, one.column, one.lines, one.count, one.query_id)
        for one in findings
    ]


@st.composite
def broken_runs(draw: st.DrawFn) -> list[bytes]:
    """Rows of some queries, of which all or some queries break a rule or two."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=8))
    forms = draw(st.lists(st.sampled_from([ROW, *BREAKS.values()]), min_size=1, max_size=2))
    sound = draw(st.sets(st.integers(0, len(sizes))))
    return [
        row(ROW if query in sound else forms[query % len(forms)], query, rank)
        for query, size in enumerate(sizes)
        for rank in range(1, size + 1)
    ]


def row(form: str, query: int, rank: int) -> bytes:
    return form.format(q=query, r=rank, s=20 - rank).encode("latin-1")


def rows(form: str) -> list[bytes]:
    return [row(form, query, rank) for query in range(5) for rank in (1, 2, 3)]


@pytest.mark.parametrize("n_queries", [1, 2, 5])
@pytest.mark.parametrize("code", BREAKS)
def test_each_rule_is_judged_alike_in_chunks(code: str, n_queries: int) -> None:
    lines = rows(BREAKS[code])
    if code == "R105":
        lines = [BREAKS[code].encode(), *rows(ROW)]
    expected = whole(lines)
    assert code.strip() in {one.code for one in expected}
    assert gist(judged(lines, n_queries)) == gist(expected)


@given(broken_runs(), st.integers(1, 4))
@example([b"# a comment", b"", b"#1 Q0 a 1 2 t"], 1)
@example([b"# a comment", b""], 1)
@example([b"#1 Q0 a 1 2 t"], 1)
def test_random_runs_are_judged_alike_in_chunks(lines: list[bytes], n_queries: int) -> None:
    queries = [query for query, _ in groupby(line.split(b" ")[0] for line in lines)]
    assume(len(queries) == len(set(queries)))
    assert gist(judged(lines, n_queries)) == gist(whole(lines))


def test_a_file_without_rows_has_the_same_message_in_chunks() -> None:
    lines = [b"# a comment", b"", b"# another"]
    assert [one.message for one in judged(lines, 1)] == [one.message for one in whole(lines)]


@given(broken_runs())
def test_a_run_of_valid_chunks_is_valid(lines: list[bytes]) -> None:
    data = b"".join(line + b"\n" for line in lines)
    if open_chunk("run", data, "valid") is not None:
        assert not [one for one in whole(lines) if one.blocks_scoring and one.code != "F101"]
    assert open_chunk("run", data, "checked") is not None
