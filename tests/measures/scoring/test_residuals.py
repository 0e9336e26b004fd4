import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures import parse_measures
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.measures.scoring.bounds import bound_by_unjudged


def run_of(*doc_ids):
    return Run.from_dict({"q": {doc: -float(place) for place, doc in enumerate(doc_ids)}})


def all_bounds(grades, ranking, names):
    """The lower and the higher value of each measure."""
    judged = JudgedQueries.of(Qrels.from_dict({"q": grades})).judge(run_of(*ranking))
    low, high = bound_by_unjudged(parse_measures(names), judged, max(grades.values()))
    return low[0], high[0]


def bounds(grades, ranking, measure):
    low, high = all_bounds(grades, ranking, [measure])
    return low[0], high[0]


@pytest.mark.parametrize(
    ("measure", "low", "high"),
    [
        # Ranking: x? a! y? b- z?   (! relevant, - judged not relevant, ? unjudged)
        ("P@2", 1 / 2, 2 / 2),
        ("P@5", 1 / 5, 4 / 5),
        ("P@10", 1 / 10, 4 / 10),
        ("RR@5", 1 / 2, 1.0),
        ("R@2", 1 / 2, 2 / 3),
        ("R@5", 1 / 2, 4 / 5),
        ("Success@1", 0.0, 1.0),
        ("AP", 1 / 4, (1 + 1 + 1 + 4 / 5) / 5),
        ("MinRank", 1.0, 2.0),
        ("RelRet@3", 1.0, 3.0),
    ],
)
def test_by_hand(measure, low, high):
    """R is 2: document m is relevant and not retrieved."""
    found = bounds({"a": 1, "b": 0, "m": 1}, "xaybz", measure)
    assert found == (pytest.approx(low), pytest.approx(high))


def test_graded_by_hand():
    """The unjudged document at rank 1 gets the highest grade of the qrels, 2."""
    found = bounds({"a": 2, "b": 0}, "xa", "nDCG@2")
    assert found == (pytest.approx(1 / np.log2(3)), 1.0)


def test_more_relevant_documents_can_lower_a_normalised_measure():
    """AP is 1 with the last document irrelevant, (1 + 2/4) / 2 with it relevant."""
    assert bounds({"a": 1, "b": 0, "c": 0}, "abcx", "AP") == (0.75, 1.0)


def test_level_above_every_grade():
    assert bounds({"a": 1}, "xa", "P(rel=3)@2") == (0.0, 0.5)


@given(
    st.permutations("abcdefg"),
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-2, 3)),
    st.integers(1, 8),
)
def test_bounds_of_monotone_measures_hold_for_every_mixed_judgment(ranking, grades, cutoff):
    grades = {**grades, "r": 1}
    measures = [f"P@{cutoff}", f"RR@{cutoff}", f"R@{cutoff}", f"Success@{cutoff}"]
    low, high = all_bounds(grades, ranking, measures)
    unjudged = [doc for doc in ranking[:cutoff] if doc not in grades]
    assert (low <= high).all()
    for size in range(len(unjudged) + 1):
        mixed = {**grades, **dict.fromkeys(unjudged[:size], 1)}
        mixed |= dict.fromkeys(unjudged[size:], 0)
        lower, higher = all_bounds(mixed, ranking, measures)
        assert (lower >= low - 1e-15).all()
        assert (higher <= high + 1e-15).all()


def test_fully_judged_ranking_has_no_residual():
    assert bounds({"a": 1, "b": 0}, "ab", "nDCG@10") == (1.0, 1.0)
