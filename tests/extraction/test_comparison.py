from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import IncomparableError, UsageError
from trectools_plus.extraction.comparison import compare_extractions, randomised_p_values
from trectools_plus.extraction.runner import ExtractionOptions, run_extraction
from trectools_plus.extraction.scoring import averages_of, figures_of
from trectools_plus.extraction.settings import ExtractionSettings
from trectools_plus.statistics.arrays import Resampling
from trectools_plus.statistics.paired_tests import randomisation_test


def rows(documents):
    numbers = st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4))
    made = numbers.map(lambda n: [min(n), n[1], min(n), n[2]])
    return st.lists(made, min_size=documents, max_size=documents)


@given(rows(4), rows(4))
def test_p_values_are_those_of_going_through_all_exchanges(a, b):
    first, second = np.array(a, dtype=float), np.array(b, dtype=float)
    second[:, 3] = first[:, 3]  # the gold is the same
    observed = np.abs(averages_of(second) - averages_of(first))[0]
    extreme = np.zeros((3, 3))
    for swapped in product([False, True], repeat=4):
        mask = np.array(swapped)[:, None]
        one, other = np.where(mask, second, first), np.where(mask, first, second)
        extreme += np.abs(averages_of(other) - averages_of(one))[0] >= observed - 1e-12
    found = randomised_p_values(first, second, Resampling())
    np.testing.assert_allclose(found, extreme / 16)


@pytest.mark.parametrize("documents", [12, 40])
def test_of_macro_f1_it_is_the_randomisation_test_of_the_documents(documents):
    generator = np.random.default_rng(3)
    gold = generator.integers(3, 9, documents)
    tables = []
    for share in (0.5, 0.65):
        hits = generator.binomial(gold, share)
        extra = generator.integers(0, 3, documents)
        tables.append(np.stack([hits, hits + extra, hits, gold], axis=1).astype(float))
    found = randomised_p_values(*tables, Resampling(20_000, 1))[1, 2]
    differences = figures_of(tables[1])[:, 2] - figures_of(tables[0])[:, 2]
    expected = randomisation_test(differences, resamples=20_000, seed=1).p_value[0]
    assert found == pytest.approx(expected, abs=0.0 if documents == 12 else 0.02)


@pytest.fixture
def reports(collection, obo_path):
    def run(**values):
        settings = ExtractionSettings(method="dictionary", **values)
        return run_extraction(collection, ontology=obo_path, settings=settings).report

    return run


def test_two_systems(reports):
    comparison = compare_extractions(reports(max_gap=0), reports(max_gap=2))
    by_name = {(one.average, one.figure): one for one in comparison.differences}
    recall = by_name["micro", "recall"]
    assert (recall.first, recall.second) == (0.5, 0.75)
    assert recall.low <= recall.difference <= recall.high
    assert 0 < recall.p_value <= 1
    assert comparison.f1.wins == 1
    assert list(comparison.by_document.ids) == ["d1", "d2", "d3"]


def test_a_system_does_not_differ_from_itself(reports):
    report = reports()
    for one in compare_extractions(report, report, matching="soft").differences:
        assert (one.difference, one.low, one.high, one.p_value) == (0, None, None, 1)


def test_other_documents_and_other_formulas_are_refused(reports, collection, obo_path):
    first = reports()
    other = run_extraction(
        collection,
        ontology=obo_path,
        settings=ExtractionSettings(method="dictionary"),
        options=ExtractionOptions(similarity="simple_resnik_like"),
    ).report
    compare_extractions(first, other)
    with pytest.raises(IncomparableError, match="simple_resnik_like"):
        compare_extractions(first, other, matching="soft")
    path = collection / "small" / "annotations" / "d3.json"
    path.write_text(path.read_text("utf-8").replace("Nothing", "Little"), "utf-8")
    with pytest.raises(IncomparableError):
        compare_extractions(first, reports())


def test_views_and_matchings_have_names(collection, obo_path):
    settings = ExtractionSettings(method="dictionary")
    report = run_extraction(collection, ontology=obo_path, settings=settings).report
    with pytest.raises(UsageError, match="all"):
        compare_extractions(report, report, view="all")
    with pytest.raises(UsageError, match="near"):
        compare_extractions(report, report, matching="near")


def test_one_document_is_no_comparison(collection, obo_path):
    for name in ("d2", "d3"):
        (collection / "small" / "annotations" / f"{name}.json").unlink()
    settings = ExtractionSettings(method="dictionary")
    report = run_extraction(collection, ontology=obo_path, settings=settings).report
    with pytest.raises(UsageError):
        compare_extractions(report, report)
