"""The engine: any bytes give a report, and tables follow the same rules as files."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from harness.files import write
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from trectools_plus.formats.columns.columns import scan_columns
from trectools_plus.formats.files.content import FileContent
from trectools_plus.formats.tables import Qrels, Run, Topics
from trectools_plus.validation import check_pair, validate_qrels, validate_run
from trectools_plus.validation.engine import check_pair_view, check_view
from trectools_plus.validation.parts import ViewSettings
from trectools_plus.validation.rules import RULES
from trectools_plus.validation.rules.pairs import PairView
from trectools_plus.validation.views.kinds import QrelsView, RunView

FIELDS = st.sampled_from(
    b"1 2 Q0 d01 D01 -1 0.5 9 nan inf 1e999 1e-400 base #1 \xc2\xa0 e\xcc\x81 \xff \0 "
    b'"x" { 1,5 0x1'.split(b" ")
)
LINES = st.lists(FIELDS, max_size=8).flatmap(
    lambda fields: st.sampled_from([b" ", b"\t", b"  ", b"\x0c"]).map(
        lambda blank: blank.join(fields)
    )
)
ROWS = st.tuples(
    st.sampled_from([b"1", b"2", b"3"]),
    st.sampled_from([b"a", b"b", b"c", b"A"]),
    st.sampled_from([b"0", b"1", b"2", b"3", b"-1", b"x"]),
    st.sampled_from([b"1", b"2", b"0.5", b"0.50000001", b"nan", b"1e400", b"x"]),
).map(lambda row: b"%s Q0 %s %s %s t" % row)
FILES = st.one_of(
    st.binary(max_size=300),
    st.builds(
        lambda lines, end, bom: bom + end.join(lines) + end,
        st.lists(st.one_of(LINES, ROWS), max_size=12),
        st.sampled_from([b"\n", b"\r\n", b"\r"]),
        st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe"]),
    ),
    st.text(max_size=100).map(lambda text: text.encode("utf-16")),
)


@example(run_bytes=b"\x1c \x1c \x1c \x1c \x1c \x1c \x1c", qrels_bytes=b"1 0 a 1 \xc2\xa0")
@example(run_bytes=b"1 Q0 a 0 1 t\n1 Q0 b 0e0 1e400 t\n1 Q0 c 0 1e400 t", qrels_bytes=b"")
@given(run_bytes=FILES, qrels_bytes=FILES)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_bytes_give_findings_and_no_exception(run_bytes: bytes, qrels_bytes: bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = ViewSettings(2).view(scan_columns(FileContent("run", run_bytes), 6))
        qrels = QrelsView.of_file(scan_columns(FileContent("qrels", qrels_bytes), 4))
        findings = check_view(run) + check_view(qrels)
        if run.n_rows and qrels.n_rows:
            findings += check_pair_view(PairView(run, qrels, ["1", "9"]))
            findings += check_pair_view(PairView(run, qrels, is_of_run=False))
    n_lines = max(run_bytes.count(b"\n"), qrels_bytes.count(b"\n")) + 1
    for finding in findings:
        assert "\n" not in finding.message
        assert all(1 <= line <= n_lines for line in finding.lines)
        assert list(finding.lines) == sorted(finding.lines) or finding.code.startswith("P")


@given(rows=st.lists(ROWS, min_size=1, max_size=15))
def test_only_one_rule_on_pairs_concerns_a_run_alone(rows):
    run = RunView.of_file(scan_columns(FileContent("run", b"\n".join(rows)), 6))
    for rule in RULES:
        assert rule.on != "pair" or rule.code == "P110" or not rule.check(PairView(run), run)


@given(rows=st.lists(ROWS, min_size=1, max_size=15))
def test_findings_agree_with_a_look_at_each_row(rows: list[bytes]) -> None:
    data = b"".join(row + b"\n" for row in rows)
    found = {
        finding.code: finding
        for finding in check_view(RunView.of_file(scan_columns(FileContent("run", data), 6)))
    }
    fields = [row.decode().split() for row in rows]
    pairs = [(row[0], row[2]) for row in fields]
    repeated = [n for n, pair in enumerate(pairs) if pair in pairs[:n]]
    assert (found["R131"].count if "R131" in found else 0) == len(repeated)
    bad = [n for n, row in enumerate(fields, 1) if row[4] == "x"]
    assert (found["R110"].lines if "R110" in found else ()) == tuple(bad[:5])
    infinite = [n for n, row in enumerate(fields, 1) if row[4] in ("nan", "1e400")]
    assert (found["R111"].lines if "R111" in found else ()) == tuple(infinite[:5])
    per_query: dict[str, set[str]] = {}
    again = 0
    for row in fields:
        ranks = per_query.setdefault(row[0], set())
        again += row[3] in ranks and row[3] != "x"
        ranks.add(row[3])
    assert (found["R122"].count if "R122" in found else 0) == again


def test_a_table_follows_the_rules_without_lines() -> None:
    run = Run.from_dict({"1": {"a": 1.0, "b": float("nan")}, "2": {"a": 2.0, "b": 2.0}})
    found = {finding.code: finding for finding in validate_run(run).findings}
    assert set(found) == {"R111", "R142"}
    assert found["R111"].line is None
    assert found["R111"].lines == ()
    assert found["R111"].blocks_scoring
    assert not found["R142"].blocks_scoring


def test_pairs_of_tables_are_checked() -> None:
    run = Run.from_dict({"01": {"a": 1.0}, "2": {"b": 1.0}})
    qrels = Qrels.from_dict({"1": {"a": 1}, "2": {"b": 1}, "3": {"c": 1}})
    findings = check_pair(run, qrels, Topics.from_dict({"2": "t", "3": "t"}))
    assert [finding.code for finding in findings] == ["P103", "P104", "P107", "P108"]
    assert {finding.code for finding in findings if finding.blocks_scoring} == {"P104"}


@pytest.mark.parametrize(
    ("run", "found"),
    [
        ("1 Q0 A 1 2 t\n1 Q0 b 2 1 t\n", {}),
        (
            "1 Q0 A 1 2 t\n1 Q0 B 2 1 t\n",
            {"P105": ("error", (), None)},
        ),
        ("1 Q0 xa 1 2 t\n1 Q0 xb 2 1 t\n", {"P105": ("error", (), None)}),
        ("1 Q0 b 1 2 t\n1 Q0 k 2 1 t\n", {}),
    ],
)
def test_documents_of_a_run_are_looked_for_in_the_qrels(
    run: str, found: dict[str, tuple[str, tuple[int, ...], str | None]], tmp_path: Path
) -> None:
    qrels, other = tmp_path / "qrels.txt", tmp_path / "x.run"
    qrels.write_text("1 0 a 1\n1 0 b 1\n2 0 A 0\n")
    other.write_text(run + "2 Q0 z 1 1 t\n")
    findings = validate_qrels(qrels, run=other).findings
    assert {
        one.code: (one.severity, one.lines, one.doc_id)
        for one in findings
        if one.code.startswith("P")
    } == found
    assert all(one.fix == "no" for one in findings)


def test_empty_tables_are_refused() -> None:
    assert [finding.code for finding in validate_run(Run.from_dict({})).findings] == ["F101"]
    assert [finding.code for finding in validate_qrels(Qrels.from_dict({})).findings] == ["F101"]
    assert check_pair(Run.from_dict({}), Qrels.from_dict({})) == []


def test_line_numbers_count_comments_and_blank_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "a.run", "# c\n\n1 Q0 a 1 2 t\n# c\n1 Q0 a 2 1 t\n")
    found = {finding.code: finding for finding in validate_run(path).findings}
    assert found["R131"].line == 5
    assert "(line 3: score 2; here: 1)" in found["R131"].message
    assert found["R131"].column == 6
    assert found["F107"].lines == (1, 4)
