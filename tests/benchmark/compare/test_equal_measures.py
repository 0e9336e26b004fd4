"""Measures that are equal by definition on the judgments, as opposed to by accident."""

from __future__ import annotations

import pytest

from trectools_plus.benchmark.analyses import find_equal_measures
from trectools_plus.choices import Averaging
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.evaluation import score_runs
from trectools_plus.measures.parser import parse_measures

GRADED = Qrels.from_dict(
    {f"q{n}": {"a": 2, "b": 1, "c": 0, f"d{n}": 1, f"e{n}": 0} for n in range(20)}
)
SINGLE = Qrels.from_dict({f"q{n}": {f"d{n}": 1, "c": 0} for n in range(20)})
NAMES = [
    "RR",
    "HitRate@1",
    "P@1",
    "nDCG@1",
    "R@1",
    "R@10",
    "HitRate@10",
    "AP@10",
    "RR@10",
    "APcap@1",
]


def found(qrels: Qrels, *runs: Run, measures: list[str] = NAMES) -> list[list[str]]:
    named = {str(place): run for place, run in enumerate(runs)}
    evaluation = score_runs(qrels, named, parse_measures(measures), Averaging())
    return find_equal_measures(evaluation, qrels)


def ranked(*documents: str) -> Run:
    scores = {
        f"q{n}": {one.format(n): -float(place) for place, one in enumerate(documents)}
        for n in range(20)
    }
    return Run.from_dict(scores)


def test_precision_at_1_is_the_hit_rate_at_1() -> None:
    assert found(GRADED, ranked("b", "c", "a"), ranked("c", "d{}", "a")) == [
        ["HitRate@1", "P@1", "APcap@1"]
    ]


def test_with_one_relevant_document_per_query_more_measures_are_equal() -> None:
    assert found(SINGLE, ranked("c", "d{}"), ranked("d{}", "c")) == [
        ["HitRate@1", "P@1", "nDCG@1", "R@1", "APcap@1"],
        ["R@10", "HitRate@10"],
        ["AP@10", "RR@10"],
    ]


@pytest.mark.parametrize("run", [ranked("x", "y"), ranked("a", "b", "d{}")])
def test_measures_that_are_equal_by_accident_are_not_in_a_group(run: Run) -> None:
    """All measures are 0, or all are 1, for this run alone."""
    assert found(GRADED, run) == [["HitRate@1", "P@1", "APcap@1"]]


def test_a_short_run_does_not_make_cutoffs_equal() -> None:
    assert found(GRADED, ranked("a", "c"), measures=["R@10", "R@50", "AP@10", "AP@50"]) == []


def test_spellings_and_the_order_are_those_requested() -> None:
    run = ranked("b", "c", "a")
    assert found(GRADED, run, measures=["precision@1", "nDCG@10", "hit@1"]) == [
        ["precision@1", "hit@1"]
    ]
