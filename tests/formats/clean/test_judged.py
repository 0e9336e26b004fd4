"""Clean qrels, and the judged documents of clean runs, are those that the full readers find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.clean.run_texts import DOC_FORMS, QUERY_IDS, changed, regular_runs
from trectools_plus.formats.clean.judged import JudgedIds
from trectools_plus.formats.clean.qrels import CleanQrels, scan_qrels
from trectools_plus.formats.clean.run import scan_run
from trectools_plus.formats.clean.words import Ids
from trectools_plus.formats.columns.columns import scan_columns
from trectools_plus.formats.files.source import Source
from trectools_plus.formats.interchange.reading import lex_qrels
from trectools_plus.validation.clean import qrels_findings
from trectools_plus.validation.engine import check_view
from trectools_plus.validation.findings import Severity
from trectools_plus.validation.views.qrels import QrelsView


@st.composite
def regular_qrels(draw: Any) -> str:
    """Qrels with the ids of :func:`regular_runs`, some of them in another case."""
    separator = draw(st.sampled_from("  \t"))
    doc_form = draw(st.sampled_from(DOC_FORMS))
    change = draw(st.sampled_from([str, str, str.lower, str.upper]))
    grades = draw(st.sampled_from([["0", "1"], ["0", "1", "2", "-1"], ["1", "+3"], ["0", "11"]]))
    lines = []
    for query_id in draw(st.lists(st.sampled_from(QUERY_IDS), min_size=1, max_size=6, unique=True)):
        for number in draw(st.lists(st.integers(0, 15), min_size=1, max_size=9, unique=True)):
            doc_id = change(doc_form.format(number, number))
            fields = (query_id, "0", doc_id, draw(st.sampled_from(grades)))
            lines.append(separator.join(fields) + "\n")
    return "".join(draw(st.permutations(lines)) if draw(st.booleans()) else lines)


def assert_equal(qrels: CleanQrels, data: bytes) -> None:
    """Compare clean qrels with the reader that accepts any file."""
    view = QrelsView.of_file(lex_qrels(Source("qrels", data)))
    findings = check_view(view)
    assert not any(finding.blocks_scoring for finding in findings)
    rows = np.argsort(view.blocks.query, kind="stable")
    assert qrels.query_ids == view.blocks.query_ids.to_list()
    assert np.diff(qrels.starts).tolist() == view.blocks.sizes.tolist()
    doc_ids = qrels.doc_ids.texts(np.arange(len(qrels.doc_ids)))
    assert doc_ids == view.frame["doc_id"].gather(rows).to_list()
    assert qrels.relevance.tolist() == view.grade[rows].tolist()
    known = {(one.code, one.severity) for one in qrels_findings("qrels", qrels)}
    found = {(one.code, one.severity) for one in findings}
    # Infos on the form of the file do not concern scoring.
    known = {one for one in known if one[1] is not Severity.INFO}
    assert known == {one for one in found if one[1] is not Severity.INFO}


@given(regular_qrels())
def test_regular_qrels_are_equal_to_the_full_reader(text):
    qrels = scan_qrels(text.encode())
    if qrels is not None:
        assert_equal(qrels, text.encode())


@given(changed(regular_qrels()))
def test_what_is_accepted_is_equal_to_the_full_reader(text):
    qrels = scan_qrels(text.encode("utf-8", "surrogatepass")) if text else None
    if qrels is not None:
        assert_equal(qrels, text.encode())


UNUSUAL = {
    "three fields": b"1 d 1\n",
    "form feed": b"1 0\x0cd 1\n",
    "fraction": b"1 0 d 1.0\n",
    "word": b"1 0 d yes\n",
    "large grade": b"1 0 d 128\n",
    "only negative": b"1 0 d 1\n2 0 d -1\n",
    "nothing relevant": b"1 0 d 0\n",
    "document twice": b"1 0 d 1\n1 0 d 1\n",
    "document twice, apart": b"1 0 d 1\n2 0 d 1\n1 0 d 1\n",
    "columns swapped": b"1 d 0 1\n1 e 0 1\n",
    "comment": b"#1 0 d 1\n",
    "header": b"qid iter docno 1\n1 0 d 1\n",
    "JSON": b'{"1 0 d 1\n',
    "not ASCII": "1 0 dé 1\n".encode(),
}


@pytest.mark.parametrize(
    "data",
    [
        b"1  0 d 1\n1 0 e 0",
        b"# judged in 2024\n1 0 d 1\n\n1 0 e 0\n",
        b"1\t0\td\t1\r\n1 0 e 0\n",
        b" 1 0 d 1 \n",
    ],
)
def test_spacing_comments_and_blank_lines_are_read(data):
    qrels = scan_qrels(data)
    assert qrels is not None
    assert_equal(qrels, data)


@pytest.mark.parametrize("data", UNUSUAL.values(), ids=UNUSUAL)
def test_unusual_qrels_are_refused(data):
    assert scan_qrels(b"1 0 e 1\n3 0 f 0\n") is not None
    assert scan_qrels(data) is None


def expected_pairs(run: bytes, qrels: bytes) -> tuple[list[tuple[int, str, str]], int]:
    """Return row, query and document of each judged row, and the number of near matches."""
    judged = {tuple(line.split()[::2]) for line in qrels.decode().splitlines()}
    near = {(query_id, doc_id.lower()) for query_id, doc_id in judged}
    rows = scan_columns(Source("run", run), 6).rows
    pairs = list(enumerate(zip(rows["c1"], rows["c3"], strict=True)))
    found = [(row, *pair) for row, pair in pairs if pair in judged]
    others = [1 for _, (query, doc) in pairs if (query, doc.lower()) in near]
    return found, len(others) - len(found)


@given(regular_runs(), regular_qrels(), st.sampled_from([None, 1, 2, 5]))
def test_judged_documents_are_those_with_equal_ids(run_text, qrels_text, depth):
    run, qrels = scan_run(run_text.encode()), scan_qrels(qrels_text.encode())
    if run is None or qrels is None:
        return
    table = JudgedIds.of(qrels)
    numbers = table.numbers(run.query_ids)
    assert [qrels.query_ids[one] for one in numbers if one >= 0] == [
        one for one in run.query_ids if one in set(qrels.query_ids)
    ]
    found = table.find(run, numbers, depth)
    doc_ids = qrels.doc_ids.texts(found.judgments)
    query = np.repeat(np.arange(len(qrels.query_ids)), np.diff(qrels.starts))[found.judgments]
    pairs = [
        (row, qrels.query_ids[number], doc_id)
        for row, number, doc_id in zip(found.rows.tolist(), query, doc_ids, strict=True)
    ]
    expected, n_near = expected_pairs(run_text.encode(), qrels_text.encode())
    assert pairs == sorted(pairs)
    assert found.n_other_spellings == n_near or depth is not None
    if depth is None:
        assert pairs == expected
    deep = set(np.flatnonzero(run.ranks(np.arange(run.n_rows)) > (depth or 100)).tolist())
    assert [one for one in pairs if one[0] not in deep] == [
        one for one in expected if one[0] not in deep
    ]
    documents = set(qrels.doc_ids.texts(np.arange(len(qrels.doc_ids))))
    ours = set(run.doc_ids.texts(np.arange(run.n_rows)))
    assert table.has_any(run) == bool(ours & documents)


def test_judgments_of_many_queries_are_found():
    lines = [
        f"{query} 0 {(query * 37 + n) * 7919} {n % 3}\n" for query in range(200) for n in range(90)
    ]
    qrels = scan_qrels("".join(lines).encode())
    rows = [
        f"{query} Q0 {(query * 37 + n) * 7919} {n + 1} {500 - n} t\n"
        for query in range(100, 300)
        for n in range(150)
    ]
    run = scan_run("".join(rows).encode())
    assert run is not None
    assert qrels is not None
    table = JudgedIds.of(qrels)
    numbers = table.numbers(run.query_ids)
    assert (numbers >= 0).sum() == 100
    for depth, n_found in ((None, 90), (100, 90), (20, 20)):
        found = table.find(run, numbers, depth)
        assert len(found.rows) == 100 * n_found
        assert run.doc_ids.take(found.rows).equal(qrels.doc_ids.take(found.judgments)).all()


def test_documents_are_found_although_hashes_collide(monkeypatch):
    monkeypatch.setattr(Ids, "hashes", lambda ids: ids.words[0] & np.uint64(0))
    qrels = scan_qrels(b"1 0 a 1\n1 0 b 1\n1 0 c 1\n2 0 d 1\n")
    run = scan_run(b"1 Q0 c 1 2 t\n1 Q0 x 2 1 t\n2 Q0 c 1 1 t\n2 Q0 d 2 0 t\n")
    assert qrels is not None
    assert run is not None
    found = JudgedIds.of(qrels).find(run, np.array([0, 1]))
    assert (found.rows.tolist(), found.judgments.tolist()) == ([0, 3], [2, 3])
