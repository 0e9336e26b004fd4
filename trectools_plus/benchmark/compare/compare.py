"""Paired differences between runs: intervals from the resamples of their means, and tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypedDict, Unpack

import numpy as np

from trectools_plus.benchmark.compare.method import (
    ADJUSTED_TEST,
    CORRECTION_OF_TESTS,
    EQUAL,
    FAMILY_TESTS,
    MAX_T,
    TUKEY,
    alpha_of,
    choose_method,
    describe_family,
)
from trectools_plus.benchmark.compare.preconditions import refuse_different_queries
from trectools_plus.benchmark.report import BayesianResult, Comparison, ConfidenceInterval
from trectools_plus.benchmark.report.parts import none_if_nan
from trectools_plus.errors import UsageError
from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.evaluation import Evaluation
from trectools_plus.statistics import (
    Intervals,
    PairedComparison,
    adjust_tests,
    compare_columns,
    decide_by_tukey,
    pairs_of,
    probabilities_of,
    smallest_detectable_difference,
)
from trectools_plus.statistics.arrays import IntervalOptions, Resampling
from trectools_plus.statistics.intervals import METHOD_NAMES, RESAMPLED
from trectools_plus.statistics.paired_tests import PAIRED_TESTS
from trectools_plus.statistics.power import level_of_t
from trectools_plus.statistics.systems import CORRECTIONS, compare_families


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
    facts = name_method(correction, test, describe_family(len(pairs), len(names), baselines))
    return compare_pairs(evaluation, pairs, facts, options, rope)


class Method(TypedDict):
    """The facts about a family that each of its comparisons states."""

    test: str
    correction: str
    family: str


def name_method(correction: str, test: str, family: str) -> Method:
    """Return test, correction and family as the report names them."""
    return {
        "test": correction if correction in FAMILY_TESTS else test,
        "correction": correction,
        "family": family,
    }


def compare_pairs(
    evaluation: Evaluation,
    pairs: Sequence[tuple[int, int]],
    facts: Method,
    options: IntervalOptions,
    rope: float | None = None,
) -> list[Comparison]:
    """Test the differences of pairs of runs, on each measure as one family.

    Args:
        evaluation: Runs over the same queries.
        pairs: Baseline and contrast, as positions among the runs.
        facts: The method; the correction ``tukey_hsd`` counts every pair of the runs.
        options: Settings of the intervals and tests.
        rope: As in :func:`compare_evaluation`.

    Returns:
        As :func:`compare_evaluation`.
    """
    measures = evaluation.compared_names
    if not pairs or not measures:
        return []
    names = evaluation.run_names
    cases = [(names[one], names[two], name) for one, two in pairs for name in measures]
    differences = np.column_stack(
        [
            evaluation.values(contrast, name) - evaluation.values(base, name)
            for base, contrast, name in cases
        ]
    )
    resamples = Resampling(**options).resamples
    columns = np.arange(len(cases)).reshape(len(pairs), len(measures))
    tables = [differences[:, of_measure] for of_measure in columns.T.tolist()]
    if facts["correction"] == TUKEY:
        families = [
            _decide_by_tukey(evaluation, pairs, name, compare_columns(table, **options), options)
            for name, table in zip(measures, tables, strict=True)
        ]
    else:
        families = decide_families(tables, facts, **options)
    found: dict[int, PairedComparison] = {}
    adjusted = np.empty(len(cases))
    for of_measure, (family, p_values) in zip(columns.T.tolist(), families, strict=True):
        found |= zip(of_measure, family, strict=True)
        adjusted[of_measure] = p_values
    entries = [
        make_comparison(
            case,
            found[column],
            float(adjusted[column]),
            resamples,
            facts,
            pairs=len(pairs),
            higher_is_better=evaluation.definition(case[2]).higher_is_better,
        )
        for column, case in enumerate(cases)
    ]
    if rope is None:
        return entries
    return [
        add_probabilities(
            entry,
            found[column],
            rope,
            higher_is_better=evaluation.definition(entry.measure).higher_is_better,
        )
        for column, entry in enumerate(entries)
    ]


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


def decide_families(
    tables: Sequence[FloatArray], facts: Method, **options: Unpack[IntervalOptions]
) -> list[tuple[list[PairedComparison], FloatArray]]:
    """Compare the pairs of each family by its method, other than Tukey's test.

    Args:
        tables: The differences of each family over the same queries, shape (queries, pairs);
            ``nan`` for an undefined pair.
        facts: The method.
        options: Settings of the intervals and tests.

    Returns:
        For each family, the comparisons with all tests, and the adjusted p-values, ``nan`` where
        nothing was compared. With ``max_t``, the intervals and the p-values of the paired
        bootstrap are from the same resamples as the adjusted ones.
    """
    if facts["correction"] == MAX_T:
        others = [name for name in PAIRED_TESTS if name != "paired_bootstrap"]
        plain: IntervalOptions = {**options, "interval": "t"}  # replaced
        comparisons = [compare_columns(table, tests=others, **plain) for table in tables]
        return compare_families(tables, comparisons, **options)
    test, correction = facts["test"], facts["correction"]
    return [
        adjust_tests(table, compare_columns(table, **options), test, correction, **options)
        for table in tables
    ]


def _decide_by_tukey(
    evaluation: Evaluation,
    pairs: Sequence[tuple[int, int]],
    measure: str,
    comparisons: Sequence[PairedComparison],
    options: IntervalOptions,
) -> tuple[list[PairedComparison], FloatArray]:
    """Apply Tukey's test to the queries for which every run defines the measure."""
    table = np.column_stack([evaluation.values(name, measure) for name in evaluation.run_names])
    defined = table[~np.isnan(table).any(axis=1)]
    if len(defined) < 2:
        return list(comparisons), np.full(len(pairs), 1.0 if len(defined) else np.nan)
    p_values, borderline = decide_by_tukey(defined, pairs, **options)
    found = [
        replace(one, borderline=bool(near))
        for one, near in zip(comparisons, borderline, strict=True)
    ]
    return found, p_values


def interval_of(intervals: Intervals, column: int) -> ConfidenceInterval | None:
    """Return one column's interval for a report; ``None`` without a valid one.

    Ends nearer to 0 than 1e-12 become 0: the last bits of a sum must not decide significance.
    """
    ends = float(intervals.low[column]), float(intervals.high[column])
    method, note = intervals.methods[column], intervals.notes[column]
    return _interval(ends, intervals.level, intervals.resamples, method, note)


def interval_from(found: PairedComparison, resamples: int) -> ConfidenceInterval | None:
    """Return the interval of a mean difference for a report; ends as in :func:`interval_of`."""
    drawn = found.resamples or resamples
    return _interval((found.low, found.high), found.level, drawn, found.method, found.note)


def _interval(
    ends: tuple[float | None, float | None],
    level: float,
    resamples: int,
    method: str,
    note: str | None,
) -> ConfidenceInterval | None:
    if None in ends or not method:
        return None
    low, high = (0.0 if abs(end or 0.0) < EQUAL else end for end in ends)
    return ConfidenceInterval(
        low=low,
        high=high,
        level=level,
        method=METHOD_NAMES[method],
        resamples=resamples if method in RESAMPLED else 0,
        note=note,
    )


def make_comparison(
    case: tuple[str, str, str],
    found: PairedComparison,
    p_adjusted: float,
    resamples: int,
    facts: Method,
    *,
    pairs: int,
    higher_is_better: bool,
) -> Comparison:
    """Make an entry of the report.

    Args:
        case: Baseline, contrast and measure.
        found: Contrast minus baseline.
        p_adjusted: For the family; ``nan`` where nothing is defined.
        resamples: Number of resamples.
        facts: The method.
        pairs: The number of comparisons in the family.
        higher_is_better: The measure's direction, which decides between wins and losses.
    """
    baseline, contrast, measure = case
    wins, losses = found.wins, found.losses
    if not higher_is_better:
        wins, losses = losses, wins
    return Comparison(
        baseline=baseline,
        contrast=contrast,
        measure=measure,
        n=found.n,
        difference=found.difference,
        ci=interval_from(found, resamples),
        **_tests(found),
        p_adjusted=none_if_nan(p_adjusted),
        significant=bool(p_adjusted <= alpha_of(found.level)) and not found.borderline,
        borderline=found.borderline,
        effect_size=found.effect_size,
        detectable_difference=_detectable_difference(
            found, facts["test"], facts["correction"], pairs
        ),
        wins=wins,
        ties=found.ties,
        losses=losses,
        **facts,
    )


def add_probabilities(
    entry: Comparison, found: PairedComparison, rope: float, *, higher_is_better: bool
) -> Comparison:
    """Return an entry of the report with its Bayesian comparison, if there are two queries.

    Args:
        entry: The entry.
        found: Its figures.
        rope: Half the width of the region of practical equivalence.
        higher_is_better: The measure's direction, which decides between better and worse.
    """
    result = probabilities_of(found, rope)
    if result is None:
        return entry
    better, worse = result.better, result.worse
    if not higher_is_better:
        better, worse = worse, better
    bayes = BayesianResult(
        better=better, equivalent=result.equivalent, worse=worse, rope=result.rope
    )
    return entry.model_copy(update={"bayes": bayes})


def _detectable_difference(
    found: PairedComparison, test: str, correction: str, pairs: int
) -> float | None:
    """Return the true difference that is detected with a probability of 80%; ``None`` if unknown.

    The t statistic is noncentral t. With max-t, its critical value is that of the whole family.
    The other corrections detect at least what Bonferroni's detects: p is at most the level divided
    by the number of pairs. Wilcoxon's, the sign and Tukey's test do not compare a t statistic.
    """
    if not found.spread or found.difference is None:
        return None
    if correction == MAX_T:
        if found.low is None or found.high is None:
            return None
        # The other end may be moved to 0.
        half = min(found.difference - found.low, found.high - found.difference)
        level = level_of_t(half / found.spread * math.sqrt(found.n), found.n)
    elif test in _TESTS_OF_THE_MEAN:
        level = alpha_of(found.level) / (1 if correction == "none" else pairs)
        # With n differences of the same sign, resampling tests have p = 2 / 2^n.
        if test != "t_test" and level < 2.0 ** (1 - found.n):
            return None
    else:
        return None
    # Rounded, so that all pairs of a family have the same level.
    return found.spread * detectable_per_deviation(found.n, float(f"{level:.9g}"))


_TESTS_OF_THE_MEAN = ("randomisation", "paired_bootstrap", "t_test")


@lru_cache(maxsize=64)
def detectable_per_deviation(queries: int, level: float) -> float:
    """Return the difference that a t-test detects at a level, for a standard deviation of 1.

    The difference is proportional to the standard deviation.

    Args:
        queries: The number of queries, at least 2.
        level: The test's significance level, between 0 and 1.
    """
    return smallest_detectable_difference(1.0, queries, level=level)


def _tests(found: PairedComparison) -> dict[str, Any]:
    """Return the unadjusted tests by name, each as a dictionary of its figures."""
    statistics = {"t_test": "t", "wilcoxon": "w"}
    tests: dict[str, dict[str, float | None]] = {}
    for name, test in found.tests.items():
        tests[name] = {"p": test.p_value}
        if name in statistics:
            statistic = test.statistic if math.isfinite(test.statistic) else None
            tests[name][statistics[name]] = statistic
    return tests
