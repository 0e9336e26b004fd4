"""Every rule: a file that breaks it, and one that nearly does."""

from __future__ import annotations

import gzip
import math
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.formats.tables import Topics
from trectools_plus.testsets.validation import validate_test_sets
from trectools_plus.validation import (
    CATALOGUE,
    FileReport,
    Finding,
    validate_qrels,
    validate_run,
    validate_topics,
)
from trectools_plus.validation.views.places import Ordered

RUN = (
    "1 Q0 d01 1 9.5 base\n1 Q0 d02 2 8.0 base\n1 Q0 d03 3 7.25 base\n"
    "2 Q0 d07 1 5.5 base\n2 Q0 d05 2 5.0 base\n3 Q0 d09 1 3.0 base\n"
)
QRELS = "1 0 d01 2\n1 0 d02 0\n2 0 d05 1\n2 0 d07 0\n3 0 d09 1\n3 0 d08 0\n"
TSV = "1\tfirst query\n2\tsecond query\n3\tthird query\n"
SET = (
    'queries:\n  - id: "1"\n    text: first query\n    relevant: {d01: 2, d02: 0}\n'
    '  - id: "2"\n    text: second query\n    relevant: {d03: 1, d04: 0}\n'
)
TERMS = SET.replace("d01", "TOY:0005").replace("d02", "TOY:0004").replace("d03", "TOY:0006")
TERMS = TERMS.replace("d04", "TOY:0007")
TOY = Path(__file__).parents[2] / "fixtures" / "ontology" / "toy.obo"
TOPICS = Topics.from_dict({"1": "one", "2": "two", "3": "three"})


@dataclass(frozen=True)
class Case:
    """A file that breaks a rule on ``line``, and one that does not although it looks like it."""

    bad: str | bytes
    good: str | bytes
    line: int | None
    severity: str | None = None  # where it is not the rule's own
    qrels: str | None = None
    topics: Topics | None = None
    name: str = "input.txt"
    collection: pl.Series | None = None
    part: str | None = None  # another part of the same split


KNOWN = pl.Series([f"d{n:02}" for n in range(20)])

CASES: dict[str, Case] = {
    "F101": Case("# a\n\n", RUN, None),
    "F102": Case("\ufeff" + RUN, RUN.replace("d01", "d\ufeff01"), 1),
    "F103": Case(RUN.encode().replace(b"d03", b"d\xe93"), RUN.replace("d03", "dé3"), 3),
    "F104": Case(RUN.replace("\n", "\r\n"), RUN, None),
    "F105": Case(RUN.replace("\n", "\r"), RUN.replace("\n", "\r\n"), 1),
    "F106": Case(RUN.replace("d02", "d\x0002"), RUN.replace("d02", "d0\\002"), 2),
    "F107": Case("# note\n" + RUN, RUN.replace("d01", "#d01"), 1),
    "F108": Case(RUN.replace("\n2", "\n \n2", 1), RUN, 4),
    "F109": Case(RUN[:-1], RUN, None),
    "F110": Case(RUN.replace("d02", "d" * 70_000), RUN.replace("d02", "d" * 60_000), 2),
    "F112": Case(gzip.compress(RUN.encode(), mtime=0), RUN, None),
    "F111": Case(
        gzip.compress(RUN.encode(), mtime=0)[:-9], gzip.compress(RUN.encode(), mtime=0), None
    ),
    "R101": Case(RUN.replace(" 8.0 base", " 8.0"), RUN, 2),
    "R102": Case(RUN.replace("d02", "d02 b"), RUN.replace("d02", "d02_b"), 2),
    "R103": Case("1,Q0,d01,1,9.5,base\n1,Q0,d02,2,9,base\n", RUN.replace("d01", "d,0,1"), 1),
    "R104": Case(QRELS, RUN, 1),
    "R105": Case("qid Q0 docno rank score tag\n" + RUN, "qid Q0 docno 1 99 tag\n" + RUN, 1),
    "R106": Case(RUN.replace("1 Q0", "1  Q0"), RUN.replace(" ", "\t"), None),
    "R107": Case(RUN.replace("Q0 d02", "0 d02"), RUN, 2),
    "R108": Case(
        "1 d01 Q0 1 9.5 t\n1 d02 Q0 2 8 t\n2 d01 Q0 1 7 t\n",
        "1 Q0 d01 1 9.5 t\n2 Q0 d01 1 8 t\n3 Q0 d01 1 7 t\n",
        1,
    ),
    "R110": Case(RUN.replace("9.5", "9,5"), RUN.replace("9.5", "+9.5e+0"), 1),
    "R111": Case(RUN.replace("8.0", "NaN"), RUN.replace("9.5", "1e308"), 2),
    "R112": Case("#1 Q0 d10 4 6.0 base\n" + RUN, "#1 Q0 d10 4 six base\n" + RUN, 1),
    "R113": Case(RUN.replace("3.0", "3e-400"), RUN.replace("3.0", "0.0e-400"), 6),
    "R114": Case(RUN.replace("d02", "d\u00a002"), RUN.replace("d02", "d\u4e2d02"), 2),
    "R115": Case(RUN.replace("d03", "007"), RUN.replace("d03", "100").replace("d01", "NASA"), 3),
    "R120": Case(RUN.replace("d02 2", "d02 two"), RUN.replace("d02 2", "d02 02"), 2),
    "R121": Case(
        "1 Q0 a 1 0.1 t\n1 Q0 b 2 0.2 t\n2 Q0 a 1 0.1 t\n2 Q0 b 2 0.2 t\n",
        "1 Q0 a 1 0.1 t\n1 Q0 b 2 0.2 t\n2 Q0 a 1 0.3 t\n2 Q0 b 2 0.2 t\n",
        2,
    ),
    "R122": Case(RUN.replace("d03 3", "d03 2"), RUN, 3),
    "R123": Case("1 Q0 a 0 2 t\n1 Q0 b 1 1 t\n", "1 Q0 b 2 1 t\n1 Q0 a 1 2 t\n", 1),
    "R124": Case(RUN.replace("d03 3", "d03 7"), "1 Q0 b 2 1 t\n1 Q0 a 1 2 t\n", 3),
    "R125": Case(RUN.replace("8.0", "9.9"), RUN.replace("8.0", "9.49"), 2),
    "R126": Case("1 Q0 b 2 1 t\n1 Q0 a 1 2 t\n", RUN, 2),
    "R127": Case(RUN + "1 Q0 d77 4 1 base\n", RUN + "01 Q0 d77 1 1 base\n", 7),
    "R128": Case(RUN.replace("2 Q0", "4 Q0"), RUN.replace("3 Q0", "10 Q0"), None),
    "R131": Case(RUN.replace("d03", "d01"), RUN.replace("d03", "D01"), 3),
    "R141": Case(RUN.replace("8.0", "9.5"), RUN.replace("8.0", "9.4"), 2),
    "R142": Case(RUN.replace("5.0", "5.5"), RUN.replace("5.0", "5.4"), 5),
    "R143": Case(RUN.replace("8.0", "9.49999999"), RUN.replace("8.0", "9.499"), 2),
    "R151": Case(RUN.replace("d05 2 5.0 base", "d05 2 5.0 Base"), RUN, 5),
    "R152": Case(RUN.replace("base", "a+b"), RUN.replace("base", "a_b.c-" + "d" * 58), 1),
    "R161": Case(
        "".join(f"1 Q0 d{n} {n} {999 - n} t\n" for n in range(1, 102)),
        "".join(f"1 Q0 d{n} {n} {999 - n} t\n" for n in range(1, 101)),
        101,
    ),
    "Q101": Case(QRELS.replace("d02 0", "d02"), QRELS, 2),
    "Q102": Case(QRELS.replace("d02", "d02 b"), QRELS.replace("d02", "d02_b"), 2),
    "Q103": Case("qid iter docid grade\n" + QRELS, "qid iter docid 1\n" + QRELS, 1),
    "Q104": Case(RUN, QRELS.replace(" 0 d", " Q0 d"), 1),
    "Q110": Case(QRELS.replace("d02 0", "d02 no"), QRELS.replace("d02 0", "d02 +0"), 2),
    "Q111": Case(QRELS.replace("d01 2", "d01 0.9"), QRELS, 1),
    "Q112": Case("#1 0 d10 1\n" + QRELS, "#1 0 d10 one\n" + QRELS, 1),
    "Q106": Case(QRELS.replace(" d02", "\vd02"), QRELS.replace(" ", "\t "), 2),
    "Q108": Case("1 d01 0 2\n1 d02 0 0\n", "1 1 d01 2\n1 2 d02 0\n", 1),
    "Q114": Case(QRELS.replace("d02", "d\u00a002"), QRELS.replace("d02", "d\u4e2d02"), 2),
    "Q121": Case(QRELS.replace("d02 0", "d02 -1"), QRELS.replace("d02 0", "d02 -0"), 2),
    "Q122": Case(QRELS.replace("d01 2", "d01 128"), QRELS.replace("d01 2", "d01 4"), 1),
    "Q131": Case(QRELS.replace("d09 1", "d09 0"), QRELS.replace("d08 0", "d08 -1"), 5),
    "Q132": Case(
        QRELS.replace("d09 1", "d09 -2").replace("d08 0", "d08 -3"),
        QRELS.replace("d08 0", "d08 -2"),
        5,
    ),
    "Q133": Case("1 0 a 0\n1 0 b 0\n", "1 0 a 0\n1 0 b 1\n", None),
    "Q134": Case("1 0 a 1\n2 0 b 3\n", "1 0 a 1\n2 0 b 0\n", None),
    "Q135": Case("1 1 a 0\n1 0 b 0\n", "1 1 a 0\n1 0 b 1\n", 1),
    "Q141": Case(QRELS + "1 0 d01 2\n", QRELS + "1 0 D01 2\n", 7),
    "Q142": Case(QRELS + "1 0 d01 0\n", QRELS + "2 0 d01 0\n", 7),
    "Q143": Case("1 1 a 1\n1 2 a 0\n1 1 b 0\n", "1 1 a 1\n1 2 b 0\n2 2 a 0\n", 2),
    "Q151": Case("1 0 a 1\n2 0 a 1\n1 0 b 0\n", "1 0 a 1\n1 0 b 1\n2 0 a 0\n", 3),
    "P101": Case(RUN, RUN.replace("2 Q0", "9 Q0"), None, qrels="a 0 d01 1\n1 0 d1 0\n"[:10]),
    "P102": Case(RUN + "9 Q0 d01 1 2 base\n", RUN, 7, qrels=QRELS),
    "P103": Case(RUN.replace("3 Q0 d09 1 3.0 base\n", ""), RUN, None, qrels=QRELS),
    "P104": Case(RUN.replace("3 Q0", "03 Q0"), RUN.replace("3 Q0", "30 Q0"), 6, qrels=QRELS),
    "P105": Case(RUN.replace("d0", "x0"), RUN.replace("d02", "x02"), None, qrels=QRELS),
    "P106": Case(RUN.replace("d02", "D02"), RUN.replace("d02", "E02"), 2, qrels=QRELS),
    "P107": Case(RUN + "9 Q0 d01 1 2 base\n", RUN, 7, topics=TOPICS),
    "P108": Case(RUN.replace("3 Q0 d09 1 3.0 base\n", ""), RUN, None, topics=TOPICS),
    "P109": Case(RUN.replace("d07", "d77"), RUN, 4, collection=KNOWN),
    "P110": Case(RUN.replace("2 Q0 d07", "2 Q0 2"), RUN.replace("2 Q0 d07", "2 Q0 02"), 4),
    # The second tie is between documents of one grade, so that its order changes nothing.
    "P111": Case(
        RUN.replace("8.0", "9.5"),
        RUN.replace("5.0", "5.5").replace("d07", "d06"),
        None,
        qrels=QRELS.replace("2 0 d07 0", "2 0 d06 1"),
    ),
    "P112": Case(QRELS + "9 0 d01 1\n", QRELS, 7, topics=TOPICS),
    "T101": Case(TSV.replace("2\t", "2 "), TSV, 2),
    "T102": Case(TSV.replace("d q", "d\tq", 1), TSV.replace("d q", "d  q"), 2),
    "T103": Case("qid\ttext\n" + TSV, "q\ttext\n" + TSV, 1),
    "T104": Case(SET.replace("  - id", "\t- id"), SET.replace("id: ", "id:  "), 2, name="a.yaml"),
    "T105": Case(SET.replace('"2"', "null"), SET.replace('"2"', '"null"'), 5, name="a.yaml"),
    "T106": Case(
        SET.replace("relevant: {d03", "relevent: {d03"),
        SET.replace("text: s", "description: relevent\n    text: s"),
        7,
        name="a.yaml",
    ),
    "T111": Case(TSV + "2\tsecond query\n", TSV + "02\tsecond query\n", 4),
    "T112": Case(TSV + "2\tother\n", TSV + "2\tsecond query\n", 4),
    "T113": Case(TSV.replace("2\t", "q 2\t"), TSV.replace("2\t", "q_2\t"), 2),
    "T114": Case(SET.replace('"2"', "010"), SET.replace('"2"', "!!str 010"), 5, name="a.yaml"),
    "T115": Case(
        SET.replace("first query", "NO"), SET.replace("first query", "None"), 3, name="a.yaml"
    ),
    "T116": Case(SET.replace("d04: 0", "d03: 0"), SET.replace("d04", "D03"), 7, name="a.yaml"),
    "T117": Case(
        SET.replace("first", "C #"),
        SET.replace("first", "C#").replace("0}", "0} # c"),
        3,
        name="a.yaml",
    ),
    "T121": Case(TSV.replace("second query", ""), TSV.replace("second query", "?"), 2),
    "T122": Case(TSV.replace("second", "First "), TSV.replace("second", "first-"), 2),
    "T123": Case(TSV.replace("second", "a " * 1000), TSV.replace("second", "a " * 999), 2),
    "T131": Case(
        SET.replace("{d03: 1, d04: 0}", "{}"), SET.replace("d03: 1", "d03: 0"), 7, name="a.yaml"
    ),
    "T118": Case(
        SET.replace("text: f", "difficulty: simple\n    text: f"),
        SET.replace("text: f", "difficulty: easy\n    hpo_domain: ~\n    text: f"),
        3,
        name="a.yaml",
    ),
    "T201": Case(TERMS.replace("TOY:0006", "TOY:9999"), TERMS, 7, name="a.yaml"),
    "T202": Case(TERMS.replace("TOY:0006", "TOY:0011"), TERMS, 7, name="a.yaml"),
    "T203": Case(TERMS.replace("TOY:0004", "TOY:0104"), TERMS, 4, name="a.yaml"),
    "T211": Case(
        SET.replace("d01: 2", "d01: 4"), SET.replace("d01: 2", "d01: 3"), 4, name="a.yaml"
    ),
    "T212": Case(
        SET.replace("d03: 1", "d03: 0"), SET.replace("d04: 0", "d04: -1"), 5, name="a.yaml"
    ),
    "T213": Case(TSV, SET, None),
    "T223": Case(SET, f"metadata: {{language: en}}\n{SET}", None, name="a.yaml"),
    "T231": Case(
        SET.replace("second query", "queries, first"),
        SET.replace("second query", "first query 2"),
        6,
        name="a.yaml",
    ),
    "T241": Case(
        SET.replace('"1"', '"3"').replace('"2"', '"4"'),
        SET.replace("first", "third").replace("second", "fourth"),
        3,
        name="a.yaml",
        part=SET,
    ),
    "T242": Case(
        SET.replace("first", "third").replace("second", "fourth").replace('"1"', '"3"'),
        SET.replace('"1"', '"3"').replace('"2"', '"4"'),
        5,
        name="a.yaml",
        part=SET,
    ),
}


def _write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def _report(code: str, content: str | bytes, case: Case, folder: Path) -> FileReport:
    path = _write(folder / case.name, content)
    if code.startswith("T2"):
        parts = [_write(folder / "part.yaml", case.part)] if case.part else []
        ontology = TOY if code.startswith("T20") else None
        return [*validate_test_sets([*parts, path], ontology=ontology)][-1]
    if code.startswith("T"):
        return validate_topics(path)
    if code.startswith("Q") or code == "P112":
        return validate_qrels(path, topics=case.topics)
    qrels = _write(folder / "qrels.txt", case.qrels) if case.qrels else None
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
    assert len(CASES) == 103


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


@pytest.mark.parametrize(
    ("code", "content", "severity"),
    [
        ("F104", RUN.replace("\n", "\r\n", 1), "warning"),
        ("R106", RUN.replace(" d02", "\fd02"), "warning"),
        (
            "R112",
            RUN.replace("1 Q0", "#1 Q0").replace("\n2", "\n#2").replace("\n3", "\n#3"),
            "error",
        ),
        ("R114", RUN.replace("d02", "d\u200b02"), "warning"),
        ("Q114", QRELS.replace("d02", "d\u200b02"), "warning"),
        ("R120", RUN.replace("d02 2", "d02 2.0"), "warning"),
        ("R120", RUN.replace("d01 1", "d01 -1"), "error"),
        ("R141", RUN.replace("d02", "d00").replace("8.0", "9.5"), "info"),
        ("R142", "1 Q0 b 1 0 t\n1 Q0 a 2 0 t\n2 Q0 b 1 1 t\n2 Q0 a 2 1 t\n", "error"),
        ("Q122", QRELS.replace("d01 2", "d01 11"), "warning"),
        ("Q122", QRELS.replace("d01 2", "d01 5"), "info"),
        ("Q122", QRELS.replace("d01 2", "d01 99999999999999999999"), "error"),
        ("Q132", QRELS.replace("3 0 d09 1\n3 0 d08 0\n", "3 0 d09 -1\n"), "warning"),
        ("F110", RUN + "1 Q0 " + "d" * (16 << 20) + " 4 1 base\n", "error"),
        ("T114", '{"id": 7, "text": "a"}\n', "warning"),
        ("T114", '{"id": 7.5, "text": "a"}\n', "error"),
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
        (
            "R131",
            RUN.replace("d03", "d01"),
            "d01 is repeated in query 1 (line 1: score 9.5; here: 7.25)",
        ),
        (
            "R110",
            RUN.replace("9.5", "9,5"),
            "score '9,5' is not a number; trec_eval reads only its start",
        ),
        ("R111", RUN.replace("9.5", "1e400"), "score '1e400' is not a finite number"),
        ("R101", RUN.replace(" base", ""), "5 columns, need qid"),
        ("R102", RUN.replace("d02", "d02 b"), "7 columns; an id"),
        (
            "R121",
            "1 Q0 a 9.5 1 t\n1 Q0 b 8.5 2 t\n1 Q0 c 8.1 3 t\n",
            "columns 4 and 5 look swapped",
        ),
        ("R123", RUN.replace("09 1", "09 0"), "ranks start at 0 in 1 of 3 queries"),
        ("R124", RUN.replace("d03 3", "d03 7"), "rank 7 follows 2 in query 1"),
        ("R125", RUN.replace("8.0", "9.9"), "rank 2 has score 9.9, but rank 1 has 9.5"),
        ("R114", RUN.replace("d02", "d\u00a002"), "character U+00A0;"),
        ("R114", RUN.replace(" ", "\u00a0", 1), "character U+00A0;"),
        ("R114", "\ufeff" + RUN.replace(" ", "\u00a0", 1), "U+00A0;"),
        ("F103", b"\xff\xfe", "the text is utf-16"),
        ("F103", b"\x00\x00\xfe\xff", "the text is utf-32"),
        ("R141", RUN.replace("8.0", "9.5"), "d01 and d02 tie at 9.5; trec_eval puts d02 first"),
        ("R143", RUN.replace("8.0", "9.49999999"), "9.5 and 9.49999999 are equal in float32"),
        ("Q121", QRELS.replace("d02 0", "d02 -1"), "1 row with a grade below 0, the first -1;"),
        ("Q131", QRELS.replace("d09 1", "d09 0"), "1 of 3 queries without a relevant document: 3"),
        ("Q142", QRELS + "1 0 d01 0\n", "d01 has grade 0 here but 2 on line 1"),
        (
            "Q111",
            QRELS.replace("d01 2", "d01 0.9"),
            "grade 0.9 is not a whole number; trec_eval ignores the fraction",
        ),
        (
            "F110",
            RUN + "1 Q0 " + "d" * (16 << 20) + " 4 1 base\n",
            "the rest of the file is not read",
        ),
        ("R108", "1 d01 Q0 1 9.5 t\n", "look swapped: 'd01' and 'Q0'"),
        ("R108", "1 d01 0 1 9.5 t\n1 d02 0 2 8.5 t\n", "look swapped: 'd01' and '0'"),
        ("R115", RUN.replace("d02", "NA"), "document id 'NA' is read as missing"),
        (
            "R115",
            RUN.replace("d02", "1e5"),
            "document id '1e5' is read as missing or as another number",
        ),
        (
            "R115",
            RUN.replace("2 Q0", "02 Q0"),
            "query id '02' or document id 'd07' is read as missing or",
        ),
        ("R152", RUN.replace("base", "a+" + "b" * 78), "tag 'a+bbb"),
        ("Q143", "7 1 a 1\n7 2 a 0\n", "a is judged for 1 and 2 in query 7"),
        ("Q104", RUN.replace("Q0", "0"), "this is a run (6 columns)"),
        ("Q108", "1 a x 1\n1 b x 0\n2 a x 0\n", "column 3 is always 'x'"),
        ("R103", RUN.replace(" ", "|"), "pipe-separated"),
        ("R103", RUN.replace(" ", " | "), "pipe-separated"),
        ("R103", RUN.replace(" ", ", "), "comma-separated"),
        ("R103", RUN.replace(" ", "; "), "semicolon-separated"),
        ("R114", RUN.replace("d02", "d0\u202e2"), "character U+202E inside"),
        ("Q114", QRELS.replace("d02", "d0\u20692"), "character U+2069 inside"),
        ("F103", RUN.encode("utf-16-be"), "the text is utf-16"),
        ("F103", RUN.encode("utf-16-le"), "the text is utf-16"),
        ("F103", RUN.encode("utf-32-be"), "the text is utf-32"),
        ("F103", RUN.encode("utf-16"), "the text is utf-16"),
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
    path = tmp_path / "qrels"
    path.write_text("1 d01 0 2\n1 d02 0 0\n2 d01 0 1\n2 d03 0 0\n")
    codes = {finding.code for finding in validate_qrels(path).errors}
    assert codes == {"Q108"}


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
