from dataclasses import astuple

import pytest

from trectools_plus.formats.tables import Run
from trectools_plus.measures.scoring import count_ties
from trectools_plus.validation.loading import load_run
from trectools_plus.validation.views.kinds import RunView


def test_counts_in_both_precisions():
    run = Run.from_dict(
        {
            "1": {"a": 3.0, "b": 2.0, "c": 2.0, "d": 2.0, "e": 1.000000001, "f": 1.0},
            "2": {"a": 1.0, "b": 1.000000001},
            "3": {"a": 1.0, "b": 0.5},
        }
    )
    ties = count_ties(RunView.of_table(run), cutoffs=(1, 2, 3, 5))
    assert astuple(ties) == (4, 2, 2, {1: 1, 2: 1, 3: 1, 5: 1})


def test_a_tie_between_queries_is_none():
    assert (
        count_ties(RunView.of_table(Run.from_dict({"1": {"a": 1.0}, "2": {"a": 1.0}}))).pairs == 0
    )


@pytest.mark.parametrize(
    ("name", "only_in_32", "in_64"), [("oce03noXbmD", 1497, 1638), ("aplrob03a", 0, 6703)]
)
def test_robust_2003(shared_data, name, only_in_32, in_64):
    ties = count_ties(RunView.of_table(load_run(shared_data / "robust03" / f"input.{name}.gz")))
    assert (ties.pairs - ties.pairs_64, ties.pairs_64) == (only_in_32, in_64)
