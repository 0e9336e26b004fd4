"""Paired differences between runs: intervals from the resamples of their means, and tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trectools_plus.benchmark.report import Comparison, ConfidenceInterval
from trectools_plus.benchmark.run.config import (
    DEFAULT_CONFIDENCE,
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
)
from trectools_plus.errors import IncomparableError, UsageError
from trectools_plus.text import plural

if TYPE_CHECKING:
    from trectools_plus.measures.evaluation import Evaluation
    from trectools_plus.statistics import PairedComparison
    from trectools_plus.statistics.bootstrap import Intervals

FloatArray = npt.NDArray[np.float64]

DEFAULT_CORRECTION = "holm"
ADJUSTED_TEST = "randomisation"
"""The test whose p-values are adjusted: right at any size, where the bootstrap is not."""
TUKEY = "tukey_hsd"
INTERVAL_METHOD = "percentile bootstrap"

EQUAL = 1e-12
"""Two values nearer than this are the same: the last bits differ with the order of a sum."""


def compare(
    evaluation: Evaluation,
    baseline: str | Sequence[str] | None = None,
    *,
    correction: str = DEFAULT_CORRECTION,
    confidence: float = DEFAULT_CONFIDENCE,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
) -> list[Comparison]:
    """Compare the runs of an evaluation, query by query, on every measure.

    Five paired tests are made of each difference. The p-values of the randomisation test are
    adjusted for the family: all the comparisons on the same measure. A difference is called
    significant when its adjusted p-value is at most 1 - ``confidence``.

    Args:
        evaluation: At least one run; all over the same queries.
        baseline: Compare each other run with this one, or with each of several; ``None`` compares
            every pair.
        correction: ``holm``, ``bonferroni``, ``benjamini_hochberg``, or ``tukey_hsd``: the
            randomised Tukey HSD test, for every pair only.
        confidence: Level of the intervals, between 0 and 1.
        resamples: Resamples of the bootstrap and of the randomisation.
        seed: Seed of the resamples; the same seed gives the resamples of the runs' means.

    Returns:
        One entry per pair and measure: pairs in the order of the runs, then measures.

    Raises:
        UsageError: If a baseline is none of the runs, or an option is out of range.
        IncomparableError: If the runs are averaged over different queries (``missing="drop"``).
    """
    from trectools_plus.statistics import pairs_of

    names = list(evaluation.run_names)
    baselines = _check_baselines(baseline, names, correction)
    refuse_different_queries(evaluation)
    pairs = pairs_of(len(names), [names.index(name) for name in baselines])
    options = {"confidence": confidence, "resamples": resamples, "seed": seed}
    family = describe_family(len(names), len(baselines), len(pairs))
    return compare_pairs(evaluation, pairs, family, correction, options)


def compare_pairs(
    evaluation: Evaluation,
    pairs: Sequence[tuple[int, int]],
    family: str,
    correction: str,
    options: Mapping[str, Any],
) -> list[Comparison]:
    """Test the differences of pairs of runs, on each measure as one family.

    Args:
        evaluation: Runs over the same queries.
        pairs: Baseline and contrast, as places among the runs.
        family: The pairs in words.
        correction: As in :func:`compare`; ``tukey_hsd`` counts every pair of the runs.
        options: ``confidence``, ``resamples`` and ``seed``.

    Returns:
        As :func:`compare`.
    """
    from trectools_plus.statistics import compare_columns

    if not pairs or not evaluation.measures:
        return []
    names = evaluation.run_names
    measures = evaluation.measure_names
    cases = [(names[one], names[two], name) for one, two in pairs for name in measures]
    differences = np.column_stack(
        [
            evaluation.values(contrast, name) - evaluation.values(base, name)
            for base, contrast, name in cases
        ]
    )
    found = compare_columns(differences, **options)
    columns = np.arange(len(cases)).reshape(len(pairs), len(measures))
    adjusted = np.empty(len(cases))
    for place, name in enumerate(measures):
        of_measure = columns[:, place]
        adjusted[of_measure] = (
            _tukey(evaluation, pairs, name, options)
            if correction == TUKEY
            else adjust([found[column] for column in of_measure], correction)
        )
    facts = {
        "test": TUKEY if correction == TUKEY else ADJUSTED_TEST,
        "correction": correction,
        "family": family,
    }
    return [
        make_comparison(
            case,
            found[column],
            float(adjusted[column]),
            options["resamples"],
            facts,
            higher_is_better=evaluation.definition(case[2]).higher_is_better,
        )
        for column, case in enumerate(cases)
    ]


def resampling_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Level, resamples and seed of a manifest's configuration, as :func:`compare` takes them."""
    return {
        "confidence": float(config.get("confidence", DEFAULT_CONFIDENCE)),
        "resamples": int(config.get("resamples", DEFAULT_RESAMPLES)),
        "seed": int(config.get("seed", DEFAULT_SEED)),
    }


def _check_baselines(
    baseline: str | Sequence[str] | None, names: list[str], correction: str
) -> list[str]:
    """The baselines as a list; none for every pair."""
    from trectools_plus.statistics.correction import CORRECTIONS

    baselines = [baseline] if isinstance(baseline, str) else list(baseline or ())
    for name in baselines:
        if name not in names:
            raise UsageError(
                f"unknown baseline '{name}'", remedy=f"the runs are {', '.join(names)}"
            )
    if correction not in (*CORRECTIONS, TUKEY):
        raise UsageError(
            f"unknown correction '{correction}'", remedy=f"take {', '.join([*CORRECTIONS, TUKEY])}"
        )
    if correction == TUKEY and baselines:
        raise UsageError(
            "Tukey's test compares every pair, not baselines", remedy="use holm, or no baseline"
        )
    return baselines


def adjust(comparisons: Sequence[PairedComparison], correction: str) -> FloatArray:
    """Adjusted p-values of one family; ``nan`` where nothing was compared."""
    from trectools_plus.statistics import adjust_p_values

    tests = [one.tests.get(ADJUSTED_TEST) for one in comparisons]
    return adjust_p_values([np.nan if t is None else t.p_value for t in tests], correction)


def _tukey(
    evaluation: Evaluation,
    pairs: Sequence[tuple[int, int]],
    measure: str,
    options: Mapping[str, Any],
) -> FloatArray:
    """Tukey's p-values, over the queries for which the measure is defined in every run."""
    from trectools_plus.statistics import randomised_tukey

    table = np.column_stack([evaluation.values(name, measure) for name in evaluation.run_names])
    defined = table[~np.isnan(table).any(axis=1)]
    if len(defined) < 2:
        return np.full(len(pairs), 1.0 if len(defined) else np.nan)
    p_table = randomised_tukey(defined, resamples=options["resamples"], seed=options["seed"])
    return np.array([p_table[pair] for pair in pairs])


def describe_family(modes: int, baselines: int, pairs: int) -> str:
    """``3 comparisons on one measure: every pair of 3 modes``."""
    counted = f"{plural(pairs, 'comparison')} on one measure"
    if not baselines:
        return f"{counted}: every pair of {modes} modes"
    return f"{counted}: {plural(modes - baselines, 'mode')} against {plural(baselines, 'baseline')}"


def refuse_different_queries(evaluation: Evaluation) -> None:
    """See that all runs of an evaluation are averaged over the same queries.

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
                f"{len(differing)} are in one of them only, such as {differing[0]}",
                remedy="use missing=zero, which counts a query without results as 0",
            )
    # One denominator for the whole table.
    assert len({len(evaluation.tables[name]) for name in names}) <= 1


def interval_of(intervals: Intervals, column: int) -> ConfidenceInterval | None:
    """One column's interval for a report; ``None`` for fewer than two values.

    Ends nearer to 0 than 1e-12 are 0: the last bits of a sum must not decide significance.
    """
    return _interval(
        intervals.low[column], intervals.high[column], intervals.level, intervals.resamples
    )


def interval_from(found: PairedComparison, resamples: int) -> ConfidenceInterval | None:
    """The interval of a mean difference for a report; ends as in :func:`interval_of`."""
    return _interval(found.low, found.high, found.level, resamples)


def none_if_nan(value: float) -> float | None:
    """A plain float, ``None`` for NaN: reports hold no NaN."""
    return None if np.isnan(value) else float(value)


def _interval(
    low: float | None, high: float | None, level: float, resamples: int
) -> ConfidenceInterval | None:
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return None
    low, high = (0.0 if abs(end) < EQUAL else float(end) for end in (low, high))
    return ConfidenceInterval(
        low=low,
        high=high,
        level=level,
        method=INTERVAL_METHOD,
        resamples=resamples,
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
    """An entry of the report.

    Args:
        case: Baseline, contrast and measure.
        found: Contrast minus baseline.
        p_adjusted: For the family; ``nan`` where nothing is defined.
        resamples: That were drawn.
        facts: ``test``, ``correction`` and ``family``.
        higher_is_better: The measure's direction, by which wins and losses are told apart.
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
        detectable_difference=_detectable(found),
        wins=wins,
        ties=found.ties,
        losses=losses,
        **facts,
    )


def _detectable(found: PairedComparison) -> float | None:
    return found.spread * _in_spreads(found.n, found.level) if found.spread else None


@lru_cache(maxsize=64)
def _in_spreads(queries: int, confidence: float) -> float:
    """The smallest detectable difference at a spread of 1; any other is proportional to it."""
    from trectools_plus.statistics.power import smallest_detectable_difference

    return smallest_detectable_difference(1.0, queries, level=alpha_of(confidence))


def alpha_of(level: float) -> float:
    """The level of the tests that goes with the intervals': 0.05 for 0.95."""
    return round(1.0 - level, 12)


def _tests(found: PairedComparison) -> dict[str, Any]:
    """The unadjusted tests by name, each as a dictionary of its figures."""
    statistics = {"t_test": "t", "wilcoxon": "w"}
    return {
        name: {"p": test.p_value}
        | (
            {statistics[name]: test.statistic if math.isfinite(test.statistic) else None}
            if name in statistics
            else {}
        )
        for name, test in found.tests.items()
    }
