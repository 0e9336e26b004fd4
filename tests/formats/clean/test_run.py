"""A clean chunk has the rows, ranking and findings of the reader that accepts any file."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.formats.clean.run_texts import changed, regular_runs
from trectools_plus.formats.clean.run import CleanRun, scan_run
from trectools_plus.ranking import rank_documents
from trectools_plus.validation.chunks import open_chunk
from trectools_plus.validation.clean import NAMES, RunFacts, rows_by_rule
from trectools_plus.validation.engine import check_pair_view, check_view
from trectools_plus.validation.findings import Finding
from trectools_plus.validation.views.pairs import PairView
from trectools_plus.validation.views.runs import RunView


def texts_of(run: CleanRun) -> list[str]:
    return run.doc_ids.texts(np.arange(run.n_rows))


def all_findings(data: bytes) -> tuple[RunView, list[Finding]]:
    """Return the view of a file that is not in chunks, and the findings on it."""
    opened = open_chunk("run", data, "valid")
    assert opened is not None
    view = opened[0]
    return view, check_view(view) + check_pair_view(PairView(view))


def assert_equal(run: CleanRun, data: bytes) -> None:
    """Compare a clean run with the reader that accepts any file."""
    view, findings = all_findings(data)
    assert not any(finding.blocks_scoring for finding in findings)
    assert run.query_ids == view.blocks.query_ids.to_list()
    assert run.starts.tolist() == [*view.blocks.starts.tolist(), view.n_rows]
    assert texts_of(run) == view.frame["doc_id"].to_list()
    assert run.scores.tobytes() == view.score.tobytes()
    assert {run.tag} == set(view.frame["tag"].cast(str))
    assert run.scores_fall == view.grouped.scores_fall
    frame = view.frame.select("query_id", "doc_id", "score").with_row_index("row")
    for precision in (32, 64):
        ranked = rank_documents(frame, precision)  # type: ignore[arg-type]
        expected = ranked.sort("row")["rank"].to_list()
        assert run.ranks(np.arange(run.n_rows), precision).tolist() == expected
    # The facts know every finding, except infos on single ids.
    known = {(one.code, one.severity) for one in RunFacts.of(run).findings("run")}
    found = {(one.code, one.severity) for one in findings}
    assert known == {(code, severity) for code, severity in found if code not in ("R115", "P110")}
    counts = {one.code: one.count for one in findings if one.code in ("R115", "P110")}
    assert {code: len(rows) for code, rows in rows_by_rule(run).items()} == counts
    assert {code for code, _ in found} <= set(NAMES)


@given(regular_runs())
def test_regular_runs_are_equal_to_the_full_reader(text):
    data = text.encode()
    run = scan_run(data)
    if run is not None:
        assert_equal(run, data)


@settings(max_examples=300)
@given(changed(regular_runs()))
def test_what_is_accepted_is_equal_to_the_full_reader(text):
    data = text.encode("utf-8", "surrogatepass")
    run = scan_run(data) if data else None
    if run is not None:
        assert_equal(run, data)


def a_run(n_queries: int = 3, depth: int = 5, form: str = "{q} Q0 d{r} {r} {s:.4f} tag") -> bytes:
    lines = [
        form.format(q=f"q{query}", r=rank, s=20 - rank / 7)
        for query in range(n_queries)
        for rank in range(1, depth + 1)
    ]
    return "\n".join([*lines, ""]).encode()


CLEAN = {
    "usual": "{q} Q0 d{r} {r} {s:.4f} tag",
    "tabs": "{q}\tQ0\td{r}\t{r}\t{s:.4f}\ttag",
    "crlf": "{q} Q0 d{r} {r} {s:.4f} tag\r",
    "long ids": "{q} Q0 clueweb12-0000tw-00-{r:05} {r} {s:.4f} tag",
    "queries that differ after eight bytes": "topic-2024-{q} Q0 d{r} {r} {s:.4f} tag",
    "longest ids": "{q} Q0 " + "x" * 58 + "{r:06} {r} {s:.4f} tag",
    "other words": "{q} 0 MED-{r} {r} {s:.4f} my+tag",
    "many digits": "{q} Q0 d{r} {r} {s!r} tag",
    "exponents": "{q} Q0 d{r} {r} {s:.9e} tag",
    "negative": "{q} Q0 d{r} {r} -{r}.25 tag",
    "integers": "{q} Q0 d{r} {r} -{r} tag",
}


@pytest.mark.parametrize("form", CLEAN.values(), ids=CLEAN)
@pytest.mark.parametrize(("n_queries", "depth"), [(3, 5), (1, 1), (400, 1), (2, 1100), (1, 10_000)])
def test_common_forms_are_clean(form, n_queries, depth):
    data = a_run(n_queries, depth, form)
    run = scan_run(data)
    assert run is not None
    assert_equal(run, data)


UNUSUAL = {
    "other order of columns": b"q7 Q0 1 d 2.0 t\n",
    "too few fields": b"q7 Q0 d 1 2.0\n",
    "too many fields": b"q7 Q0 d 1 2.0 t x\n",
    "row behind a hash": b"#q7 Q0 d 1 2.0 t\n",
    "comment of six words": b"q7 Q0 d 1 2.0 t\n# one two three 4 5 6\n",
    "form feed": b"q7 Q0\x0cd 1 2.0 t\n",
    "bare CR": b"q7 Q0 d 1 2.0 t\rq7 Q0 e 2 1.0 t\n",
    "NUL": b"q7 Q0 d\0 1 2.0 t\n",
    "byte order mark": b"\xef\xbb\xbfq7 Q0 d 1 2.0 t\n",
    "not ASCII": "q7 Q0 dé 1 2.0 t\n".encode(),
    "delete character": b"q7 Q0 d\x7f 1 2.0 t\n",
    "hexadecimal": b"q7 Q0 d 1 0x2 t\n",
    "nan": b"q7 Q0 d 1 nan t\n",
    "infinite": b"q7 Q0 d 1 inf t\n",
    "too large": b"q7 Q0 d 1 1e999 t\n",
    "too small": b"q7 Q0 d 1 1e-999 t\n",
    "comma": b"q7 Q0 d 1 1,5 t\n",
    "underscore": b"q7 Q0 d 1 1_0 t\n",
    "two points": b"q7 Q0 d 1 1.2.3 t\n",
    "only a point": b"q7 Q0 d 1 . t\n",
    "only a sign": b"q7 Q0 d 1 - t\n",
    "two signs": b"q7 Q0 d 1 --1 t\n",
    "rank that is not a number": b"q7 Q0 d x 2.0 t\n",
    "rank with a zero": b"q7 Q0 d 01 2.0 t\n",
    "rank with a point": b"q7 Q0 d 1.0 2.0 t\n",
    "rank that starts at 2": b"q7 Q0 d 2 2.0 t\n",
    "gap": b"q7 Q0 d 1 2.0 t\nq7 Q0 e 3 1.0 t\n",
    "rank twice": b"q7 Q0 d 1 2.0 t\nq7 Q0 e 1 1.0 t\n",
    "rising score": b"q7 Q0 d 1 1.0 t\nq7 Q0 e 2 2.0 t\n",
    "document twice": b"q7 Q0 d 1 2.0 t\nq7 Q0 d 2 1.0 t\n",
    "query twice": b"q7 Q0 d 1 2.0 t\nr Q0 d 1 2.0 t\nq7 Q0 e 1 2.0 t\n",
    "single score": b"q7 Q0 d 1 2.0 t\nq7 Q0 e 2 2.0 t\n",
    "two tags": b"q7 Q0 d 1 2.0 t\nq7 Q0 e 2 1.0 u\n",
    "two words in column 2": b"q7 Q0 d 1 2.0 t\nq7 Q1 e 2 1.0 t\n",
    "columns swapped": b"q7 d Q0 1 2.0 t\n",
    "header": b"qid Q0 docno 1 2.0 score\n",
    "JSON": b'{"q7 Q0 d 1 2.0 t":1}\n',
    "names between commas": b"a,query id,doc id,score,z 1 2 t\n",
    "very long id": b"q7 Q0 %s 1 2.0 t\n" % (b"x" * 65),
    "equal in 64 bits": b"q7 Q0 d 1 3 t\nq7 Q0 e 2 2.00000000000000001 t\nq7 Q0 f 3 2 t\n",
}


LAYOUTS = {
    "two blanks": b"q7  Q0 d 1 2.0 t\n",
    "a blank at the end": b"q7 Q0 d 1 2.0 t \n",
    "a blank at the beginning": b" q7 Q0 d 1 2.0 t\n",
    "aligned": b"q7 Q0 d    1  20.0 t\nq7 Q0 eee  2   1.0 t\n",
    "mixed separators": b"q7 Q0\td 1 2.0 t\n",
    "tabs, then blanks": b"q7\tQ0\td\t1\t2.0\tt\nq7 Q0 e 2 1.0 t\n",
    "comment": b"# one\nq7 Q0 d 1 2.0 t\n# Q0 d 1 2.0 t\nq7 Q0 e 2 1.0 t\n#",
    "comment before ranks from 0": b"# one\nq7 Q0 d 0 2.0 t\n",
    "blank lines": b"\nq7 Q0 d 1 2.0 t\n \t\nq7 Q0 e 2 1.0 t\n\n",
    "mixed line ends": b"q7 Q0 d 1 2.0 t\r\nq7 Q0 e 2 1.0 t\n",
    "all of them": b"q7\tQ0 d 1 2.0 t\r\n\n#\nq7 Q0  e 2 2.0 t\nq7 Q0 f 3 1.0 t",
}


@pytest.mark.parametrize("data", LAYOUTS.values(), ids=LAYOUTS)
def test_spacing_comments_and_blank_lines_are_read(data):
    first_rank = b"0" if b" d 0 " in data else b"1"
    before = b"q1 Q0 d %s 2.0 t\n" % first_rank
    for whole in (data, before + data, data + b"\n" + before):
        run = scan_run(whole)
        assert run is not None
        assert_equal(run, whole)


@pytest.mark.parametrize("data", UNUSUAL.values(), ids=UNUSUAL)
def test_unusual_lines_are_refused(data):
    assert scan_run(data) is None
    if b"q7 Q0 d 1" in data:
        assert scan_run(a_run() + data) is None


def test_a_document_may_occur_in_several_queries():
    data = a_run(50, 20)
    assert scan_run(data) is not None
    again = data.splitlines(keepends=True)
    again[700] = again[700].replace(b" d1 ", b" d7 ")
    assert scan_run(b"".join(again)) is None


def test_ties_are_ranked_by_document():
    data = b"".join(
        b"q7 Q0 %s %d %s t\n" % (doc_id, rank, score)
        for rank, (doc_id, score) in enumerate(
            [
                (b"a", b"3"),
                (b"zb", b"2.5"),
                (b"abcdefgh", b"2.5"),
                (b"abcdefghi", b"2.5"),
                (b"b", b"1"),
            ],
            1,
        )
    )
    run = scan_run(data)
    assert run is not None
    assert_equal(run, data)
    assert run.ranks(np.arange(5)).tolist() == [1, 2, 4, 3, 5]
    assert (run.ties.n_ties, run.ties.n_against_ids) == (2, 1)


@given(
    st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=20),
    st.sampled_from(
        ["{!r}", "{:.17e}", "{:.3f}", "{:.0f}", "{:+.5f}", "{:.20f}", "{:g}", "{:.15g}"]
    ),
)
@example([5e-324, 1.7976931348623157e308, -0.0, 9007199254740993.0, 0.1], "{!r}")
@example([9007199254740992.0, 9007199254740993.0, 1234567890123456.0], "{:.0f}")
def test_scores_are_those_of_float(values, form):
    texts = [form.format(value) for value in values]
    lines = [f"q{number} Q0 d 1 {text} t\n" for number, text in enumerate(texts)]
    run = scan_run("".join(lines).encode())
    assert run is not None or any(float(text) == 0 and text.strip("+-0.e") for text in texts)
    if run is not None:
        assert run.scores.tobytes() == np.array(list(map(float, texts))).tobytes()


@given(st.from_regex(r"[+-]?[0-9]{0,18}\.?[0-9]{0,18}([eE][+-]?[0-9]{1,3})?", fullmatch=True))
@example("123456789.123456789")
@example("00000000000000000001.5")
@example("12345678.")
@example(".12345678")
@example("1234567.8")
def test_any_number_is_read_as_float_reads_it(text):
    run = scan_run(f"q7 Q0 d 1 {text} t\n".encode()) if text else None
    if run is not None:
        assert run.scores.tolist() == [float(text)]
        assert np.signbit(run.scores[0]) == text.startswith("-")
