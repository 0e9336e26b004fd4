"""Each fix by hand: what goes in, what comes out, and what is left alone."""

from __future__ import annotations

import gzip
import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.validation import CATALOGUE, Fix, validate_qrels, validate_run
from trectools_plus.validation.fixes.engine import fix_qrels, fix_run, fix_topics, split_fix_values
from trectools_plus.validation.fixes.session import FixOptions
from trectools_plus.validation.fixes.summary import FixSummary
from trectools_plus.validation.rendering import render

OFFERS = {rule.code: rule.rule_fix for rule in CATALOGUE if rule.rule_fix is not None}

RUN = "1 Q0 d1 1 9.5 t\n1 Q0 d2 2 8.0 t\n2 Q0 d3 1 7.25 t\n"
QRELS = "1 0 d1 2\n1 0 d2 0\n2 0 d3 1\n"
TOPICS = "1\tone\n2\ttwo\n"


DEFAULTS = FixOptions()


@dataclass(frozen=True)
class Case:
    """A file before and after one fix."""

    before: str | bytes
    after: str
    options: FixOptions = DEFAULTS
    max_depth: int | None = None
    qrels: str | None = None


RUN_CASES: dict[str, Case] = {
    "F102": Case("\ufeff" + RUN, RUN),
    "F103": Case(RUN.replace("d2", "dé").encode("latin-1"), RUN.replace("d2", "dé")),
    "F104": Case(RUN.replace("\n", "\r\n"), RUN),
    "F105": Case(RUN.replace("\n", "\r"), RUN),
    "F107": Case("# note\n" + RUN.replace("\n2", "\n# a b\n2"), RUN),
    "F108": Case(RUN.replace("\n2", "\n\n \t\n2"), RUN),
    "F109": Case(RUN[:-1], RUN),
    "F112": Case(gzip.compress(RUN.encode(), mtime=0), RUN),
    "R101": Case(RUN.replace(" t\n", "\n"), RUN, FixOptions(tag="t")),
    "R102": Case(RUN.replace(" t\n", "  my  run \n"), RUN.replace(" t\n", " my_run\n")),
    "R105": Case("qid Q0 docno rank score tag\n" + RUN, RUN),
    "R106": Case(RUN.replace("1 Q0 d1", " 1\t Q0\vd1"), RUN),
    "R107": Case(RUN.replace("Q0 d2", "0 d2"), RUN),
    "R110": Case(RUN.replace(".", ","), RUN),
    "R120": Case(RUN.replace("d2 2", "d2 two"), RUN),
    "R122": Case(RUN.replace("d2 2", "d2 1"), RUN),
    "R123": Case(RUN.replace("d3 1", "d3 0"), RUN),
    "R124": Case(RUN.replace("d2 2", "d2 7"), RUN),
    "R125": Case(
        "1 Q0 d2 1 8.0 t\n1 Q0 d1 2 9.5 t\n2 Q0 d3 1 7.25 t\n2 Q0 d4 2 7 t\n3 Q0 a 1 2 t\n"
        "3 Q0 b 2 1 t\n",
        "1 Q0 d1 1 9.5 t\n1 Q0 d2 2 8.0 t\n2 Q0 d3 1 7.25 t\n2 Q0 d4 2 7 t\n3 Q0 a 1 2 t\n"
        "3 Q0 b 2 1 t\n",
    ),
    "R126": Case("1 Q0 d2 2 8.0 t\n1 Q0 d1 1 9.5 t\n2 Q0 d3 1 7.25 t\n", RUN),
    "R127": Case("1 Q0 d1 1 9.5 t\n2 Q0 d3 1 7.25 t\n1 Q0 d2 2 8.0 t\n", RUN),
    "R128": Case(
        "2 Q0 a 1 1 t\n10 Q0 a 1 1 t\n9 Q0 a 1 1 t\n",
        "2 Q0 a 1 1 t\n9 Q0 a 1 1 t\n10 Q0 a 1 1 t\n",
    ),
    "R131": Case(
        RUN + "1 Q0 d1 1 9.5 t\n1 Q0 d2 3 8.5 t\n",
        RUN.replace("d2 2 8.0", "d2 2 8.5"),
    ),
    "R141": Case(
        "1 Q0 d1 1 9.5 t\n1 Q0 d2 2 9.50 t\n1 Q0 d3 3 1 t\n",
        "1 Q0 d1 1 9.5 t\n1 Q0 d2 2 9.499999 t\n1 Q0 d3 3 1 t\n",
    ),
    "R142": Case(
        "1 Q0 d2 2 0 t\n1 Q0 d1 1 0 t\n1 Q0 d3 3 0 t\n2 Q0 a 1 3 t\n2 Q0 b 2 2.5 t\n",
        "1 Q0 d1 1 3 t\n1 Q0 d2 2 2 t\n1 Q0 d3 3 1 t\n2 Q0 a 1 3 t\n2 Q0 b 2 2.5 t\n",
    ),
    "R143": Case(
        "1 Q0 d1 1 0.75000001 t\n1 Q0 d2 2 0.75 t\n1 Q0 d3 3 0.5 t\n",
        "1 Q0 d1 1 0.75000001 t\n1 Q0 d2 2 0.74999994 t\n1 Q0 d3 3 0.5 t\n",
    ),
    "R151": Case(RUN.replace("8.0 t", "8.0 u"), RUN),
    "R152": Case(RUN.replace(" t\n", " my+run/1\n"), RUN.replace(" t\n", " my_run_1\n")),
    "R161": Case(
        "1 Q0 d1 1 9.5 t\n1 Q0 d2 2 8 t\n1 Q0 d3 3 8 t\n",
        "1 Q0 d1 1 9.5 t\n1 Q0 d3 2 8 t\n",
        max_depth=2,
    ),
    "P104": Case(RUN.replace("1 Q0", "01 Q0"), RUN, qrels=QRELS),
    "P106": Case(RUN.replace("d2", "D2"), RUN, qrels=QRELS),
    "P110": Case(RUN + "2 Q0 2 2 7 t\n", RUN),
}

QRELS_CASES: dict[str, Case] = {
    "Q101": Case("1 d1 2\n1 d2 0\n2 d3 1\n", QRELS),
    "Q103": Case("query iter document grade\n" + QRELS, QRELS),
    "Q106": Case(QRELS.replace("d1 2", "d1\f2"), QRELS),
    "Q111": Case(QRELS.replace("d1 2", "d1 2.0"), QRELS),
    "Q132": Case(QRELS + "3 0 a -2\n3 0 b -1\n", QRELS),
    "Q141": Case(QRELS.replace("2 0 d3", "1 0 d1 2\n2 0 d3"), QRELS),
    "Q142": Case("1 0 d1 1\n" + QRELS + "1 0 d1 0\n", QRELS),
    "Q151": Case("1 0 d1 2\n2 0 d3 1\n1 0 d2 0\n", QRELS),
}

TOPICS_CASES: dict[str, Case] = {
    "T101": Case("1 one\n2  two\n", TOPICS),
    "T102": Case("1\tone\n2\tt\two\n", "1\tone\n2\tt wo\n"),
    "T103": Case("query_id\ttext\n" + TOPICS, TOPICS),
    "T111": Case("1\tone\n1\tone \n2\ttwo\n", TOPICS),
    "T113": Case("1\tone\n q  2 \ttwo\n", "1\tone\nq_2\ttwo\n"),
    "T114": Case(
        "# c\nqueries:\n- id: 010   # eight\n  text: a\n  relevant: {no: 1, d2: 0}\n",
        '# c\nqueries:\n- id: "010"   # eight\n  text: a\n  relevant: {"no": 1, d2: 0}\n',
    ),
    "T115": Case(
        'queries:\n  - {id: "é", text: NO, relevant: {a: 1}}',
        'queries:\n  - {id: "é", text: "NO", relevant: {a: 1}}',
    ),
    "T117": Case(
        "queries:\n- id: a\n  text: C # \\x  \n  relevant: {b: 1}\n",
        'queries:\n- id: a\n  text: "C # \\\\x"  \n  relevant: {b: 1}\n',
    ),
}


def _write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def _fix(code: str, case: Case, folder: Path, name: str = "in.txt") -> tuple[FixSummary, str]:
    path, out = _write(folder / name, case.before), folder / "out.txt"
    codes = () if OFFERS[code].applied_by_default and code != "R131" else (code,)
    if code in TOPICS_CASES:
        summary = fix_topics(path, out, codes=codes, options=case.options)
    elif code in QRELS_CASES:
        summary = fix_qrels(path, out, codes=codes, options=case.options)
    else:
        qrels = _write(folder / "qrels.txt", case.qrels) if case.qrels else None
        summary = fix_run(
            path, out, codes=codes, max_depth=case.max_depth, options=case.options, qrels=qrels
        )
    return summary, out.read_bytes().decode() if out.exists() else ""


CASES = {**RUN_CASES, **QRELS_CASES, **TOPICS_CASES}


def test_every_fix_has_a_case() -> None:
    assert set(CASES) == set(OFFERS)


def test_rules_and_fixes_agree_on_what_can_be_fixed() -> None:
    safe = {code for code, offer in OFFERS.items() if offer.applied_by_default}
    for rule in CATALOGUE:
        assert (rule.code in OFFERS) == (rule.fix is not Fix.NO), rule.code
        if rule.fix is Fix.SAFE and rule.code != "R128":  # off unless it is selected
            assert rule.code in safe
        if rule.code in OFFERS:
            assert OFFERS[rule.code].what


def _values(code: str, text: str) -> list[float]:
    """The scores of a run, or the grades of qrels, of all rows that have one."""
    column = 4 if code in RUN_CASES else -1
    rows = [re.split(r"[\s,]+", line.strip()) for line in text.splitlines()]
    return sorted(float(row[column]) for row in rows if re.fullmatch(r"[+-]?[\d.]+", row[column]))


@pytest.mark.parametrize(
    "code", [code for code in (*RUN_CASES, *QRELS_CASES) if CATALOGUE[code].fix is Fix.ASK]
)
def test_fixes_that_delete_rows_or_rewrite_scores_declare_it(code: str) -> None:
    case = CASES[code]
    if isinstance(case.before, bytes):
        assert not OFFERS[code].effect
    else:
        changed = _values(code, case.before) != _values(code, case.after)
        assert bool(OFFERS[code].effect) == changed


@pytest.mark.parametrize("code", [code for code in CASES if OFFERS[code].effect])
def test_the_suggested_command_has_no_fix_that_changes_the_figures(
    code: str, tmp_path: Path
) -> None:
    case = CASES[code]
    path = _write(tmp_path / "in.txt", case.before)
    if code in QRELS_CASES:
        report = validate_qrels(path)
    else:
        qrels = _write(tmp_path / "qrels.txt", QRELS)
        report = validate_run(path, max_depth=case.max_depth, qrels=qrels)
    assert code in {finding.code for finding in report.findings}
    lines = render([report]).splitlines()
    assert not any(code in line for line in lines if "--fix" in line)
    (finding,) = [finding for finding in report.findings if finding.code == code]
    assert finding.effect
    assert f"  {code} {finding.effect}" in lines


@pytest.mark.parametrize("code", sorted(CASES))
def test_fix_gives_the_file_it_should(code: str, tmp_path: Path) -> None:
    case = CASES[code]
    before = case.before if isinstance(case.before, bytes) else case.before.encode()
    summary, after = _fix(code, case, tmp_path)
    assert after == case.after
    assert code in {one.code for one in summary.applied}
    assert summary.output == str(tmp_path / "out.txt")
    assert (tmp_path / "in.txt").read_bytes() == before


@pytest.mark.parametrize(
    "code", sorted(code for code, offer in OFFERS.items() if not offer.applied_by_default)
)
def test_fixes_that_need_a_request_are_not_applied_by_default(code: str, tmp_path: Path) -> None:
    case = CASES[code]
    path, out = _write(tmp_path / "in.txt", case.before), tmp_path / "out.txt"
    if code in TOPICS_CASES:
        summary = fix_topics(path, out)
    elif code in QRELS_CASES:
        summary = fix_qrels(path, out)
    else:
        summary = fix_run(path, out, max_depth=case.max_depth)
    assert code not in {one.code for one in summary.applied}


@pytest.mark.parametrize(
    ("content", "start"),
    [
        ("", "it has no rows"),
        ("# only a comment\n", "it has no rows"),
        ("#1 Q0 d 1 2 t\n", "all rows start with '#'"),
        (RUN.replace("d2", "d\0"), "NUL byte on line 2"),
        (RUN.replace("d2", "d\r2"), "single CR on line 2"),
        (RUN.replace("d2", "dé").encode("latin-1"), "it is not UTF-8 (LATIN-1?)"),
        (RUN.encode("utf-16"), "it is not UTF-8 (UTF-16?)"),
        (QRELS, "it is qrels"),
        (RUN.replace(" ", ","), "comma-separated, not columns"),
        ('{"1": {"d1": 2}}', "JSON, not columns"),
        (gzip.compress(RUN.encode(), mtime=0)[:-6], "gzip stream ends early"),
    ],
)
def test_file_without_rows_that_can_be_read_is_not_written(
    content: str | bytes, start: str, tmp_path: Path
) -> None:
    out = tmp_path / "out.txt"
    summary = fix_run(_write(tmp_path / "in.txt", content), out)
    assert summary.output is None
    assert not out.exists()
    assert (summary.refused or "").startswith(start)
    assert "nothing written" in summary.to_text()
    assert list(summary.iter_diff()) == []


@pytest.mark.parametrize(
    ("content", "codes", "left", "words"),
    [
        # What cannot be read keeps its place, and the ranks around it stay.
        ("1 Q0 a 0 2 t\nshort\n1 Q0 b 3 1 t\n", (), None, ""),
        ("1 Q0 a 2 2 t\nshort\n1 Q0 b 1 1 t\n", (), None, "R126 not fixed: some rows cannot"),
        ("1 Q0 a 5 x t\n1 Q0 b 5 1 t\n", (), None, "R122 not fixed: some scores are not numbers"),
        ("1 d1 d 1 2 t\n1 d2 d 2 1 t\n", (), None, "R107 not fixed: column 2 may contain the doc"),
        ("1 Q0 a 1 1 t\n1 Q0 b 2 2 t\n", (), None, ""),
        ("1 Q0 a 0 1 t\n1 Q0 b 1 2 t\n", (), None, "ranks not numbered: scores rise with rank"),
        ("1 Q0 a b 1 2 t\n", ("R102",), None, "R102 not fixed: a blank is not in the tag"),
        ("1 Q0 a 1 9,5 t\n1 Q0 b 2 8.5 t\n", ("R110",), None, "R110 not fixed: not every score"),
        ("1 Q0 a 1 2\n1 Q0 b 2 1 t\n", ("R101",), None, "R101 not fixed: the rows do not all"),
        ("1 Q0 a 1 2\n1 a b 2 x\n", ("R101",), None, "R101 not fixed: the rows do not all"),
        ("1 Q0 a 1 2 t\n1 Q0 a 2 1 t\n", (), None, "R131: repeated documents with different rows"),
        ("1 Q0 a 1 nan t\n1 Q0 a 2 1 t\n", ("R131",), None, "R131 not fixed: the score of a doc"),
        ("1 Q0 a 1 2 t\n", ("P104",), None, "P104 not fixed: it needs the other file"),
        ("1 Q0 a 1 2 t\n1 Q0 b 2", (), None, ""),
    ],
)
def test_unknown_parts_stay_and_are_reported(
    content: str, codes: tuple[str, ...], left: str | None, words: str, tmp_path: Path
) -> None:
    out = tmp_path / "out.txt"
    summary = fix_run(_write(tmp_path / "in.txt", content), out, codes=codes)
    assert out.read_text() == (content if left is None else left)
    assert [note for note in summary.notes if words and note.startswith(words)] or not words
    assert bool(summary.notes) == bool(words)


def test_tied_documents_keep_the_order_of_their_ranks_and_else_get_that_of_trec_eval(
    tmp_path: Path,
) -> None:
    path = _write(
        tmp_path / "in.txt",
        "1 Q0 a 0 5 t\n1 Q0 b 1 5 t\n2 Q0 a - 5 t\n2 Q0 b - 5 t\n2 Q0 c - 6 t\n",
    )
    fix_run(path, tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == (
        "1 Q0 a 1 5 t\n1 Q0 b 2 5 t\n2 Q0 c 1 6 t\n2 Q0 b 2 5 t\n2 Q0 a 3 5 t\n"
    )


def test_texts_of_scores_stay_as_they_were(tmp_path: Path) -> None:
    scores = ["1e3", "+9.50", "09", "8.", ".5", "1E-3", "0.00", "-0", "-1.250"]
    rows = [f"1 Q0 d{n} {n} {score} t\n" for n, score in enumerate(scores)]
    fix_run(_write(tmp_path / "in.txt", "".join(rows)), tmp_path / "out.txt")
    after = (tmp_path / "out.txt").read_text().splitlines()
    assert [line.split()[4] for line in after] == scores
    assert [line.split()[3] for line in after] == [str(n) for n in range(1, 10)]


def test_tabs_stay_where_there_is_nothing_else(tmp_path: Path) -> None:
    path = _write(tmp_path / "in.txt", RUN.replace(" ", "\t").replace("d3\t1", "d3\t0"))
    fix_run(path, tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == RUN.replace(" ", "\t")


@pytest.mark.parametrize(
    ("how", "kept"), [("best", "9.5"), ("first", "1"), ("last", "3"), ("max", ""), ("min", "")]
)
def test_ways_to_keep_one_of_several(how: str, kept: str, tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    if kept:
        text = "1 Q0 a 1 1 t\n1 Q0 a 2 9.5 t\n1 Q0 a 3 3 t\n"
        options = FixOptions(dedup=how)  # type: ignore[arg-type]
        fix_run(_write(tmp_path / "in.txt", text), out, codes=["R131"], options=options)
        assert out.read_text() == f"1 Q0 a 1 {kept} t\n"
        return
    options = FixOptions(on_conflict=how)  # type: ignore[arg-type]
    path = _write(tmp_path / "in.txt", "1 0 a 1\n1 0 a 3\n1 0 a 0\n1 0 a 2\n")
    fix_qrels(path, out, codes=["Q142"], options=options)
    assert out.read_text() == f"1 0 a {3 if how == 'max' else 0}\n"


def test_judgments_of_other_subtopics_are_no_repeats(tmp_path: Path) -> None:
    text = "1 1 a 1\n1 2 a 1\n1 2 b 0\n"
    path, out = _write(tmp_path / "in.txt", text), tmp_path / "out.txt"
    summary = fix_qrels(path, out)
    assert out.read_text() == text
    assert summary.notes[0].startswith("Q143: ")
    assert "in column 2" in summary.notes[0]


def test_windows_text_and_lines_of_utf8_are_distinguished(tmp_path: Path) -> None:
    lines = ["1 Q0 d–1 1 3 t\n".encode("cp1252"), "1 Q0 dé 2 2 t\n".encode()]
    path, out = _write(tmp_path / "in.txt", b"".join(lines)), tmp_path / "out.txt"
    fix_run(path, out, codes=["F103"])
    assert out.read_text("utf-8") == "1 Q0 d–1 1 3 t\n1 Q0 dé 2 2 t\n"
    with pytest.raises(UsageError, match="klingon"):
        fix_run(path, out, codes=["F103"], options=FixOptions(encoding="klingon"))


def test_ids_of_tables_are_taken_over(tmp_path: Path) -> None:
    path, out = _write(tmp_path / "in.txt", RUN.replace("d", "D")), tmp_path / "out.txt"
    qrels = Qrels.from_dict({"1": {"d1": 1, "d2": 0}, "2": {"d3": 1}})
    fix_run(path, out, codes=["P106"], qrels=qrels)
    assert out.read_text() == RUN
    path = _write(tmp_path / "qrels.txt", QRELS.replace("1 0", "001 0"))
    fix_qrels(path, out, codes=["P104"], run=Run.from_dict({"1": {"d1": 2.0}, "2": {"d3": 1.0}}))
    assert out.read_text() == QRELS


def test_stray_spellings_join_the_query_they_belong_to(tmp_path: Path) -> None:
    path, out = tmp_path / "in.txt", tmp_path / "out.txt"
    _write(path, RUN.replace("1 Q0 d2", "01 Q0 d2"))
    qrels = Qrels.from_dict({"1": {"d1": 1, "d2": 0}, "2": {"d3": 1}})
    assert [finding.code for finding in validate_run(path, qrels=qrels).errors] == ["P104"]
    fix_run(path, out, codes=["P104"], qrels=qrels)
    assert out.read_text() == RUN
    _write(path, RUN + "01 Q0 d2 1 1 t\n")
    summary = fix_run(path, out, codes=["P104"], qrels=qrels)
    assert [note for note in summary.notes if note.startswith("P104 not fixed: ")]
    # The qrels are right, so they are left alone.
    judged = _write(tmp_path / "qrels.txt", QRELS)
    run = Run.from_dict({"1": {"d1": 2.0}, "01": {"d2": 1.0}, "2": {"d3": 1.0}})
    fix_qrels(judged, out, codes=["P104"], run=run)
    assert out.read_text() == QRELS


@pytest.mark.parametrize(
    ("content", "codes", "diff"),
    [
        (b"\xef\xbb\xbf1\tone\n2\ttwo\n", (), ["1: - \\ufeff1\\tone", "1: + 1\tone"]),
        (b"1\tone\r\n2\ttwo\n", (), ["1: - 1\\tone\\x0d", "1: + 1\tone"]),
        (b"1\tone\n2\ttwo", (), ["2: - 2\ttwo", "2: + 2\\ttwo\\x0a"]),
        (b"1\tone\n2\ttw\xe9\n", ("F103",), ["2: - 2\ttw\\xe9", "2: + 2\ttwé"]),
        ("1\tone\n2\ttwé\n".encode("utf-16"), ("F103",), []),
        (b"# x\r\n1\tone", (), ["1: - # x\\x0d", "2: - 1\tone", "2: + 1\\tone\\x0a"]),
    ],
)
def test_the_diff_shows_encoding_and_line_ends(
    content: bytes, codes: tuple[str, ...], diff: list[str], tmp_path: Path
) -> None:
    path, out = tmp_path / "in.tsv", tmp_path / "out.tsv"
    path.write_bytes(content)
    shown = [
        line.removeprefix(f"{path}:") for line in fix_topics(path, out, codes=codes).iter_diff()
    ]
    assert [line.replace("\\t", "\t").rstrip("\n") for line in shown] == [
        line.replace("\\t", "\t") for line in diff
    ]


def test_the_diff_of_a_run_shows_line_ends_and_only_what_was_converted(tmp_path: Path) -> None:
    path, out = tmp_path / "in.txt", tmp_path / "out.txt"
    path.write_bytes(RUN.replace("d2", "dé").replace("\n", "\r\n")[:-2].encode("latin-1"))
    summary = fix_run(path, out, codes=["F103"], options=FixOptions(encoding="latin-1"))
    assert [one.count for one in summary.applied] == [1, 2, 1]
    assert [(change.before, change.after) for change in summary.iter_changes()] == [
        ("1 Q0 d1 1 9.5 t\r", "1 Q0 d1 1 9.5 t"),
        ("1 Q0 d\\xe9 2 8.0 t\r", "1 Q0 dé 2 8.0 t"),
        ("2 Q0 d3 1 7.25 t", "2 Q0 d3 1 7.25 t\n"),
    ]
    path.write_bytes(RUN.replace("\n", "\r").encode())
    assert len(list(fix_run(path, out).iter_changes())) == 3


def test_what_is_unpacked_is_not_called_a_copy(tmp_path: Path) -> None:
    path, out = tmp_path / "in.txt", tmp_path / "out.txt"
    path.write_bytes(gzip.compress(RUN.encode()))
    summary = fix_run(path, out)
    assert "nothing was fixed, gzip data written as plain to" in summary.to_text()
    assert out.read_text() == RUN
    _write(path, RUN)
    assert "nothing was fixed, copied to" in fix_run(path, out).to_text()


def test_tags_are_cut_to_the_length_that_is_allowed(tmp_path: Path) -> None:
    path, out = _write(tmp_path / "in.txt", RUN.replace(" t\n", " a_long_tag\n")), tmp_path / "out"
    options = FixOptions(max_tag_length=6)
    fix_run(path, out, codes=["R152"], options=options)
    assert out.read_text() == RUN.replace(" t\n", " a_long\n")
    options = FixOptions(tag="my run", max_tag_length=6)
    with pytest.raises(UsageError, match="my run"):
        fix_run(path, out, codes=["R152"], options=options)


def test_diff_has_the_lines_of_the_input(tmp_path: Path) -> None:
    text = "\ufeff# note\r\n2 0 a 0 2 t\r\n\r\n1 Q0 b 1 2 t\r\n1 Q0\tc 2 1 t\r\n2 Q0 d 1 1 t\r\n"
    summary = fix_run(_write(tmp_path / "in.txt", text), tmp_path / "out.txt")
    diff = "".join(summary.iter_diff()).replace(f"{tmp_path}/", "")
    assert diff == (
        "in.txt:1: - \\ufeff# note\\x0d\n"
        "in.txt:2: - 2 0 a 0 2 t\\x0d\n"
        "in.txt:2: + 2 Q0 a 1 2 t\n"
        "in.txt:3: - \\x0d\n"
        "in.txt:4: - 1 Q0 b 1 2 t\\x0d\n"
        "in.txt:4: + 1 Q0 b 1 2 t\n"
        "in.txt:5: - 1 Q0\\tc 2 1 t\\x0d\n"
        "in.txt:5: + 1 Q0 c 2 1 t\n"
        "in.txt:6: - 2 Q0 d 1 1 t\\x0d\n"
        "in.txt:6: + 2 Q0 d 2 1 t\n"
    )
    codes = [one.code for one in summary.applied]
    assert codes == ["F102", "F104", "F107", "F108", "R106", "R107", "R123", "R127"]
    assert "6 lines, now 4" in summary.to_text()
    assert summary.to_dict()["applied"][1] == {
        "code": "F104",
        "name": "crlf",
        "count": 6,
        "what": "wrote LF for CRLF",
    }


@pytest.mark.parametrize(
    ("values", "output", "codes"),
    [
        (["clean.run"], "clean.run", ()),
        (["clean.run", "R108,R161"], "clean.run", ("R108", "R161")),
        (["r108", "out", "R108, q142"], "out", ("R108", "Q142")),
        (["./R108"], "./R108", ()),
        (["R108.run", "R161"], "R108.run", ("R161",)),
        (["R108,b.run"], "R108,b.run", ()),
    ],
)
def test_values_that_look_like_codes_are_codes(
    values: list[str], output: str, codes: tuple[str, ...]
) -> None:
    assert split_fix_values(values) == (output, codes)


@pytest.mark.parametrize("values", [[], ["R108"], ["a", "b"], [""]])
def test_one_file_to_write_is_needed(values: list[str]) -> None:
    with pytest.raises(UsageError):
        split_fix_values(values)


def test_input_is_never_written_over(tmp_path: Path) -> None:
    path = _write(tmp_path / "in.txt", RUN[:-1])
    (tmp_path / "link.txt").symlink_to(path)
    os.link(path, tmp_path / "hard.txt")
    qrels = _write(tmp_path / "qrels.txt", QRELS)
    for output in (path, f"{tmp_path}/./in.txt", tmp_path / "link.txt", tmp_path / "hard.txt"):
        with pytest.raises(UsageError):
            fix_run(path, output)
    with pytest.raises(UsageError):
        fix_run(path, qrels, codes=["P104"], qrels=qrels)
    with pytest.raises(UsageError):
        fix_qrels(qrels, "-")
    assert path.read_text() == RUN[:-1]
    assert qrels.read_text() == QRELS


@pytest.mark.parametrize("code", ["R999", "R111", "Q142", "nonsense"])
def test_code_without_a_fix_for_runs_is_refused(code: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"there is no fix {code} for run"):
        fix_run(_write(tmp_path / "in.txt", RUN), tmp_path / "out.txt", codes=[code])


def test_what_cannot_be_read_or_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        fix_run(tmp_path / "none", tmp_path / "out.txt")
    with pytest.raises(InputError):
        fix_run(_write(tmp_path / "in.txt", RUN), tmp_path / "none" / "out.txt")


def test_output_is_compressed_as_its_name_says(tmp_path: Path) -> None:
    path, out = (
        _write(tmp_path / "in.txt", gzip.compress(RUN.encode(), mtime=0)),
        tmp_path / "out.gz",
    )
    summary = fix_run(path, out, codes=["F112"])
    assert gzip.decompress(out.read_bytes()).decode() == RUN
    assert summary.applied[0].what == "gzip data written as gzip"


@pytest.mark.parametrize(
    ("content", "start"),
    [
        ("# a\n{\t1\n", "without its first lines"),
        (
            '<?xml version="1.0" encoding="latin-1"?>\n<topic number="1">é</topic>'.encode(
                "latin-1"
            ),
            "it is not UTF-8",
        ),
        ("\n \n", "it has no topics"),
        ("1\ta\0\n", "NUL byte on line 1"),
        ("1\ta\rb\n", "single CR"),
        ("1\té\n".encode("latin-1"), "it is not UTF-8"),
        (gzip.compress(b"1\ta\n", mtime=0)[:-6], "gzip stream ends early"),
    ],
)
def test_topics_that_nobody_can_read_are_not_written(
    content: str | bytes, start: str, tmp_path: Path
) -> None:
    summary = fix_topics(_write(tmp_path / "in.txt", content), tmp_path / "out.txt")
    assert (summary.refused or "").startswith(start)
    assert not (tmp_path / "out.txt").exists()
