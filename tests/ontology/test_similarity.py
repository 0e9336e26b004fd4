import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.ontology.ontology import Ontology
from trectools_plus.ontology.similarity import FORMULAS, best_matches

IDS = [*(f"TOY:{i:04d}" for i in range(1, 14)), "TOY:0104", "nonsense", "TOY:9999"]
LISTS = st.lists(st.lists(st.sampled_from(IDS), max_size=5), max_size=6)


def one_by_one(toy: Ontology, expected: list[str], predicted: list[str], formula: str) -> float:
    """The definition, written as loops."""
    best = 0.0
    for e in expected:
        for p in predicted:
            live = toy.resolve(e).term_id, toy.resolve(p).term_id
            if e == p or (live[0] is not None and live[0] == live[1]):
                best = 1.0
            elif None not in live:
                best = max(best, toy.similarity(e, p, formula))
    return best


@given(expected=LISTS, predicted=LISTS, formula=st.sampled_from(sorted(FORMULAS)))
def test_equals_every_pair_one_by_one(toy, expected, predicted, formula):
    n = min(len(expected), len(predicted))
    expected, predicted = expected[:n], predicted[:n]
    values = best_matches(toy.ids, toy.hierarchy, expected, predicted, FORMULAS[formula])
    slow = [one_by_one(toy, e, p, formula) for e, p in zip(expected, predicted, strict=True)]
    assert values.tolist() == pytest.approx(slow)
