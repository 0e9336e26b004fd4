from dataclasses import astuple

import pytest

from trectools_plus.formats.tables import Run
from trectools_plus.measures.scoring.bounds import tie_counts
from trectools_plus.validation.loading import load_run


def test_counts_in_both_precisions():
    run = Run.from_dict(
        {
            "1": {"a": 3.0, "b": 2.0, "c": 2.0, "d": 2.0, "e": 1.000000001, "f": 1.0},
            "2": {"a": 1.0, "b": 1.000000001},
            "3": {"a": 1.0, "b": 0.5},
        }
    )
    counts = tie_counts(run, cutoffs=(1, 2, 3, 5))
    assert (counts.documents, counts.queries) == (10, 3)
    assert astuple(counts.in_64_bits) == (3, 2, 1, {1: 0, 2: 1, 3: 1, 5: 0})
    assert astuple(counts.in_32_bits) == (7, 4, 2, {1: 1, 2: 1, 3: 1, 5: 1})
    assert counts.in_32_bits.pairs - counts.in_64_bits.pairs == 2
    assert counts.as_dict()["32_bits"]["straddling"] == {"1": 1, "2": 1, "3": 1, "5": 1}


def test_a_tie_between_queries_is_none():
    counts = tie_counts(Run.from_dict({"1": {"a": 1.0}, "2": {"a": 1.0}}))
    assert counts.in_32_bits.pairs == 0


@pytest.mark.parametrize(
    ("name", "only_in_32", "in_64"), [("oce03noXbmD", 1497, 1638), ("aplrob03a", 0, 6703)]
)
def test_robust_2003(shared_data, name, only_in_32, in_64):
    counts = tie_counts(load_run(shared_data / "robust03" / f"input.{name}.gz"))
    in_32 = counts.in_32_bits.pairs - counts.in_64_bits.pairs
    assert (in_32, counts.in_64_bits.pairs) == (only_in_32, in_64)
