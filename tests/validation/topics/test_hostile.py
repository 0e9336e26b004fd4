"""Bytes that try to hang, crash or exhaust: any bytes give a report."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from harness.files import write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trectools_plus.formats.files.content import FileContent
from trectools_plus.validation import FileReport, validate_topics
from trectools_plus.validation.topics import check_topics, read_view

PIECES = st.sampled_from(
    [
        *"[]{}:,\"'#-?&*!|>%@`~",
        *(
            "queries:",
            "- id: ",
            "text: ",
            "relevant: ",
            "d01: 1",
            "\n",
            "\n  ",
            "\n    ",
            "\t",
            " ",
        ),
        *("<top>", "<num>", "<title>", "</top>", "<topic ", 'number="1">', "</topic>", "&amp;"),
        *('{"qid":"1","query":"a"}', '"id"', "NaN", "1e999", "-0", "010", "12:30", "yes", "~", "é"),
        *(
            "\r",
            "\r\n",
            "\0",
            "\ufeff",
            "\u2028",
            "\\ud800",
            "&a ",
            "*a ",
            "<<: *a",
            "---\n",
            "!!int ",
        ),
        *("1\ta\n", "#1\tb\n", "\t\t\n", "null", "true", "1.5", "metadata:"),
    ]
)
NAMES = st.sampled_from(["a", "a.yaml", "a.json", "a.jsonl", "a.tsv", "a.xml", "a.yml.gz"])


@given(
    name=NAMES,
    data=st.one_of(
        st.binary(max_size=200), st.lists(PIECES, max_size=40).map(lambda p: "".join(p).encode())
    ),
)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_bytes_give_findings_and_no_exception(name: str, data: bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        view = read_view(FileContent(name, data))
        findings = check_topics(view)
    n_lines = data.count(b"\n") + 1
    for finding in findings:
        assert "\n" not in finding.message + finding.remedy
        assert all(1 <= line <= n_lines for line in finding.lines)
        assert list(finding.lines) == sorted(finding.lines)
        assert finding.message[-1] not in ".!"
        finding.message.encode()
    if not view.n_rows:
        assert findings, "nothing to search with, and not a word about it"


def _report(folder: Path, name: str, content: str) -> FileReport:
    path = write(folder / name, content)
    return validate_topics(path)


def _codes(report: FileReport) -> set[str]:
    return {finding.code for finding in report.findings}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", "[" * 200_000),
        ("a.json", '{"a":' * 100_000),
        ("a.jsonl", '{"qid":' * 100_000),
        ("a.yaml", "[" * 200_000),
        ("a.yaml", "- " * 100_000),
        ("a.yaml", "".join(" " * n + "a:\n" for n in range(500))),
        ("a.xml", '<topic number="1">' + "<a>x" * 100_000),
    ],
)
def test_deep_nesting_is_a_syntax_error(name: str, content: str, tmp_path: Path) -> None:
    assert _codes(_report(tmp_path, name, content)) >= {"T104"}


def test_aliases_are_not_read(tmp_path: Path) -> None:
    cases = "".join(f"  - {{id: q{n}, text: t{n}, relevant: *r}}\n" for n in range(1000))
    content = f"queries:\n  - {{id: q, text: t, relevant: &r {{d: 1}}}}\n{cases}"
    for text in (content, "queries: &a [*a]\n", "queries: [&a {<<: *a, id: x}]\n"):
        assert _codes(_report(tmp_path, "a.yaml", text)) == {"T104"}


@pytest.mark.parametrize(
    "content",
    [
        "queries:\n  - {id: " + "1" * 100_000 + ", text: a, relevant: {d: 1}}\n",
        "queries:\n  - {id: " + "1:" * 2000 + "1, text: a, relevant: {d: 1}}\n",
        "queries:\n  - {id: !!int x, text: a, relevant: {d: 1}}\n",
        "queries:\n  - {id: !!float x, text: a, relevant: {d: 1}}\n",
        "queries:\n  - {id: !!bool x, text: a, relevant: {d: 1}}\n",
    ],
)
def test_odd_numbers_are_not_computed(content: str, tmp_path: Path) -> None:
    assert _codes(_report(tmp_path, "a.yaml", content)) == {"T114"}
