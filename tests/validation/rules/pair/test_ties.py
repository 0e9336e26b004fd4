"""Best and worst order of ties, against every order that there is, scored by pytrec_eval."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, permutations, product
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.validation.engine import validate_run
from trectools_plus.validation.rules.pairs import tie_changes
from trectools_plus.validation.views.kinds import QrelsView, RunView
from trectools_plus.validation.views.places import Pairs

QRELS = (
    "1 0 d01 2\n1 0 d02 0\n1 0 d03 1\n1 0 d04 0\n2 0 d05 1\n2 0 d06 1\n2 0 d07 0\n"
    "3 0 d08 1\n3 0 d09 0\n"
)
RUN = (
    "1 Q0 d01 1 9.5 base\n1 Q0 d02 2 8.0 base\n1 Q0 d03 3 7.25 base\n1 Q0 d10 4 6.0 base\n"
    "2 Q0 d07 1 5.5 base\n2 Q0 d05 2 5.0 base\n2 Q0 d06 3 4.5 base\n"
    "3 Q0 d08 1 3.0 base\n3 Q0 d09 2 3.0 base\n3 Q0 d11 3 1.0 base\n"
)

SCORES = st.dictionaries(
    st.sampled_from("abcdef"), st.sampled_from([3.0, 2.0, 2.00000001, 1.0]), min_size=1
)
GRADES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 3), min_size=1)


def _orders(scores: dict[str, float]) -> Iterator[dict[str, float]]:
    """Every order of a ranking, ties (in 32 bits) permuted, as scores without a tie."""
    key = {doc_id: float(np.float32(score)) for doc_id, score in scores.items()}
    ranking = sorted(scores, key=lambda doc_id: -key[doc_id])
    groups = [list(group) for _, group in groupby(ranking, key=lambda doc_id: key[doc_id])]
    for parts in product(*(permutations(group) for group in groups)):
        order = [doc_id for part in parts for doc_id in part]
        yield {doc_id: float(-place) for place, doc_id in enumerate(order)}


@given(st.dictionaries(st.sampled_from("12"), SCORES, min_size=1), st.data())
def test_changes_are_those_between_the_extremes_of_all_orders(
    scores: dict[str, dict[str, float]], data: st.DataObject
) -> None:
    grades = {query: data.draw(GRADES) for query in ("1", "2", "3")}
    evaluator = pytrec_eval.RelevanceEvaluator(grades, {"map"})
    expected = []
    for query in grades:
        values = [
            evaluator.evaluate({query: order})[query]["map"]
            for order in _orders(scores.get(query, {"x": 1.0}))
        ]
        expected.append(max(values) - min(values))
    run, qrels = RunView.of_table(Run.from_dict(scores)), Qrels.from_dict(grades)
    view = QrelsView.of_table(qrels)
    query = view.numbers_of(run.query_ids)[run.blocks.query]
    judged = Pairs(*view.pairs.find(run.doc_ids, query))
    changes = tie_changes(run, view, query, judged)
    assert changes.tolist() == pytest.approx(expected, abs=1e-9)


def test_the_rule_names_the_change(tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text(RUN, encoding="utf-8")
    (tmp_path / "qrels.txt").write_text(QRELS, encoding="utf-8")
    report = validate_run(tmp_path / "run.txt", qrels=tmp_path / "qrels.txt")
    finding = next(finding for finding in report.findings if finding.code == "P111")
    assert "by up to 0.1667" in finding.message
    assert (finding.line, finding.count) == (None, 1)
