"""Topics and test sets with one fault each: its rule, severity and line, and nothing worse."""

from __future__ import annotations

from pathlib import Path

import pytest

from trectools_plus.validation import FileReport, validate_topics

TSV = "1\tfirst query\n2\tsecond query\n3\tthird query\n"
JSONL = '{"qid":"1","query":"a"}\n{"qid":"2","query":"b"}\n'
SET = 'queries:\n  - id: "1"\n    text: first query\n    relevant: {d01: 2, d02: 0}\n'
CASE = SET.partition("\n")[2]
XML = (
    '<all>\n<topic number="1">\n<query>a</query>\n</topic>\n'
    '<topic number="2">\n<query>b</query>\n</topic>\n</all>\n'
)
SGML = "<top>\n<num> Number: 1\n<title> a\n</top>\n<top>\n<num> Number: 2\n<title> b\n</top>\n"


def _report(folder: Path, name: str, content: str | bytes) -> FileReport:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return validate_topics(path)


def _summary(report: FileReport) -> list[tuple[str, str, int | None]]:
    return [(finding.code, finding.severity.value, finding.line) for finding in report.findings]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (TSV.replace("\t", " "), ("T101", "error", 1)),
        ("id,text\n1,first\n", ("T101", "warning", 1)),
        ("Topic-ID\tQuestion\n" + TSV, ("T103", "error", 1)),
        ("\tno id\n" + TSV, ("T105", "error", 1)),
        (TSV.replace("second query", "   "), ("T121", "error", 2)),
        (TSV.replace("second", "FIRST "), ("T122", "warning", 2)),
        (TSV.replace("second query", "first query?"), ("T122", "warning", 2)),
        (TSV.replace("2\t", "q\u00a02\t"), ("T113", "error", 2)),
        (TSV.replace("2\t", "#2\t"), ("T113", "error", 2)),
        (TSV.replace("2\t", " 2\t"), ("T113", "error", 2)),
        (TSV.replace("3\t", "3 \t"), ("T113", "error", 3)),
        ("  \tno id\n" + TSV, ("T105", "error", 1)),
        (TSV.replace("2\t", "2\x07\t"), ("T113", "error", 2)),
        (TSV.replace("\n", "\r\n"), ("F104", "info", None)),
        (TSV.replace("\n", "\r\n", 1), ("F104", "warning", None)),
        (TSV.replace("\n", "\r"), ("F105", "error", 1)),
        (TSV.replace("\n2", "\n\n2"), ("F108", "warning", 2)),
        ("# note\n" + TSV, ("F107", "warning", 1)),
        (TSV[:-1], ("F109", "info", None)),
        (TSV.replace("sec", "s\0c"), ("F106", "error", 2)),
        (TSV.encode().replace(b"sec", b"s\xe9c"), ("F103", "error", 2)),
        (TSV.encode("utf-16"), ("F103", "error", 1)),
        ("", ("F101", "error", None)),
        (" \n\n", ("F101", "error", None)),
        ("1\t" + "x" * (16 << 20) + "\n", ("F110", "error", 1)),
        ("1\t" + "x" * (1 << 17) + "\n", ("F110", "warning", 1)),
    ],
)
def test_tsv(content: str | bytes, expected: tuple[str, str, int | None], tmp_path: Path) -> None:
    assert _summary(_report(tmp_path, "topics.tsv", content)) == [expected]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (JSONL.replace('"b"', "NaN"), ("T104", "error", 2)),
        (JSONL.replace('"b"', '"\\ud800"'), ("T104", "error", 2)),
        (JSONL + '["3","c"]\n', ("T104", "error", 3)),
        (JSONL.replace('{"qid":"2"', '# {"qid":"2"'), ("T104", "error", 2)),
        (JSONL.replace('"2"', "null"), ("T105", "error", 2)),
        (JSONL.replace('"2"', '""'), ("T105", "error", 2)),
        (JSONL.replace('"b"', "null"), ("T105", "error", 2)),
        (JSONL.replace('"b"', '["b"]'), ("T105", "error", 2)),
        (JSONL.replace('{"qid":"2"', '{"id":"2"'), ("T105", "error", 2)),
        (JSONL.replace('"2"', "2"), ("T114", "warning", 2)),
        (JSONL.replace('"2"', "1e3"), ("T114", "error", 2)),
        (JSONL.replace('"2"', "true"), ("T114", "error", 2)),
        (JSONL.replace('"b"', "false"), ("T115", "error", 2)),
        (JSONL.replace('"qid":"2"', '"qid":"2","qid":"3"'), ("T116", "error", 2)),
        (JSONL.replace('"b"', '""'), ("T121", "error", 2)),
        (JSONL.replace('"2"', '"1"'), ("T112", "error", 2)),
        (JSONL.replace('"b"', '"A"'), ("T122", "warning", 2)),
        (JSONL.replace("\n", "\n\n", 1), ("F108", "warning", 2)),
    ],
)
def test_json_lines(content: str, expected: tuple[str, str, int], tmp_path: Path) -> None:
    assert _summary(_report(tmp_path, "topics.jsonl", content)) == [expected]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.txt", SGML.replace("<num> Number: 2\n", ""), ("T105", "error", 5)),
        ("a.txt", SGML.replace("Number: 2", "Number: 1"), ("T112", "error", 5)),
        ("a.txt", SGML.replace("Number: 2", "Number: q 2"), ("T113", "error", 5)),
        ("a.txt", SGML.replace("</top>\n<top>\n", ""), ("T113", "error", 1)),
        (
            "a.xml",
            '<all>\n<topic number="1"><query>a</query></topic>\n<topic number="2"/>\n</all>\n',
            ("T105", "error", 3),
        ),
        ("a.xml", '<topics>\n<topic number="1">a & b</topic></topics>\n', ("T104", "warning", 2)),
        ("a.txt", SGML.replace("<title> b", "<title> "), ("T121", "error", 7)),
        ("a.txt", SGML.replace("<title> b", "<title>\nTopic:\n"), ("T121", "error", 7)),
        ("a.txt", SGML.replace("<title> b\n", ""), ("T105", "error", 5)),
        ("a.xml", XML.replace(">b<", "><"), ("T121", "error", 6)),
        ("a.xml", XML.replace("<query>b</query>", "<query/>"), ("T121", "error", 6)),
        (
            "a.xml",
            "<!DOCTYPE a [<!ENTITY b 'b'>]>\n" + XML.replace("b<", "&b;<"),
            ("T104", "error", 7),
        ),
        (
            "a.xml",
            "<!DOCTYPE a SYSTEM 'a.dtd'>\n" + XML.replace("b<", "&b;<"),
            ("T104", "error", 7),
        ),
        ("a.html", "<html>\n</html>\n", ("T104", "error", 1)),
    ],
)
def test_markup(name: str, content: str, expected: tuple[str, str, int], tmp_path: Path) -> None:
    assert _summary(_report(tmp_path, name, content)) == [expected]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (SET.replace('"1"', "12:30"), ("T114", "error", 2)),
        (SET.replace('"1"', "1.10"), ("T114", "error", 2)),
        (SET.replace("first query", "first\n      query # one"), ("T117", "warning", 4)),
        (SET.replace('"1"', "0x1F"), ("T114", "error", 2)),
        (SET.replace('"1"', "1_000"), ("T114", "error", 2)),
        (SET.replace('"1"', "2024-01-01"), ("T114", "error", 2)),
        (SET.replace('"1"', "off"), ("T114", "error", 2)),
        (SET.replace('"1"', ".nan"), ("T114", "error", 2)),
        (SET.replace('"1"', "7"), ("T114", "warning", 2)),
        (SET.replace("d01: 2", "010: 2"), ("T114", "error", 4)),
        (SET.replace('"1"', "~"), ("T105", "error", 2)),
        (SET.replace('"1"', '""'), ("T105", "error", 2)),
        (SET.replace("first query", ""), ("T105", "error", 3)),
        (SET.replace("    text: first query\n", ""), ("T105", "error", 2)),
        (SET.replace("d01: 2", "d01: ~"), ("T105", "error", 4)),
        (SET.replace("first query", "12:30"), ("T115", "error", 3)),
        (SET.replace("first query", "on"), ("T115", "error", 3)),
        (SET.replace("first query", "2024"), ("T115", "warning", 3)),
        (SET.replace("d02: 0", "d02: no"), ("T115", "error", 4)),
        (SET.replace("d02: 0", "d02: 0.5"), ("Q111", "error", 4)),
        (SET.replace("d02: 0", "d02: 2.0"), ("Q111", "error", 4)),
        (SET.replace("d02: 0", "d02: high"), ("Q110", "error", 4)),
        (SET.replace("d02: 0", 'd02: "1"'), ("Q110", "error", 4)),
        (SET.replace("d02: 0", "d02: 010"), ("Q110", "error", 4)),
        (SET.replace("d02: 0", "d02: [1]"), ("Q110", "error", 4)),
        (SET.replace("d02: 0", "d02: -1"), ("Q121", "warning", 4)),
        (SET.replace("d02: 0", "d02: 200"), ("Q122", "error", 4)),
        (SET.replace("d01: 2", "d01: 0"), ("Q133", "error", None)),
        (SET.replace("d02: 0", "d01: 0"), ("T116", "error", 4)),
        (SET.replace("text:", "text: b\n    text:"), ("T116", "error", 4)),
        (SET.replace("first query", "C # language"), ("T117", "warning", 3)),
        (SET.replace("first query", "C\t# language"), ("T117", "warning", 3)),
        (SET.replace("first query", "' '"), ("T121", "error", 3)),
        (SET.replace("relevant", "relevent"), ("T106", "error", 4)),
        (SET.replace("queries", "querys"), ("T106", "error", 1)),
        (SET + "    colour: red\n", ("T106", "error", 5)),
        (SET.replace("{d01: 2, d02: 0}", "{}"), ("T131", "warning", 4)),
        (SET.replace("{d01: 2, d02: 0}", ""), ("T131", "warning", 4)),
        (SET.replace("    relevant: {d01: 2, d02: 0}\n", ""), ("T131", "warning", 2)),
        (SET.replace("{d01: 2, d02: 0}", "d01"), ("T105", "error", 4)),
        (SET.replace("{d01: 2, d02: 0}", "[{doc_id: a, grad: 1}]"), ("T106", "error", 4)),
        (SET.replace("{d01: 2, d02: 0}", "[{doc_id: a}]"), ("T105", "error", 4)),
        (
            SET.replace("{d01: 2, d02: 0}", "[{doc_id: a, grade: 1}, {doc_id: a, grade: 1}]"),
            ("Q141", "warning", 4),
        ),
        (
            SET.replace("{d01: 2, d02: 0}", "[{doc_id: a, grade: 1}, {doc_id: a, grade: 0}]"),
            ("Q142", "error", 4),
        ),
        (SET.replace("d01: 2", '"d 01": 2'), ("T113", "error", 4)),
        (SET.replace('"1"', '"a\\tb"'), ("T113", "error", 2)),
        (SET.replace('"1"', '"#1"'), ("T113", "error", 2)),
        (SET + CASE, ("T111", "warning", 5)),
        (SET + CASE.replace("first", "other"), ("T112", "error", 5)),
        (SET + CASE.replace('"1"', '"2"'), ("T122", "warning", 6)),
        (SET.replace("\n    relevant", "\n\t relevant"), ("T104", "error", 4)),
        (SET.replace("first query", "what: why"), ("T104", "error", 3)),
        (SET.replace("first query", '"first'), ("T104", "error", 3)),
        (SET.replace("first query", "*gone"), ("T104", "error", 3)),
        (SET.replace("first query", "!!python/name:os.system a"), ("T104", "error", 3)),
        (SET.replace("first query", "a\x07b"), ("T104", "error", 3)),
        (SET + "---\n" + SET, ("T104", "error", 5)),
        (SET.replace("first", "? [a]\n    first"), ("T104", "error", 3)),
        ("queries: []\n", ("F101", "error", None)),
        ("queries:\n", ("F101", "error", None)),
        ("# nothing\n", ("F101", "error", None)),
        ("---\n", ("F101", "error", None)),
        ("just a text\n", ("T105", "error", 1)),
        ("name: a\nyear: 2024\n", ("T105", "error", 1)),
        ("queries: 7\n", ("T105", "error", 1)),
        ("queries: [7]\n", ("T105", "error", 1)),
    ],
)
def test_yaml(content: str, expected: tuple[str, str, int | None], tmp_path: Path) -> None:
    report = _report(tmp_path, "set.yaml", content)
    assert _summary(report) == [expected]
    assert report.kind == "testset"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"1":{"d01":NaN}}', ("T104", "error", 1)),
        ('{"1":{"d01":1},}', ("T104", "error", 1)),
        ('{"1":{"d01":1}', ("T104", "error", 1)),
        ('{"1":{"d01":1}}\n{', ("T104", "error", 2)),
        ("{'1':{}}", ("T104", "error", 1)),
        ('{"1":{"d01":01}}', ("T104", "error", 1)),
        ('{"1":{"d01":1,"d01":0}}', ("T116", "error", 1)),
        ('{"1":{"d01":1},\n"1":{"d02":1}}', ("T116", "error", 2)),
        ('{"1":{"d01":true}}', ("T115", "error", 1)),
        ('{"1":{"d01":null}}', ("T105", "error", 1)),
        ('{"1":{"d01":"1"}}', ("Q110", "error", 1)),
        ('{"1":{"d01":1.5}}', ("Q111", "error", 1)),
        ('{"1":{"d01":1},\n"2":{}}', ("T131", "warning", 2)),
        ('{"1":{"d01":1},\n"2":{"d01":-2}}', ("Q132", "error", 2)),
        ('{"1 a":{"d01":1}}', ("T113", "error", 1)),
        ('[{"text":"a","expected_hpo_ids":["d01"]},\n{"text":"a"}]', ("T131", "warning", 2)),
        ('{"queries":[{"id":1,"text":"a","relevant":["d01"]}]}', ("T114", "warning", 1)),
        ("[]", ("F101", "error", None)),
        ("{}", ("F101", "error", None)),
        ("", ("F101", "error", None)),
        ('\ufeff{"1":{"d01":1}}', ("F102", "warning", 1)),
    ],
)
def test_json(content: str, expected: tuple[str, str, int | None], tmp_path: Path) -> None:
    findings = _summary(_report(tmp_path, "set.json", content))
    assert expected in findings
    worse = {"error", "warning"} - {expected[1]} if expected[1] == "warning" else set()
    assert not worse & {severity for _, severity, _ in findings}


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.tsv", TSV, "topics"),
        ("a", TSV, "topics"),
        ("a.jsonl", JSONL, "topics"),
        ("a", JSONL, "topics"),
        ("a.json", JSONL, "topics"),
        ("a", '{"_id":"1","text":"a"}\n', "topics"),
        ("a.txt", SGML, "topics"),
        ("a.xml", '<?xml version="1.0"?>\n<topic number="1">a</topic>\n', "topics"),
        ("a.json", '[{"id": "1", "text": "a"}]\n', "topics"),
        ("a.yaml", SET, "testset"),
        ("a.yml", "--- # c\n" + SET, "testset"),
        ("a", SET, "testset"),
        ("a", "# c\n" + CASE.replace("\n  ", "\n").replace("  - ", "- ", 1), "testset"),
        ("a.json", '{"1":{"d01":1,"d02":0}}\n', "testset"),
        ("a", '{"1":{"d01":1,"d02":0}}\n', "testset"),
        ("a.json", '{"1":["d01"]}\n', "testset"),
        ("a.json", '[{"text":"a","hpo_ids":["HP:1"],"note":"x"}]\n', "testset"),
        ("a.json", '{"test_cases":[{"text":"a","hpo_ids":["HP:1"]}], "more": 1}\n', "testset"),
        ("a.yaml", SET.replace("first query", "C# language"), "testset"),
        ("a.yaml", SET.replace("first query", '"C # language"'), "testset"),
        ("a.yaml", SET.replace("0}", "0} # a comment"), "testset"),
        ("a.yaml", SET.replace('"1"', "!!str 010"), "testset"),
        ("a.yaml", SET.replace('"1"', "q1 # one"), "testset"),
        ("a.yaml", SET.replace("d01: 2", "d01: +2"), "testset"),
        ("a.yaml", "\n\n# c\n" + SET.replace("\n", "\n\n"), "testset"),
        ("a.yaml", "metadata: {dataset_id: x, note: no}\n" + SET, "testset"),
        ("a.yaml", "queries:\n  one: {text: a, relevant: [d01, d02]}\n", "testset"),
    ],
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
    path = tmp_path / "set.yaml"
    path.write_text(content, encoding="utf-8")
    [finding] = validate_topics(path, every_line=True).findings
    assert finding.count == 20
    assert list(finding.lines) == list(range(2, 62, 3))


def test_a_cut_gzip_is_a_finding(tmp_path: Path) -> None:
    import gzip

    assert _summary(_report(tmp_path, "a.tsv.gz", gzip.compress(TSV.encode())[:-5])) == [
        ("F111", "error", None)
    ]
    assert _summary(_report(tmp_path, "b.tsv.gz", gzip.compress(TSV.encode()))) == []


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
    assert "'runs validate' or 'qrels validate'" in finding.remedy
    assert _report(tmp_path, "topics.txt", "1\t2 plus 2\n").findings == ()
