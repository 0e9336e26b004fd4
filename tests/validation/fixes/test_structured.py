"""Fixes of topics that are not TSV: quotes in place, line ends, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.validation import Finding, validate_topics
from trectools_plus.validation.fixes.engine import fix_topics
from trectools_plus.validation.fixes.summary import FixSummary


def _fix(folder: Path, name: str, text: str | bytes, *codes: str) -> tuple[FixSummary, str]:
    path, out = folder / name, folder / f"out-{name}"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    summary = fix_topics(path, out, codes=codes)
    return summary, out.read_bytes().decode() if out.exists() else ""


def _codes(path: Path) -> dict[str, Finding]:
    return {finding.code: finding for finding in validate_topics(path).findings}


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        (
            "a.json",
            '{"queries": [{"id": 1.10, "text": true,  "relevant": {"a": 1}},\n'
            ' {"id": 2, "text": "x", "relevant": {"a": 0}}]}',
            '{"queries": [{"id": "1.10", "text": "true",  "relevant": {"a": 1}},\n'
            ' {"id": "2", "text": "x", "relevant": {"a": 0}}]}',
        ),
        (
            "a.jsonl",
            '{"qid": 1, "text": "a"}\r\n\r\n{"qid": "2", "text": 2.50}',
            '{"qid": "1", "text": "a"}\n{"qid": "2", "text": "2.50"}\n',
        ),
        (
            "a.yaml",
            "\ufeffqueries:\r\n- {id: 1_0, text: a, relevant: [{doc_id: 0x1F, grade: 1}]}\r\n",
            'queries:\n- {id: "1_0", text: a, relevant: [{doc_id: "0x1F", grade: 1}]}\n',
        ),
        (
            "merged.yaml",
            "x: &x {a: 1}\nqueries:\n- {id: 010, text: t, relevant: {<<: *x}}\n",
            'x: &x {a: 1}\nqueries:\n- {id: "010", text: t, relevant: {<<: *x}}\n',
        ),
        (
            "a.xml",
            '<topic number="1">\r\n<query>a\r\nb</query></topic>\r\n',
            '<topic number="1">\n<query>a\nb</query></topic>\n',
        ),
    ],
)
def test_all_that_is_not_fixed_stays(name: str, before: str, after: str, tmp_path: Path) -> None:
    summary, text = _fix(tmp_path, name, before)
    assert text == after
    assert summary.applied
    fixed = _codes(tmp_path / f"out-{name}")
    assert not fixed.keys() & {"T114", "T115", "F104", "F102"}
    assert _fix(tmp_path, f"out-{name}", text)[1] == text


def test_a_cut_text_is_quoted_only_on_request(tmp_path: Path) -> None:
    text = "queries:\n- id: a\n  text: C # language\n  relevant: {b: 1}\n"
    assert _fix(tmp_path, "a.yaml", text)[1] == text
    assert 'text: "C # language"\n' in _fix(tmp_path, "a.yaml", text, "T117")[1]


@pytest.mark.parametrize("value", ["!!int 5", "&x 5", "!!int\n    5"])
def test_values_with_a_tag_or_an_anchor_stay_and_are_reported(value: str, tmp_path: Path) -> None:
    text = f"queries:\n- id: {value}\n  text: a\n  relevant: {{b: 1}}\n"
    summary, after = _fix(tmp_path, "a.yaml", text)
    assert after == text
    assert summary.notes == ("T114 not fixed: 1 of 1 have a tag, an anchor or several lines",)


@pytest.mark.parametrize(
    ("name", "text", "code", "fix"),
    [
        ("a.yaml", "- {id: 010, text: a, relevant: {b: 1}}\n", "T114", "safe"),
        ("a.yaml", "- {id: a, text: a, relevant: {b: yes}}\n", "T115", "no"),
        ("a.yaml", "- {id: a, text: yes, relevant: {b: yes}}\n", "T115", "safe"),
        ("a.yaml", "- {id: a b, text: a, relevant: {b: 1}}\n", "T113", "no"),
        ("a.yaml", "- {id: a, text: a, relevant: {b: 1.0}}\n", "Q111", "no"),
        ("a.yaml", "- {id: a, text: a, relevant: {b: -2}}\n", "Q132", "no"),
        ("a.jsonl", '{"qid": "1", "text": "a"}\n{"qid": "1", "text": "a"}\n', "T111", "no"),
        ("a.tsv", "1\ta\n1\ta\n", "T111", "safe"),
        ("a.tsv", "1 a\n", "T101", "ask"),
        ("a.tsv", "1,a b\n2\tb\n", "T101", "no"),
        ("a.tsv", "1,a b\n2 b\n", "T101", "ask"),
        ("a.tsv", "#1\ta\n", "T113", "no"),
    ],
)
def test_only_what_is_fixed_is_offered(
    name: str, text: str, code: str, fix: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert _codes(path)[code].fix == fix
    if fix != "no":
        codes = (code,) if fix == "ask" else ()
        summary, _ = _fix(tmp_path, name, text, *codes)
        assert code in {one.code for one in summary.applied}


SCALAR = st.sampled_from(
    ["010", "no", "a", '"b"', "1.10", "12:30", "~", "x # y", "'#'", "!!str 5", "*a", "&a 7", "é: 1"]
)


@given(values=st.lists(st.tuples(SCALAR, SCALAR, SCALAR), min_size=1, max_size=4))
def test_fixing_twice_equals_fixing_once(
    tmp_path_factory: pytest.TempPathFactory, values: list[tuple[str, str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("yaml")
    cases = (f"- id: {i}\n  text: {t}\n  relevant:\n    {d}: 1\n" for i, t, d in values)
    text = "queries:\n" + "".join(cases)
    before = validate_topics(folder / "in.yaml") if _fix(folder, "in.yaml", text) else None
    once = _fix(folder, "in.yaml", text, "T117")[1]
    assert _fix(folder, "once.yaml", once, "T117")[1] == once
    after = validate_topics(folder / "once.yaml")
    assert before is not None
    assert (after.rows, after.queries) == (before.rows, before.queries)
    assert once.count("\n") == text.count("\n")


def test_a_declared_encoding_is_not_left_wrong(tmp_path: Path) -> None:
    data = '<?xml version="1.0" encoding="latin-1"?>\n<topic number="1">é</topic>'
    summary, after = _fix(tmp_path, "a.xml", data.encode("latin-1"), "F103")
    assert (summary.refused or "").startswith("its first line")
    assert not after
