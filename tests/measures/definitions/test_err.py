import shutil

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures import evaluate

QUERIES = st.dictionaries(
    st.sampled_from("12345"),
    st.tuples(
        st.permutations("abcdefgh"),
        st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-1, 4)),
    ),
    min_size=1,
)


def values(names, rankings, qrels):
    scores = {
        query: {doc: 9.0 - place for place, doc in enumerate(docs)}
        for query, docs in rankings.items()
    }
    evaluation = evaluate(Qrels.from_dict(qrels), Run.from_dict(scores), names)
    return [evaluation.values("run", name).tolist() for name in names]


def test_by_hand():
    """Chances 3/16, 0, 15/16: 3/16 + 13/16 * 15/16 / 3."""
    third = 13 / 16 * 15 / 16 / 3
    grades = {"a": 2, "b": 0, "c": 4, "n": -1, "missing": 4}
    at_2, at_3, whole = values(["ERR@2", "ERR@3", "ERR"], {"1": "abcnx"}, {"1": grades})
    assert at_2 == [3 / 16]
    assert at_3 == whole == pytest.approx([3 / 16 + third], rel=1e-15)
    assert values(["ERR@1"], {"1": "c", "2": "x"}, {"1": grades, "2": {"c": 1}}) == [[15 / 16, 0.0]]


@pytest.mark.skipif(not shutil.which("perl"), reason="ir_measures computes ERR with Perl")
@settings(max_examples=settings().max_examples // 4)
@given(QUERIES, st.integers(1, 9))
def test_equals_gdeval(queries, cutoff):
    rankings = {query: docs for query, (docs, _) in queries.items()}
    qrels = {query: {"a": 0, **grades, "r": 1} for query, (_, grades) in queries.items()}
    ours = values([f"ERR@{cutoff}"], rankings, qrels)[0]
    run = {q: {doc: 9.0 - i for i, doc in enumerate(docs)} for q, docs in rankings.items()}
    metrics = ir_measures.gdeval.iter_calc([ir_measures.ERR @ cutoff], qrels, run)
    theirs = {metric.query_id: metric.value for metric in metrics}
    # The script prints five decimals.
    np.testing.assert_allclose(ours, [theirs[query] for query in qrels], atol=5.1e-6)


def test_a_grade_above_the_highest_is_refused():
    with pytest.raises(UsageError, match=r"5.*4.*ERR@5"):
        values(["ERR@5"], {"1": "a"}, {"1": {"a": 5}})
