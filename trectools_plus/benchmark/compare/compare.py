"""Comparisons of the runs of an evaluation, and their preconditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from trectools_plus.errors import IncomparableError, UsageError
from trectools_plus.measures.evaluation import Evaluation
from trectools_plus.statistics import pairs_of
from trectools_plus.statistics.arrays import IntervalOptions
from trectools_plus.statistics.comparison import Comparison, Method, PairedScores, compare_scores
from trectools_plus.statistics.method import (
    ADJUSTED_TEST,
    CORRECTION_OF_TESTS,
    FAMILY_TESTS,
    TUKEY,
    choose_method,
    describe_family,
)
from trectools_plus.statistics.paired_tests import PAIRED_TESTS
from trectools_plus.statistics.systems import CORRECTIONS


def compare_evaluation(
    evaluation: Evaluation,
    baseline: str | Sequence[str] | None = None,
    *,
    correction: str | None = None,
    test: str | None = None,
    rope: float | None = None,
    **options: Unpack[IntervalOptions],
) -> list[Comparison]:
    """Compare the runs of an evaluation, query by query, on every measure except sums.

    The family is all comparisons on the same measure. By default, the studentised bootstrap with
    single-step max-t gives adjusted p-values and simultaneous intervals. Otherwise the p-values of
    a paired test are adjusted. A difference is significant if its adjusted p-value is at most 1 -
    ``confidence``, and not ``borderline``. Each difference also has five paired tests.

    Args:
        evaluation: At least one run; all over the same queries.
        baseline: Compare each other run with this one, or with each of several; ``None`` compares
            every pair.
        correction: ``max_t``, the default unless a test is named; ``holm``, ``bonferroni``,
            ``benjamini_hochberg``; or ``tukey_hsd``: the randomised Tukey HSD test, for every pair
            only.
        test: The test whose p-values are adjusted: a name of ``PAIRED_TESTS``. ``tukey_hsd`` and
            ``max_t`` are tests themselves, so no test can be named with them.
        rope: Half the width of the region of practical equivalence, in the unit of the measures:
            adds a Bayesian comparison to each entry.
        **options: ``interval``, the method of the intervals (``auto``); ``confidence``, their level
            between 0 and 1; ``resamples`` of the bootstrap and of the randomisation; ``seed``. The
            same seed gives the resamples of the runs' means.

    Returns:
        One entry per pair and measure: pairs in the order of the runs, then measures.

    Raises:
        UsageError: If a baseline is not one of the runs, or an option is out of range.
        IncomparableError: If the runs are averaged over different queries (``missing="drop"``).
    """
    names = list(evaluation.run_names)
    correction, test = choose_method(correction, test)
    baselines = check_baselines(baseline, names, correction)
    check_test(test, correction)
    refuse_different_queries(evaluation)
    pairs = pairs_of(len(names), [names.index(name) for name in baselines])
    family = describe_family(len(pairs), len(names), baselines)
    return compare_pairs(evaluation, pairs, Method(options, correction, test, family, rope))


def compare_pairs(
    evaluation: Evaluation, pairs: Sequence[tuple[int, int]], method: Method
) -> list[Comparison]:
    """Test the differences of pairs of runs, on each measure as one family.

    Args:
        evaluation: Runs over the same queries.
        pairs: Baseline and contrast, as positions among the runs.
        method: The method; the correction ``tukey_hsd`` counts every pair of the runs.

    Returns:
        As :func:`compare_evaluation`.
    """
    names = evaluation.run_names
    scores = [
        PairedScores(
            names[one],
            names[two],
            measure,
            evaluation.query_ids[names[one]],
            evaluation.values(names[one], measure),
            evaluation.values(names[two], measure),
            evaluation.definition(measure).higher_is_better,
        )
        for one, two in pairs
        for measure in evaluation.compared_names
    ]
    return compare_scores(scores, method) if scores else []


def check_baselines(
    baseline: str | Sequence[str] | None, names: list[str], correction: str
) -> list[str]:
    """Return the baselines as a list; empty to compare every pair.

    Raises:
        UsageError: If one is not one of the runs, or the correction does not exist or compares
            every pair.
    """
    baselines = [baseline] if isinstance(baseline, str) else list(baseline or ())
    for name in baselines:
        if name not in names:
            raise UsageError(
                f"unknown baseline '{name}'", remedy=f"the runs are {', '.join(names)}"
            )
    corrections = [*CORRECTIONS, *FAMILY_TESTS]
    if correction not in corrections:
        raise UsageError(
            f"unknown correction '{correction}'", remedy=f"use {', '.join(corrections)}"
        )
    if correction == TUKEY and baselines:
        raise UsageError(
            "Tukey's test compares every pair, not baselines", remedy="use holm, or no baseline"
        )
    return baselines


def check_test(test: str, correction: str = CORRECTION_OF_TESTS) -> None:
    """Check the name of the test whose p-values are adjusted.

    Raises:
        UsageError: If it is unknown, or the correction is a test itself.
    """
    if test not in PAIRED_TESTS:
        raise UsageError(f"unknown test '{test}'", remedy=f"use {', '.join(PAIRED_TESTS)}")
    if correction in FAMILY_TESTS and test != ADJUSTED_TEST:
        raise UsageError(
            f"the correction {correction} is a test itself, so {test} cannot be combined with it",
            remedy="use holm, or leave out the test",
        )


def refuse_different_queries(evaluation: Evaluation) -> None:
    """Check that all runs of an evaluation are averaged over the same queries.

    Raises:
        IncomparableError: If not; it names two runs and a query that only one of them has.
    """
    names = evaluation.run_names
    for name in names[1:]:
        first, other = (evaluation.query_ids[run] for run in (names[0], name))
        if first != other:
            differing = sorted(set(first) ^ set(other))
            raise IncomparableError(
                f"{names[0]} is averaged over {len(first)} queries and {name} over {len(other)}: "
                f"{len(differing)} are in only one of them, for example {differing[0]}",
                remedy="use missing=zero, which counts a query without results as 0",
            )
    # All means of the table have the same denominator.
    assert len({len(evaluation.tables[name]) for name in names}) <= 1
