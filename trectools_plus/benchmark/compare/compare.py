"""Paired differences between runs: intervals from the resamples of their means, and tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Unpack

import numpy as np

from trectools_plus.benchmark.compare.method import (
    ADJUSTED_TEST,
    DEFAULT_CORRECTION,
    EQUAL,
    INTERVAL_METHOD,
    TUKEY,
    alpha_of,
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
    adjust_p_values,
    compare_columns,
    pairs_of,
    probabilities_of,
    randomised_tukey,
    smallest_detectable_difference,
)
from trectools_plus.statistics.arrays import (
    DEFAULT_CONFIDENCE,
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    ResamplingOptions,
)
from trectools_plus.statistics.correction import CORRECTIONS
from trectools_plus.statistics.paired_tests import PAIRED_TESTS


def compare_evaluation(
    evaluation: Evaluation,
    baseline: str | Sequence[str] | None = None,
    *,
    correction: str = DEFAULT_CORRECTION,
    test: str = ADJUSTED_TEST,
    rope: float | None = None,
    **resampling: Unpack[ResamplingOptions],
) -> list[Comparison]:
    """Compare the runs of an evaluation, query by query, on every measure except sums.

    Each difference gets five paired tests. The p-values of one of them are adjusted for the
    family: all comparisons on the same measure. A difference is significant if its adjusted p-value
    is at most 1 - ``confidence``.

    Args:
        evaluation: At least one run; all over the same queries.
        baseline: Compare each other run with this one, or with each of several; ``None`` compares
            every pair.
        correction: ``holm``, ``bonferroni``, ``benjamini_hochberg``, or ``tukey_hsd``: the
            randomised Tukey HSD test, for every pair only.
        test: The test whose p-values are adjusted: a name of ``PAIRED_TESTS``. Tukey's test, which
            is also a correction, needs the default.
        rope: Half the width of the region of practical equivalence, in the unit of the measures:
            adds a Bayesian comparison to each entry.
        **resampling: ``confidence``, the level of the intervals between 0 and 1; ``resamples`` of
            the bootstrap and of the randomisation; ``seed``. The same seed gives the resamples of
            the runs' means.

    Returns:
        One entry per pair and measure: pairs in the order of the runs, then measures.

    Raises:
        UsageError: If a baseline is not one of the runs, or an option is out of range.
        IncomparableError: If the runs are averaged over different queries (``missing="drop"``).
    """
    names = list(evaluation.run_names)
    baselines = check_baselines(baseline, names, correction)
    check_test(test, correction)
    refuse_different_queries(evaluation)
    pairs = pairs_of(len(names), [names.index(name) for name in baselines])
    facts = {
        "test": TUKEY if correction == TUKEY else test,
        "correction": correction,
        "family": describe_family(len(names), len(baselines), len(pairs)),
    }
    options = ResamplingOptions(
        confidence=resampling.get("confidence", DEFAULT_CONFIDENCE),
        resamples=resampling.get("resamples", DEFAULT_RESAMPLES),
        seed=resampling.get("seed", DEFAULT_SEED),
    )
    return compare_pairs(evaluation, pairs, facts, options, rope)


def compare_pairs(
    evaluation: Evaluation,
    pairs: Sequence[tuple[int, int]],
    facts: dict[str, str],
    resampling: ResamplingOptions,
    rope: float | None = None,
) -> list[Comparison]:
    """Test the differences of pairs of runs, on each measure as one family.

    Args:
        evaluation: Runs over the same queries.
        pairs: Baseline and contrast, as positions among the runs.
        facts: ``test``, the test whose p-values are adjusted; ``correction``, of which
            ``tukey_hsd`` counts every pair of the runs; ``family``, a description of the pairs.
        resampling: Settings of the intervals and tests, all of them.
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
    found = compare_columns(differences, **resampling)
    columns = np.arange(len(cases)).reshape(len(pairs), len(measures))
    adjusted = np.empty(len(cases))
    for place, name in enumerate(measures):
        of_measure = columns[:, place]
        adjusted[of_measure] = (
            _tukey(evaluation, pairs, name, resampling)
            if facts["correction"] == TUKEY
            else adjust(
                [found[column] for column in of_measure], facts["correction"], facts["test"]
            )
        )
    entries = [
        make_comparison(
            case,
            found[column],
            float(adjusted[column]),
            resampling["resamples"],
            facts,
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
    if correction not in (*CORRECTIONS, TUKEY):
        raise UsageError(
            f"unknown correction '{correction}'", remedy=f"use {', '.join([*CORRECTIONS, TUKEY])}"
        )
    if correction == TUKEY and baselines:
        raise UsageError(
            "Tukey's test compares every pair, not baselines", remedy="use holm, or no baseline"
        )
    return baselines


def check_test(test: str, correction: str = DEFAULT_CORRECTION) -> None:
    """Check the name of the test whose p-values are adjusted.

    Raises:
        UsageError: If it is unknown, or the correction is a test itself.
    """
    if test not in PAIRED_TESTS:
        raise UsageError(f"unknown test '{test}'", remedy=f"use {', '.join(PAIRED_TESTS)}")
    if correction == TUKEY and test != ADJUSTED_TEST:
        raise UsageError(
            f"the correction {TUKEY} is a test itself, so {test} cannot be combined with it",
            remedy="use holm, or leave out the test",
        )


def adjust(
    comparisons: Sequence[PairedComparison], correction: str, test: str = ADJUSTED_TEST
) -> FloatArray:
    """Adjust the p-values of one family; ``nan`` where nothing was compared.

    Args:
        comparisons: The family.
        correction: A name of ``CORRECTIONS``.
        test: The test whose p-values are adjusted.
    """
    tests = [one.tests.get(test) for one in comparisons]
    return adjust_p_values([np.nan if t is None else t.p_value for t in tests], correction)


def _tukey(
    evaluation: Evaluation,
    pairs: Sequence[tuple[int, int]],
    measure: str,
    resampling: ResamplingOptions,
) -> FloatArray:
    """Compute Tukey's p-values over the queries for which every run defines the measure."""
    table = np.column_stack([evaluation.values(name, measure) for name in evaluation.run_names])
    defined = table[~np.isnan(table).any(axis=1)]
    if len(defined) < 2:
        return np.full(len(pairs), 1.0 if len(defined) else np.nan)
    p_table = randomised_tukey(defined, resamples=resampling["resamples"], seed=resampling["seed"])
    return np.array([p_table[pair] for pair in pairs])


def interval_of(intervals: Intervals, column: int) -> ConfidenceInterval | None:
    """Return one column's interval for a report; ``None`` for fewer than two values.

    Ends nearer to 0 than 1e-12 become 0: the last bits of a sum must not decide significance.
    """
    return _interval(
        intervals.low[column], intervals.high[column], intervals.level, intervals.resamples
    )


def interval_from(found: PairedComparison, resamples: int) -> ConfidenceInterval | None:
    """Return the interval of a mean difference for a report; ends as in :func:`interval_of`."""
    return _interval(found.low, found.high, found.level, resamples)


def _interval(
    low: float | None, high: float | None, level: float, resamples: int
) -> ConfidenceInterval | None:
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return None
    low, high = (0.0 if abs(end) < EQUAL else float(end) for end in (low, high))
    return ConfidenceInterval(
        low=low, high=high, level=level, method=INTERVAL_METHOD, resamples=resamples
    )


def make_comparison(
    case: tuple[str, str, str],
    found: PairedComparison,
    p_adjusted: float,
    resamples: int,
    facts: dict[str, str],
    *,
    higher_is_better: bool,
) -> Comparison:
    """Make an entry of the report.

    Args:
        case: Baseline, contrast and measure.
        found: Contrast minus baseline.
        p_adjusted: For the family; ``nan`` where nothing is defined.
        resamples: Number of resamples.
        facts: ``test``, ``correction`` and ``family``.
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
        significant=bool(p_adjusted <= alpha_of(found.level)),
        effect_size=found.effect_size,
        detectable_difference=found.spread * _detectable_per_deviation(found.n, found.level)
        if found.spread
        else None,
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


@lru_cache(maxsize=64)
def _detectable_per_deviation(queries: int, confidence: float) -> float:
    """Return the smallest detectable difference for a standard deviation of 1.

    The difference is proportional to the standard deviation.
    """
    return smallest_detectable_difference(1.0, queries, level=alpha_of(confidence))


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
