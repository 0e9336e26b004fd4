import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures import evaluate, explain

GRADES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-2, 3), min_size=1)


def values(names, ranking, grades):
    run = Run.from_dict({"q": {doc: -float(place) for place, doc in enumerate(ranking)}})
    return evaluate(Qrels.from_dict({"q": grades}), run, names).tables["run"][0].tolist()


def test_by_hand():
    """Grades 2, -, 0, -1, 1 at ranks 1 to 5; the highest grade of the query is 4."""
    grades = {"a": 2, "c": 0, "d": -1, "e": 1, "missing": 4}
    expected = {
        "RBP": 0.2 * (2 / 4 + 1 / 4 * 0.8**4),
        "RBP(p=0.5)": 0.5 * (2 / 4 + 1 / 4 * 0.5**4),
        "RBP(rel=1)": 0.2 * (1 + 0.8**4),
        "RBP(rel=2)": 0.2,
        "RBP(p=0.95,rel=1)": 0.05 * (1 + 0.95**4),
        "RBP(rel=1)@4": 0.2,
        "RBP@1": 0.2 * 2 / 4,
        "RBP(rel=3)": 0.0,
    }
    np.testing.assert_allclose(values(expected, "abcde", grades), list(expected.values()))


@given(
    st.permutations("abcdefghxyz"),
    GRADES,
    st.sampled_from([0.2, 0.5, 0.8, 0.95]),
    st.integers(1, 3),
)
def test_equals_cwl_eval(ranking, grades, persistence, level):
    ruler = pytest.importorskip("cwl.ruler.cwl_ruler")
    grades = {**grades, "r": 1}
    gains = [float(grades.get(doc, 0) >= level) for doc in ranking]
    theirs = ruler.RBPCWLMetric(persistence).measure(ruler.Ranking("q", gains, [1.0] * len(gains)))
    ours = values([f"RBP(p={persistence}, rel={level})"], ranking, grades)[0]
    assert ours == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("p", ["0.0", "1.0", "-0.5", "1", "'x'", "True", "None"])
def test_persistence_outside_0_to_1_is_refused(p):
    with pytest.raises(UsageError, match=r"0.*1"):
        explain(f"RBP(p={p})")
