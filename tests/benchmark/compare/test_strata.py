"""Strata in reports: their figures, and when they are present."""

import json
import math

import numpy as np
import pytest

from trectools_plus.benchmark import ReportFolder
from trectools_plus.reporting import render_html
from trectools_plus.statistics import mean_intervals
from trectools_plus.statistics.intervals import METHOD_NAMES

QUERIES = 24
MEASURES = ["RR@10", "R@10", "MinRank"]
KINDS = {n: "easy" if n < 10 else "hard" if n < 22 else "" for n in range(QUERIES)}


@pytest.fixture
def make(bench, tmp_path):
    """Makes benchmarks of given runs with topics that have a field."""

    def run(kinds, **settings):
        topics = tmp_path / "topics.jsonl"
        lines = [{"_id": f"q{n}", "text": f"text {n}", "kind": kind} for n, kind in kinds.items()]
        topics.write_text("".join(json.dumps(line) + "\n" for line in lines))
        # Where the rank is 0, nothing relevant is retrieved, so MinRank is undefined.
        ranks = {
            mode: {n: n * step % 12 for n in range(QUERIES)} for mode, step in (("a", 5), ("b", 7))
        }
        options = {"measures": MEASURES, "topics": str(topics), "resamples": 100, **settings}
        return ReportFolder(bench.make("out", ranks, queries=QUERIES, judged=(), **options))

    return run


def test_figures_are_those_of_the_queries_with_the_value(make):
    result = make(KINDS, confidence=0.9, seed=7)
    strata = result.report.strata
    assert {field: list(values) for field, values in strata.items()} == {"kind": ["hard", "easy"]}
    cases = [(mode, measure) for mode in ("a", "b") for measure in MEASURES]
    for value, modes in strata["kind"].items():
        members = [f"q{n}" for n, kind in KINDS.items() if kind == value]
        table = np.empty((len(members), len(cases)))
        for column, (mode, measure) in enumerate(cases):
            of_case = result.per_query.filter(run=mode, measure=measure)
            known = dict(of_case.select("query_id", "value").iter_rows())
            table[:, column] = [math.nan if (v := known[q]) is None else v for q in members]
        shares = np.array([measure != "MinRank" for _, measure in cases])
        expected = mean_intervals(table, proportions=shares, resamples=100, seed=7, confidence=0.9)
        for column, (mode, measure) in enumerate(cases):
            held = modes[mode][measure]
            defined = table[~np.isnan(table[:, column]), column]
            assert held.n == len(defined)
            assert held.mean == pytest.approx(sum(defined) / len(defined), abs=1e-12)
            if expected.methods[column] == "":
                assert held.ci is None
                continue
            assert held.ci.low == pytest.approx(expected.low[column], abs=1e-12)
            assert held.ci.high == pytest.approx(expected.high[column], abs=1e-12)
            method = expected.methods[column]
            assert held.ci.method == METHOD_NAMES[method]
            assert (held.ci.level, held.ci.resamples) == (0.9, 0 if method == "wilson" else 100)
    # Both are there: a measure undefined for some queries, and one defined for all.
    assert strata["kind"]["hard"]["a"]["MinRank"].n < 12 == strata["kind"]["hard"]["a"]["RR@10"].n


def test_a_measure_defined_for_no_query_of_a_stratum_has_no_mean(make):
    # q0 and q12 find nothing relevant in either run.
    report = make({n: "lost" if n in (0, 12) else "found" for n in range(QUERIES)}).report
    lost = report.strata["kind"]["lost"]["a"]["MinRank"]
    assert (lost.mean, lost.n, lost.ci) == (None, 0, None)
    assert report.strata["kind"]["lost"]["a"]["RR@10"].mean == 0.0
    assert "None" not in render_html(report)
