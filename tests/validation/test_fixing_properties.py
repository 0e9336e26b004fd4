"""Properties of every fix: it is idempotent, and a safe one changes no figure."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from trectools_plus.formats import query_chunks
from trectools_plus.validation import CATALOGUE, fixing, parts, validate_qrels, validate_run
from trectools_plus.validation.fixing import FixSummary, fix_qrels, fix_run
from trectools_plus.validation.views.kinds import RunView

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


@st.composite
def grouped_runs(draw: st.DrawFn) -> bytes:
    """Queries one after another, each in a form of its own, and few other lines."""
    second = st.sampled_from(draw(st.sampled_from([["Q0"], ["Q0", "0"], ["0", "x", "y"]])))
    tags = draw(st.sampled_from([["t"], ["t", "a+b"]]))
    lines = [draw(st.sampled_from(["", "qid Q0 docno rank score tag\n", "\ufeff", "\ufeff\ufeff"]))]
    for query in range(draw(st.integers(2, 5))):
        lines.append(draw(st.sampled_from(["", "", "", "", "# note\n", "\n", "\ufeff"])))
        rank = st.sampled_from(
            draw(st.sampled_from([["0", "1", "2"], ["1", "2", "3", "x", "1.0"]]))
        )
        fields = st.tuples(second, st.sampled_from(DOCS[:5]), rank, st.sampled_from(SCORES))
        for texts in draw(st.lists(fields, min_size=1, max_size=4)):
            blank, tag, end = draw(BLANKS), draw(st.sampled_from(tags)), draw(ENDS)
            row = blank.join([f"q{query}", *texts, tag]) + end
            lines += [row] * draw(st.sampled_from([1, 1, 1, 1, 2]))
    return "".join(lines).encode()


@SETTINGS
@example(b"".join(b"q%d 0  d%d 1 1 t\n" % (n, n) for n in range(9)), 30, [])
@given(grouped_runs(), st.integers(40, 160), st.lists(st.sampled_from(RUN_ASKS), max_size=2))
def test_a_run_is_fixed_in_chunks_as_it_is_as_a_whole(
    tmp_path: Path, content: bytes, size: int, codes: list[str]
) -> None:
    path = tmp_path / "in"
    path.write_bytes(content)

    def fix(size: int) -> tuple[dict[str, object], bytes | None]:
        (tmp_path / "out").unlink(missing_ok=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(parts, "CHUNK_BYTES", size)
            patch.setattr(query_chunks, "CHUNK_BYTES", size)
            patch.setattr(parts, "SNIFFED_BYTES", 1)
            summary = fix_run(path, tmp_path / "out", codes=codes)
        return summary.to_dict(), summary.output and (tmp_path / "out").read_bytes()

    assert fix(size) == fix(1 << 20)


@pytest.mark.parametrize("compression", ["", ".gz"])
def test_only_the_queries_of_a_chunk_are_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compression: str
) -> None:
    places = [(query, place) for query in range(99) for place in range(9)]
    rows = "".join(f"{query} 0  d{n} {n} {9 - n} t\r\n" for query, n in places)
    path = tmp_path / f"in{compression}"
    path.write_bytes(gzip.compress(rows.encode()) if compression else rows.encode())
    monkeypatch.setattr(parts, "CHUNK_BYTES", 100)
    monkeypatch.setattr(query_chunks, "CHUNK_BYTES", 4096)
    sizes = []
    lex_part = parts.view_part

    def view_part(path: str, data: bytes, *args: Any, **kwargs: Any) -> RunView:
        sizes.append(len(data))
        return lex_part(path, data, *args, **kwargs)

    monkeypatch.setattr(fixing, "view_part", view_part)
    assert fix_run(path, tmp_path / "out").lines_after == 891
    fixed = "".join(f"{query} Q0 d{n} {n + 1} {9 - n} t\n" for query, n in places)
    assert (tmp_path / "out").read_text() == fixed
    assert len(sizes) > 2
    assert max(sizes) < 2 * 4096


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
