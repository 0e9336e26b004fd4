import pytest

from trectools_plus.errors import UsageError
from trectools_plus.extraction.report import ExtractionSettings
from trectools_plus.extraction.runner import (
    SweepOptions,
    run_extraction,
    sweep_extraction,
)


def test_points_are_those_of_single_runs(collection, obo_path):
    values = (0.0, 0.5, 1.0)
    options = SweepOptions(systems=["dictionary"], values=values)
    (curve,) = sweep_extraction(collection, ontology=obo_path, options=options).curves
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


@pytest.mark.parametrize(
    "wrong",
    [
        {"systems": ["none"]},
        {"systems": []},
        {"values": []},
        {"values": [7.0]},
    ],
)
def test_wrong_sweeps_are_refused(collection, obo_path, wrong):
    with pytest.raises(UsageError):
        sweep_extraction(collection, ontology=obo_path, options=SweepOptions(**wrong))
