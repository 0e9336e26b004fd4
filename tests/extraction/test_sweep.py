from inspect import unwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trectools_plus
from trectools_plus.errors import UsageError
from trectools_plus.extraction.runner import (
    SweepOptions,
    leave_one_out,
    run_extraction,
    sweep_extraction,
)
from trectools_plus.extraction.scoring import figures_of
from trectools_plus.extraction.settings import ExtractionSettings


@given(st.integers(0, 2**32 - 1))
def test_left_out_documents_get_the_value_best_on_the_others(seed):
    generator = np.random.default_rng(seed)
    hits = generator.integers(0, 4, (3, 5))
    tables = [
        np.stack([row, row + generator.integers(0, 3, 5), row, np.full(5, 5)], 1).astype(float)
        for row in hits
    ]
    total, chosen = np.zeros(4), []
    for document in range(5):
        scores = [figures_of(np.delete(one, document, 0).sum(0))[2] for one in tables]
        chosen.append(int(np.argmax(scores)))
        total += tables[chosen[-1]][document]
    found = leave_one_out([0.1, 0.2, 0.3], tables)
    assert [found.precision, found.recall, found.f1] == pytest.approx(figures_of(total))
    assert sum(found.chosen.values()) == 5
    assert found.chosen == {
        value: chosen.count(place) for place, value in enumerate([0.1, 0.2, 0.3]) if place in chosen
    }


def test_points_are_those_of_single_runs(collection, obo_path):
    values = (0.0, 0.5, 1.0)
    options = SweepOptions(systems=["dictionary"], values=values)
    found = sweep_extraction(collection, ontology=obo_path, options=options)
    (curve,) = found.curves
    for value, point in zip(values, curve.points, strict=True):
        settings = ExtractionSettings(method="dictionary", min_confidence=value)
        report = run_extraction(collection, ontology=obo_path, settings=settings).report
        micro = report.scores["present"]["exact"]["micro"]
        assert (point.precision, point.recall) == (micro.precision.value, micro.recall.value)
        assert (point.f1, point.low, point.high) == (
            micro.f1.value,
            micro.f1.ci.low,
            micro.f1.ci.high,
        )
        assert point.is_default == (value == 0.5)


def test_a_whole_number_is_swept(collection, obo_path):
    options = SweepOptions(systems=["dictionary"], parameter="max_gap", values=[0, 2])
    found = sweep_extraction(collection, ontology=obo_path, options=options)
    assert found.curves[0].points[0].recall < found.curves[0].points[1].recall


def test_one_document_cannot_be_left_out():
    assert leave_one_out([1.0], [np.ones((1, 4))]) is None


def test_the_sweep_is_one_import_away():
    assert unwrap(trectools_plus.extraction.sweep_extraction) is sweep_extraction


@pytest.mark.parametrize(
    "wrong",
    [
        {"systems": ["none"]},
        {"systems": []},
        {"systems": ["both", "both"]},
        {"parameter": "retriever"},
        {"values": []},
        {"values": [0.1, 0.1]},
        {"values": [7.0]},
    ],
)
def test_wrong_sweeps_are_refused(collection, obo_path, wrong):
    with pytest.raises(UsageError):
        sweep_extraction(collection, ontology=obo_path, options=SweepOptions(**wrong))
