"""Topics and test sets with one fault each: its rule, severity and line, and nothing worse."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from harness.files import write
from harness.tables import cases_of

from trectools_plus.validation import FileReport, validate_topics

TSV = "1\tfirst query\n2\tsecond query\n3\tthird query\n"
JSONL = '{"qid":"1","query":"a"}\n{"qid":"2","query":"b"}\n'
SET = 'queries:\n  - id: "1"\n    text: first query\n    relevant: {d01: 2, d02: 0}\n'
XML = (
    '<all>\n<topic number="1">\n<query>a</query>\n</topic>\n'
    '<topic number="2">\n<query>b</query>\n</topic>\n</all>\n'
)
SGML = "<top>\n<num> Number: 1\n<title> a\n</top>\n<top>\n<num> Number: 2\n<title> b\n</top>\n"


def _report(folder: Path, name: str, content: str | bytes) -> FileReport:
    path = write(folder / name, content if isinstance(content, bytes) else content.encode())
    return validate_topics(path)


def _summary(report: FileReport) -> list[list[object]]:
    return [[finding.code, finding.severity.value, finding.line] for finding in report.findings]


TEXTS = {"TSV": TSV, "JSONL": JSONL, "SGML": SGML, "XML": XML, "SET": SET}


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        *cases_of(__file__, "faults", **TEXTS),
        ("a.tsv", TSV.encode().replace(b"sec", b"s\xe9c"), ["F103", "error", 2]),
        ("a.tsv", TSV.encode("utf-16"), ["F103", "error", 1]),
        ("a.tsv", "1\t" + "x" * (16 << 20) + "\n", ["F110", "error", 1]),
        ("a.tsv", "1\t" + "x" * (1 << 17) + "\n", ["F110", "warning", 1]),
        ("a.tsv.gz", gzip.compress(TSV.encode(), mtime=0)[:-5], ["F111", "error", None]),
    ],
)
def test_a_fault_is_found(
    name: str, content: str | bytes, expected: list[object], tmp_path: Path
) -> None:
    report = _report(tmp_path, name, content)
    if name == "a.json":
        code, severity, _ = expected
        others = {"error"} if severity == "warning" else set()
        assert expected in _summary(report)
        assert not others & {finding.severity for finding in report.findings}, code
    else:
        assert _summary(report) == [expected]
    assert report.kind == "testset" or name != "a.yaml"


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    cases_of(__file__, "sound", **TEXTS),
)
def test_what_is_sound_has_no_findings(name: str, content: str, kind: str, tmp_path: Path) -> None:
    report = _report(tmp_path, name, content)
    assert report.findings == ()
    assert report.kind == kind
    assert report.rows == report.queries >= 1


def test_every_place_is_counted_and_listed(tmp_path: Path) -> None:
    content = "queries:\n" + "".join(
        f"  - id: {n}\n    text: t{n}\n    relevant: {{d: 1}}\n" for n in range(10, 30)
    )
    path = write(tmp_path / "set.yaml", content)
    [finding] = validate_topics(path, every_line=True).findings
    assert finding.count == 20
    assert list(finding.lines) == list(range(2, 62, 3))


RUN = "1 Q0 d01 1 9.5 base\n1 Q0 d02 2 8.0 base\n"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (RUN, 1),
        ("# note\n" + RUN.replace(" ", "\t").replace("Q0", "0"), 2),
        ("1 0 d01 2 \n1 0 d02 -1\n", 1),
        ("\n1\t0\td01\t2\r\n", 2),
    ],
)
def test_runs_and_qrels_are_no_topics(content: str, line: int, tmp_path: Path) -> None:
    [finding] = _report(tmp_path, "topics.txt", content).errors
    assert (finding.code, finding.fix, finding.line) == ("T101", "no", line)
    assert "'runs validate' or 'trectools-plus qrels validate'" in finding.remedy
    assert _report(tmp_path, "topics.txt", "1\t2 plus 2\n").findings == ()
