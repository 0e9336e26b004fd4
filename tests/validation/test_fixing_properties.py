"""Properties of every fix: it is idempotent, and a safe one changes no figure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from trectools_plus.validation import CATALOGUE, validate_qrels, validate_run
from trectools_plus.validation.fixing import FixSummary, fix_qrels, fix_run

SAFE = {rule.code for rule in CATALOGUE if rule.fix_kind == "safe"}

SETTINGS = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
BLANKS = st.sampled_from([" "] * 8 + ["\t", "  ", " \t", "\v"])
ENDS = st.sampled_from(["\n"] * 8 + ["\r\n"])
JUNK = st.sampled_from(
    [
        "",
        " \t",
        "# note",
        "#1 Q0 d1 1 2.0 t",
        "#1 0 d1 1",
        "a b c",
        "1 Q0 d1 1 2.0 my run",
        "1 Q0 d1 1 2.0",
        "qid Q0 docno rank score tag",
        "qid iter docid grade",
        "query-id corpus-id score",
        '"1" "Q0" "d1" "1" "2.0" "t"',
        "1,Q0,d1,1,2.0,t",
        "{",
    ]
)
SCORES = ["1", "1.0", "2.5", "0.75", "0.75000001", "-3", "1e-400", "9.5e3", "16777217", "16777216"]
ODD_SCORES = [*SCORES, "nan", "inf", "1e39", "1e999", "9,5", "score", "0x1"]
RUN_ASKS = ["R151", "R152"]


@st.composite
def rows(draw: st.DrawFn, *fields: list[str]) -> str:
    """A row whose fields come from these lists, with some blank in between."""
    text = draw(st.sampled_from([*fields[0], *fields[0], f" {fields[0][0]}"]))
    for texts in fields[1:]:
        text += draw(BLANKS) + draw(st.sampled_from(texts))
    return text


def files(row: st.SearchStrategy[str], junk: st.SearchStrategy[str] = JUNK) -> st.SearchStrategy:
    lines = st.lists(st.one_of(row, row, row, row, row, row, junk), max_size=14)
    parts = st.tuples(st.booleans(), lines, st.lists(ENDS, min_size=14, max_size=14), st.booleans())

    def join(drawn: tuple[bool, list[str], list[str], bool]) -> bytes:
        bom, texts, ends, final = drawn
        text = "".join(line + end for line, end in zip(texts, ends, strict=False))
        return ("\ufeff" * bom + (text if final else text.rstrip("\r\n"))).encode()

    return parts.map(join)


QUERIES = ["1", "2", "q3", "007"]
DOCS = ["d1", "d2", "d3", "D1", "dé", "1", "Q0", "head"]
RANKS = ["0", "1", "2", "3", "4", "7", "-1", "1.0", "x", "head"]
TAGS = ["t", "t", "u", "a+b"]
ODD_RUNS = files(rows(QUERIES, ["Q0", "Q0", "0", "d1"], DOCS, RANKS, ODD_SCORES, TAGS))
RANKED_RUNS = files(rows(QUERIES, ["Q0", "Q0", "0"], DOCS, RANKS[:-2], SCORES, ["t"]))
GRADES = ["0", "1", "2", "-1", "-2", "2.0", "0.5", "x", "99999999999"]
ODD_QRELS = files(rows(QUERIES, ["0", "0", "1", "2"], DOCS, GRADES))
ANY_BYTES = st.binary(max_size=60)


def _twice(
    fix: Callable[..., FixSummary], content: bytes, folder: Path, **options: object
) -> FixSummary:
    """Fix, then fix what came out, and see that nothing more was done; and the input is left."""
    paths = [folder / name for name in ("in", "once", "twice")]
    for path in paths:
        path.unlink(missing_ok=True)
    paths[0].write_bytes(content)
    first = fix(paths[0], paths[1], **options)
    assert paths[0].read_bytes() == content
    assert (first.output is None) == (not paths[1].exists()) == (first.refused is not None)
    if first.output is not None:
        second = fix(paths[1], paths[2], **options)
        assert second.applied == ()
        assert paths[2].read_bytes() == paths[1].read_bytes()
    return first


@SETTINGS
@example(b"1 Q0 a 1 1 t\r\n1 Q0 a 1 1 t\r\n2 Q0 b 0 3 t", [])
@given(st.one_of(ODD_RUNS, ODD_RUNS, ANY_BYTES), st.lists(st.sampled_from(RUN_ASKS), max_size=6))
def test_fixing_a_run_twice_changes_nothing(
    tmp_path: Path, content: bytes, codes: list[str]
) -> None:
    _twice(fix_run, content, tmp_path, codes=codes)


@SETTINGS
@given(st.one_of(ODD_QRELS, ODD_QRELS, ANY_BYTES))
def test_fixing_qrels_twice_changes_nothing(tmp_path: Path, content: bytes) -> None:
    _twice(fix_qrels, content, tmp_path)


@SETTINGS
@given(RANKED_RUNS)
def test_after_a_safe_fix_no_safe_rule_is_broken(tmp_path: Path, content: bytes) -> None:
    summary = _twice(fix_run, content, tmp_path)
    if summary.output is None or summary.notes:
        return
    report = validate_run(tmp_path / "once", max_depth=None)
    left = {finding.code for finding in report.findings}
    stray = left & {"R101", "R102", "R110", "R112"}  # then ranks stay as they are
    # Where scores rise with rank, it is not known which of them is right.
    kept = {"R120", "R122", "R123", "R124", "R125"} if "R121" in left else set()
    assert stray or not left & SAFE - {"R131"} - kept


@SETTINGS
@given(files(rows(QUERIES, ["0"], DOCS, ["0", "1", "2.0"])))
def test_after_a_safe_fix_of_qrels_no_safe_rule_is_broken(tmp_path: Path, content: bytes) -> None:
    summary = _twice(fix_qrels, content, tmp_path)
    if summary.output is None or summary.notes:
        return
    report = validate_qrels(tmp_path / "once")
    left = {finding.code for finding in report.findings}
    stray = left & {"Q101", "Q102", "Q103", "Q112"}
    conflict = left & {"Q142"}
    assert stray or conflict or not left & {"Q111", "Q141", "Q151", "F104", "F107", "F108", "F109"}


VALID_RUNS = files(
    rows(QUERIES, ["Q0", "0"], DOCS[:6], ["0", "1", "2", "9", "x"], SCORES, ["t"]),
    rows(QUERIES, ["Q0"], DOCS[:6], ["1"], SCORES, ["t"]),
)


@SETTINGS
@given(VALID_RUNS, st.integers(0, 3))
def test_figures_of_pytrec_eval_are_the_same_after_a_safe_fix(
    tmp_path: Path, content: bytes, seed: int
) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    content = content.removeprefix("\ufeff".encode())
    try:
        before = pytrec_eval.parse_run(content.decode().splitlines())
    except (AssertionError, ValueError):
        return  # a document twice
    summary = _twice(fix_run, content, tmp_path)
    if summary.output is None:
        assert summary.refused
        return
    after = pytrec_eval.parse_run((tmp_path / "once").read_text("utf-8").splitlines())
    qrels = {
        query_id: {doc_id: (len(doc_id) + at + seed) % 3 for at, doc_id in enumerate(DOCS)}
        for query_id in QUERIES
    }
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg", "P_5", "recip_rank", "bpref"})
    assert evaluator.evaluate(after) == evaluator.evaluate(before)
