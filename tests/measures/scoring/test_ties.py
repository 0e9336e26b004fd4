import itertools
from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures import evaluate, parse_measures
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.measures.scoring.bounds import tie_bounds, tie_counts
from trectools_plus.measures.scoring.scores import score_ranking
from trectools_plus.validation.loading import load_run

MEASURES = ["nDCG@3", "nDCG", "AP", "AP@2", "RR", "RR@2", "P@2", "R@3", "Success@1", "Rprec"]


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


@given(
    st.lists(st.sampled_from([2.0, 1.0]), min_size=4, max_size=4),
    st.lists(st.integers(0, 3), min_size=3, max_size=3),
)
def test_bounds_are_the_extremes_over_all_orders_of_ties(scores, grades):
    """Every renaming of the documents is one order of the ties."""
    documents = dict(zip("abcd", scores, strict=True))
    qrels = {"q": {**dict(zip("abc", grades, strict=True)), "r": 1, "z": 0}}
    bounds = tie_bounds(Qrels.from_dict(qrels), Run.from_dict({"q": documents}), MEASURES)
    seen = {measure: [] for measure in MEASURES}
    for names in itertools.permutations("abcd"):
        new = dict(zip("abcd", names, strict=True))
        renamed = {"q": {new.get(doc, doc): grade for doc, grade in qrels["q"].items()}}
        run = Run.from_dict({"q": {new[doc]: value for doc, value in documents.items()}})
        queries = JudgedQueries.from_qrels(Qrels.from_dict(renamed))
        values = score_ranking(parse_measures(MEASURES), queries, queries.rank(run))[0]
        for measure, value in zip(MEASURES, values, strict=True):
            seen[measure].append(value)
    for _, measure, worst, best in bounds.iter_rows():
        assert worst == pytest.approx(min(seen[measure]), abs=1e-15)
        assert best == pytest.approx(max(seen[measure]), abs=1e-15)


def test_bounds_of_a_run_without_ties_are_its_values():
    qrels = Qrels.from_dict({"1": {"a": 1, "b": 2, "c": 0}, "2": {"x": 1}})
    run = Run.from_dict({"1": {"c": 3.0, "a": 2.0, "b": 1.0}})
    bounds = tie_bounds(qrels, run, MEASURES)
    values = evaluate(qrels, run, MEASURES).per_query()["value"].to_list()
    assert bounds["worst"].to_list() == bounds["best"].to_list() == values


def test_measures_that_see_documents_have_no_bounds():
    qrels, run = Qrels.from_dict({"1": {"a": 1}}), Run.from_dict({"1": {"a": 1.0}})
    with pytest.raises(UsageError):
        tie_bounds(qrels, run, ["AP", "Compat"])
