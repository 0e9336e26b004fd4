"""The field's worked examples, through the front door."""

import pytest
from harness.tables import cases_of

from trectools_plus.measures import evaluate

# Grades, ranking with "x" and "y" for documents that are not judged, measure, value.
EXAMPLES = cases_of(__file__, "examples")


@pytest.mark.parametrize(("grades", "ranking", "measure", "value"), EXAMPLES)
def test_values_by_hand(grades, ranking, measure, value):
    run = {doc_id: -float(place) for place, doc_id in enumerate(ranking)}
    assert evaluate({"q": grades}, {"q": run}, [measure])[measure] == pytest.approx(
        value, abs=1e-15
    )


def test_mean_reciprocal_rank_of_first_ranks_1_2_3():
    run = {str(n): {"a": 1.0} | {f"x{m}": 2.0 for m in range(n)} for n in range(3)}
    found = evaluate({query: {"a": 1} for query in run}, run, ["RR", "RR@10"])
    assert found["RR"] == found["RR@10"] == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
