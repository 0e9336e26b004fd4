import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures import parse_measures
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.measures.parser import BUILTIN
from trectools_plus.measures.scoring import find_judged, score_judged

GRADES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-2, 3), min_size=1)
RANKINGS = st.permutations("abcdefghxyz").flatmap(
    lambda docs: st.integers(1, 11).map(lambda n: docs[:n])
)


def score(names, ranking, grades):
    queries = JudgedQueries.of(Qrels.from_dict({"q": grades}))
    run = Run.from_dict({"q": {doc: -float(place) for place, doc in enumerate(ranking)}})
    measures = parse_measures(names)
    return score_judged(measures, find_judged(measures, queries, run))[0]


def test_by_hand():
    """Relevant at ranks 2 and 5, judged at 2, 3 and 5; one relevant document is missing."""
    grades = {"b": 2, "c": 0, "e": 1, "m": 1}
    expected = {
        "MeanRank": 3.5,
        "MeanRank@3": 2.0,
        "MeanRank(rel=2)": 2.0,
        "MinRank": 2.0,
        "MinRank@1": np.nan,
        "RelRet@3": 1.0,
        "RelRet@5": 2.0,
        "RelRet@10": 2.0,
        "RelRet(rel=2)": 1.0,
        "ERR@5": 3 / 16 / 2 + 13 / 16 * 1 / 16 / 5,
        "Judged@2": 0.5,
        "Judged@4": 0.5,
        "Judged@10": 0.6,
        "Judged": 0.6,
        "APcap@2": (1 / 2) / 2,
        "APcap@5": (1 / 2 + 2 / 5) / 3,
        "APcap(rel=2)@5": 1 / 2,
        "APcap(rel=3)@5": 0.0,
        "F1@2": 2 * (1 / 2 * 1 / 3) / (1 / 2 + 1 / 3),
        "F1@5": 2 * (2 / 5 * 2 / 3) / (2 / 5 + 2 / 3),
        "F1@10": 2 * (2 / 10 * 2 / 3) / (2 / 10 + 2 / 3),
        "F1(rel=2)@1": 0.0,
        "F1": 2 * (2 / 5 * 2 / 3) / (2 / 5 + 2 / 3),
    }
    np.testing.assert_allclose(score(expected, "abcde", grades), list(expected.values()))
    assert {name.split("@")[0].split("(")[0] for name in expected} == {*BUILTIN} - {
        "RBP",
        "MaxOntSim",
    }


@given(RANKINGS, GRADES, st.integers(1, 12))
def test_judged_equals_ir_measures(ranking, grades, cutoff):
    grades = {**grades, "r": 1}
    run = {"q": {doc: -float(place) for place, doc in enumerate(ranking)}}
    judged = ir_measures.Judged
    theirs = ir_measures.judged.calc_aggregate([judged @ cutoff, judged], {"q": grades}, run)
    ours = score([f"Judged@{cutoff}", "Judged"], ranking, grades)
    assert ours.tolist() == [theirs[judged @ cutoff], theirs[judged]]


@given(RANKINGS, GRADES, st.integers(1, 12), st.integers(1, 3))
def test_capped_ap_is_ap_times_r_over_min_r_k(ranking, grades, cutoff, level):
    grades = {**grades, "r": 1}
    relevant = sum(grade >= level for grade in grades.values())
    names = [f"APcap(rel={level})@{cutoff}", f"AP(rel={level})@{cutoff}"]
    capped, plain = score(names, ranking, grades)
    if relevant <= cutoff:
        assert capped == plain
    else:
        assert capped == pytest.approx(plain * relevant / cutoff, rel=1e-14)
