"""Every rule: a file that breaks it, one that nearly does, and the fixed file."""

from __future__ import annotations

import gzip
import math
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from harness.files import write
from harness.tables import cases_of
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.formats.tables import Topics
from trectools_plus.testsets.validation import validate_test_sets
from trectools_plus.validation import (
    CATALOGUE,
    FileReport,
    Finding,
    fix_qrels,
    fix_run,
    validate_qrels,
    validate_run,
    validate_topics,
)
from trectools_plus.validation.views.places import Ordered

RUN, QRELS, TSV, SET = cases_of(__file__, "texts").values()
TERMS = SET.replace("d01", "TOY:0005").replace("d02", "TOY:0004").replace("d03", "TOY:0006")
TERMS = TERMS.replace("d04", "TOY:0007")
TOY = Path(__file__).parents[2] / "fixtures" / "ontology" / "toy.obo"
TOPICS = Topics.from_dict({"1": "one", "2": "two", "3": "three"})


@dataclass(frozen=True)
class Case:
    """A file that breaks a rule on ``line``, and one that does not although it looks like it.

    If the rule has a fix, ``fixed`` is the copy of ``bad``, or of ``before`` if that has none.
    """

    bad: str | bytes
    good: str | bytes
    line: int | None
    fixed: str | None = None
    before: str | None = None
    qrels: str | None = None
    topics: Topics | None = None
    name: str = "input.txt"
    collection: pl.Series | None = None
    part: str | None = None  # another part of the same split


KNOWN = pl.Series([f"d{n:02}" for n in range(20)])

TABLE = cases_of(__file__, "cases", TERMS=TERMS)
CASES: dict[str, Case] = {
    **{code: Case(**fields) for code, fields in TABLE.items()},
    "F103": Case(RUN.encode().replace(b"d03", b"d\xe93"), RUN.replace("d03", "dé3"), 3),
    "F110": Case(RUN.replace("d02", "d" * 70_000), RUN.replace("d02", "d" * 60_000), 2),
    "F112": Case(gzip.compress(RUN.encode(), mtime=0), RUN, None),
    "F111": Case(
        gzip.compress(RUN.encode(), mtime=0)[:-9], gzip.compress(RUN.encode(), mtime=0), None
    ),
    "R161": Case(
        "".join(f"1 Q0 d{n} {n} {999 - n} t\n" for n in range(1, 102)),
        "".join(f"1 Q0 d{n} {n} {999 - n} t\n" for n in range(1, 101)),
        101,
    ),
    "P107": Case(RUN + "9 Q0 d01 1 2 base\n", RUN, 7, topics=TOPICS),
    "P108": Case(RUN.replace("3 Q0 d09 1 3.0 base\n", ""), RUN, None, topics=TOPICS),
    "P109": Case(RUN.replace("d07", "d77"), RUN, 4, collection=KNOWN),
    "P112": Case(QRELS + "9 0 d01 1\n", QRELS, 7, topics=TOPICS),
    "T123": Case(TSV.replace("second", "a " * 1000), TSV.replace("second", "a " * 999), 2),
}


def _report(code: str, content: str | bytes, case: Case, folder: Path) -> FileReport:
    path = write(folder / case.name, content)
    if code.startswith("T2"):
        parts = [write(folder / "part.yaml", case.part)] if case.part else []
        ontology = TOY if code.startswith("T20") else None
        return [*validate_test_sets([*parts, path], ontology=ontology)][-1]
    if code.startswith("T"):
        return validate_topics(path)
    if code.startswith("Q") or code == "P112":
        return validate_qrels(path, topics=case.topics)
    qrels = write(folder / "qrels.txt", case.qrels) if case.qrels else None
    return validate_run(
        path,
        qrels=qrels,
        topics=case.topics,
        collection=case.collection,
        optional_rules=code == "R128",
    )


def _finding(code: str, report: FileReport) -> Finding | None:
    return next((finding for finding in report.findings if finding.code == code), None)


def test_every_rule_has_a_case() -> None:
    assert set(CASES) == {rule.code for rule in CATALOGUE}
    fixed = {code for code, case in CASES.items() if case.fixed is not None}
    assert fixed == {rule.code for rule in CATALOGUE if rule.fixed}


@pytest.mark.parametrize("code", sorted(CASES))
def test_broken_file_is_found(code: str, tmp_path: Path) -> None:
    case = CASES[code]
    finding = _finding(code, _report(code, case.bad, case, tmp_path))
    assert finding is not None
    assert finding.line == case.line
    assert finding.name == CATALOGUE[code].name
    assert "\n" not in finding.message + finding.remedy
    assert finding.message[-1] not in ".!", "the renderer adds the full stop"
    assert finding.count >= 1


@pytest.mark.parametrize(
    "code",
    [
        *("R107", "R110", "R111", "R113", "R115", "R120", "R122", "R124", "R125", "R131"),
        *("R141", "R143", "R151", "R152", "Q110", "Q111", "Q121", "Q122"),
    ],
)
def test_column_is_where_the_wrong_field_begins(code: str, tmp_path: Path) -> None:
    case = CASES[code]
    finding = _finding(code, _report(code, case.bad, case, tmp_path))
    assert finding is not None
    assert finding.line is not None
    assert isinstance(case.bad, str)
    right = (QRELS if code.startswith("Q") else RUN).splitlines()[finding.line - 1].split(" ")
    row = case.bad.splitlines()[finding.line - 1].split(" ")
    [wrong] = [n for n, (ours, theirs) in enumerate(zip(row, right, strict=True)) if ours != theirs]
    assert finding.column == len(" ".join([*row[:wrong], ""])) + 1


@pytest.mark.parametrize("code", sorted(CASES))
def test_nearly_broken_file_is_not(code: str, tmp_path: Path) -> None:
    case = CASES[code]
    if code == "P101":
        case = Case(case.bad, case.good, None, qrels=QRELS)
    assert _finding(code, _report(code, case.good, case, tmp_path)) is None


@pytest.mark.parametrize("code", [code for code, case in CASES.items() if case.fixed is not None])
def test_fixed_copy_is_that_of_the_table(code: str, tmp_path: Path) -> None:
    case = CASES[code]
    before = case.before or case.bad
    path, out = write(tmp_path / "in.txt", before), tmp_path / "out.txt"
    finding = _finding(code, _report(code, before, case, tmp_path))
    assert finding is not None
    assert finding.fix == CATALOGUE[code].fix_kind
    codes = [code] if finding.fix == "ask" else []
    summary = (fix_qrels if code.startswith("Q") else fix_run)(path, out, codes=codes)
    assert out.read_bytes().decode() == case.fixed
    assert code in {applied.code for applied in summary.applied}
    assert _finding(code, _report(code, out.read_bytes(), case, tmp_path)) is None


@pytest.mark.parametrize(
    ("code", "content", "severity"),
    [
        *cases_of(__file__, "severities"),
        ("F110", RUN + "1 Q0 " + "d" * (16 << 20) + " 4 1 base\n", "error"),
    ],
)
def test_severity_follows_what_is_seen(
    code: str, content: str, severity: str, tmp_path: Path
) -> None:
    finding = _finding(code, _report(code, content, Case("", "", None), tmp_path))
    assert finding is not None
    assert finding.severity == severity


@pytest.mark.parametrize(
    ("code", "content", "words"),
    [
        *cases_of(__file__, "messages"),
        ("F103", b"\xff\xfe", "the text is utf-16"),
        ("F103", b"\x00\x00\xfe\xff", "the text is utf-32"),
        (
            "F110",
            RUN + "1 Q0 " + "d" * (16 << 20) + " 4 1 base\n",
            "the rest of the file is not read",
        ),
        *(
            ("F103", RUN.encode(encoding), f"the text is {encoding[:6]}")
            for encoding in ("utf-16", "utf-16-be", "utf-16-le", "utf-32-be")
        ),
    ],
)
def test_message_says_what_is_seen(
    code: str, content: str | bytes, words: str, tmp_path: Path
) -> None:
    finding = _finding(code, _report(code, content, Case("", "", None), tmp_path))
    assert finding is not None
    assert words in finding.message


def test_clean_files_have_no_findings(tmp_path: Path) -> None:
    case = Case("", "", None, qrels=QRELS, topics=TOPICS)
    assert _report("R", RUN, case, tmp_path).findings == ()
    assert _report("Q", QRELS, case, tmp_path).findings == ()


def test_a_header_and_other_kinds_keep_row_rules_still(tmp_path: Path) -> None:
    for code in ("R103", "R104", "R105", "F105", "Q103", "Q104"):
        case = CASES[code]
        codes = [finding.code for finding in _report(code, case.bad, case, tmp_path).findings]
        assert codes == [code]


def test_a_bar_in_an_id_is_no_separator(tmp_path: Path) -> None:
    content = RUN.replace("d0", "a|b|c|d0").replace("base", "x,y,z,t")
    assert _finding("R103", _report("R103", content, Case("", "", None), tmp_path)) is None


def test_swapped_columns_are_not_subtopics(tmp_path: Path) -> None:
    path = write(tmp_path / "qrels", "1 d01 0 2\n1 d02 0 0\n2 d01 0 1\n2 d03 0 0\n")
    assert {finding.code for finding in validate_qrels(path).errors} == {"Q108"}


def test_damaged_streams_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.run.gz"
    data = bytearray(gzip.compress(RUN.encode(), mtime=0))
    data[-8] ^= 1
    path.write_bytes(data)
    [finding] = validate_run(path).findings
    assert (finding.code, "CRC check failed" in finding.message) == ("F111", True)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3),
            st.sampled_from([1.0, 2.0, 3.0, -math.inf, math.inf, 1e-9]),
            st.integers(1, 9),
        ),
        min_size=1,
    )
)
def test_agreement_of_ranks_and_scores_is_counted_over_all_pairs(rows):
    rows.sort(key=lambda row: (row[0], row[2]))
    query, score, rank = (np.array(one) for one in zip(*rows, strict=True))
    numbers = np.unique(query, return_inverse=True)[1].astype(np.uint32)
    ordered = Ordered(None, numbers, rank, score)
    rising = set(numbers[ordered.rises].tolist())
    for number in np.unique(numbers).tolist():
        of_query = [row[1:] for row in rows if row[0] == np.unique(query)[number]]
        pairs = [(a, b) for a, b in combinations(of_query, 2) if a[0] != b[0] and a[1] != b[1]]
        falls = sum(1 if (a[1] < b[1]) == (a[0] > b[0]) else -1 for a, b in pairs)
        expected = falls / max(1, len(pairs)) if number in rising else 1
        assert ordered.taus[number] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("n_reversed", "severity"), [(10, "error"), (9, "error"), (8, "warning"), (5, None)]
)
def test_reversed_scores_are_an_error_in_nine_of_ten_queries(tmp_path, n_reversed, severity):
    rows = [
        f"{query} Q0 d{rank} {rank} {rank // 2 if query < n_reversed else -rank} t"
        for query in range(10)
        for rank in range(1, 9)
    ]
    (tmp_path / "run").write_text("\n".join([*rows, "x Q0 a 1 1 t", ""]))
    found = [one for one in validate_run(tmp_path / "run").findings if one.code == "R121"]
    assert [one.severity for one in found] == ([severity] if severity else [])


def test_one_document_that_is_out_of_place_does_not_hide_reversed_scores(tmp_path):
    rows = [f"1 Q0 d{rank} {rank} {99 if rank == 1 else rank} t" for rank in range(1, 51)]
    (tmp_path / "run").write_text("\n".join([*rows, ""]))
    (found,) = [one for one in validate_run(tmp_path / "run").findings if one.code == "R121"]
    assert found.severity == "error"
    assert found.blocks_scoring
