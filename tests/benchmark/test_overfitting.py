"""Comparison of used and held-out queries of a report."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from trectools_plus.benchmark.overfitting import check_overfitting
from trectools_plus.benchmark.report.folder import ReportFolder
from trectools_plus.errors import IncomparableError, InputError, UsageError
from trectools_plus.statistics import unpaired_difference
from trectools_plus.testsets.model import RelevantTerm, TestQuery, TestSet, TestSetMetadata


def part(numbers: range, name: str = "part") -> TestSet:
    queries = tuple(
        TestQuery(
            query_id=f"q{number}",
            text=f"text {number}",
            relevant=(RelevantTerm(doc_id="good", grade=1),),
        )
        for number in numbers
    )
    return TestSet(metadata=TestSetMetadata(dataset_id=name), queries=queries)


USED, HELD_OUT = part(range(40)), part(range(40, 60))
ALIKE = {number: number % 5 + 1 for number in range(60)}
LEARNED = {number: 1 if number < 40 else number % 5 + 2 for number in range(60)}
HARD = {number: 1 if number >= 40 else number % 5 + 2 for number in range(60)}


def test_a_mode_that_learned_its_queries_is_flagged(bench) -> None:
    folder = bench.make("r", {"alike": ALIKE, "learned": LEARNED, "hard": HARD})
    found = check_overfitting([folder], USED, HELD_OUT, measures=["RR@10"])
    flags = {one.mode: (one.flagged, one.better_used) for one in found.contrasts}
    assert flags["learned"] == (True, True)
    assert flags["hard"] == (True, False)
    assert not flags["alike"][0]
    assert found.flagged
    assert found.notes == ()


def test_figures_are_those_of_the_two_samples(bench) -> None:
    folder = bench.make("r", {"learned": LEARNED})
    [one] = check_overfitting([folder], USED, HELD_OUT, measures=["MRR@10"], seed=5).contrasts
    table = ReportFolder(folder).per_query.filter(measure="RR@10")
    values = dict(table.select("query_id", "value").iter_rows())
    samples = [[values[query.query_id] for query in side.queries] for side in (USED, HELD_OUT)]
    assert one.comparison == unpaired_difference(*samples, seed=5)
    assert one.p_adjusted == one.comparison.p_permutation


def test_the_first_measure_is_the_default_and_p_values_are_adjusted(bench) -> None:
    folder = bench.make("r", {"a": LEARNED, "b": ALIKE})
    found = check_overfitting([folder], USED, HELD_OUT)
    assert {one.measure for one in found.contrasts} == {"R@10"}
    both = check_overfitting([folder], USED, HELD_OUT, measures=["R@10", "RR@10"])
    assert len(both.contrasts) == 4
    for one in both.contrasts:
        assert one.p_adjusted >= one.comparison.p_permutation


def test_reports_on_the_parts(bench) -> None:
    whole = bench.make("whole", {"learned": LEARNED})
    expected = check_overfitting([whole], USED, HELD_OUT, measures=["RR@10"])
    assert check_overfitting([whole, whole], USED, HELD_OUT, measures=["RR@10"]) == expected
    few = bench.make("few", {"learned": LEARNED}, queries=41)
    with pytest.raises(UsageError, match=r"1.*20"):
        check_overfitting([few], USED, HELD_OUT)
    other = bench.make("other", {"learned": ALIKE})
    with pytest.raises(IncomparableError):
        check_overfitting([whole, other], USED, HELD_OUT, measures=["RR@10"])


def test_queries_without_a_value_are_named(bench) -> None:
    folder = bench.make("r", {"a": ALIKE}, queries=50)
    found = check_overfitting([folder], USED, HELD_OUT)
    assert found.notes == (
        "10 queries of the held-out part have no value: q50, q51, q52, … (7 more)",
    )


def test_what_cannot_be_checked_is_refused(bench, tmp_path: Path) -> None:
    folder = bench.make("r", {"a": ALIKE})
    with pytest.raises(IncomparableError, match="20"):
        check_overfitting([folder], USED, part(range(20, 60)))
    shutil.rmtree(folder / "runs")
    with pytest.raises(UsageError, match=r"P@3.*R@10"):
        check_overfitting([folder], USED, HELD_OUT, measures=["P@3"])
    with pytest.raises(UsageError, match=r"2.*1"):
        check_overfitting([folder], USED, part(range(40, 41)))
    with pytest.raises(InputError):
        check_overfitting([tmp_path / "none.json"], USED, HELD_OUT)
    (folder / "per_query.parquet").unlink()
    with pytest.raises(InputError):
        check_overfitting([folder], USED, HELD_OUT)
