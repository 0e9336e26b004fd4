"""What is asked is shown, in one orientation, with the first named measure as primary."""

import json
import re

import pytest

from trectools_plus import compare
from trectools_plus.statistics.comparison import ends_of

EIGHT = ["P@5", "nDCG@10", "map", "P@10", "P@20", "RR", "Rprec", "bpref"]
QRELS = {f"q{n}": {f"d{n}": 2, f"e{n}": 1} for n in range(12)}
GOOD = {q: {d: 9.0 - r for r, d in enumerate(docs)} for q, docs in QRELS.items()}
BAD = {q: {"x": 9.0, **{d: 5.0 - r for r, d in enumerate(docs)}} for q, docs in QRELS.items()}
WORST = {q: {"x": 9.0, "y": 8.0, "z": 7.0, next(iter(docs)): 1.0} for q, docs in QRELS.items()}
RUNS = {"worst": WORST, "good": GOOD, "bad": BAD}


def _compare(**options):
    return compare(QRELS, RUNS, options.pop("measures", EIGHT), resamples=200, **options)


@pytest.mark.parametrize("baseline", [None, "bad"])
def test_every_named_measure_is_in_every_output(tmp_path, baseline):
    found = _compare(baseline=baseline)
    assert json.loads(found.to_json())["headline_measures"] == EIGHT
    files = [tmp_path / f"t{suffix}" for suffix in (".tex", ".md", ".csv")]
    found.write(*files)
    for text in (str(found), found._repr_html_(), *(file.read_text() for file in files)):
        places = [re.search(rf"(?<![\w@]){re.escape(name)}(?![\w@])", text) for name in EIGHT]
        assert all(places)
        assert sorted(place.start() for place in places if place) == [
            place.start() for place in places if place
        ]


@pytest.mark.parametrize("measures", [EIGHT, ["RR", "nDCG@10"], ["nDCG@10", "RR"]])
def test_the_first_named_measure_is_primary(measures):
    found = _compare(measures=measures)
    assert found.report.primary_measure == found.report.verdict.measure == measures[0]
    assert _compare(measures=measures, primary_measure="RR").report.primary_measure == "RR"


def test_a_pair_is_the_better_run_minus_the_other_one():
    found = _compare(measures=["RR", "P@5"])
    pairs = {(one.contrast, one.baseline) for one in found}
    assert pairs == {("good", "worst"), ("bad", "worst"), ("good", "bad")}
    for one in found:
        assert one.measure != "RR" or one.difference > 0
        turned = found.find(one.contrast, one.baseline, one.measure)
        assert turned.difference == -one.difference
        assert (turned.wins, turned.losses) == (one.losses, one.wins)
        low, high = ends_of(turned.ci)
        assert one.ci is None or (low, high) == (-one.ci.high, -one.ci.low)
    assert {(one.baseline, one.contrast) for one in _compare(baseline="good")} == {
        ("good", "worst"),
        ("good", "bad"),
    }


def test_groups_have_two_runs():
    groups = json.loads(_compare(measures=["RR"]).to_json())["groups"]["RR"]
    assert all(len(group) > 1 for group in groups)
