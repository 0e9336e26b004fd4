"""Two systems query by query: mean difference, interval, effect size, wins, and five tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trectools_plus.statistics.arrays import (
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    ROUNDING,
    FloatArray,
    as_pair,
    as_table,
    check_choice,
)
from trectools_plus.statistics.bootstrap import bootstrap_intervals
from trectools_plus.statistics.paired.bootstrap import bootstrap_test
from trectools_plus.statistics.paired.randomisation import randomisation_test
from trectools_plus.statistics.paired.results import ColumnTests, PairedTest
from trectools_plus.statistics.paired.sign import sign_test
from trectools_plus.statistics.paired.student import t_intervals, t_test
from trectools_plus.statistics.paired.wilcoxon import wilcoxon_test

PAIRED_TESTS: Mapping[str, Callable[[FloatArray, int, int], ColumnTests]] = {
    "paired_bootstrap": lambda table, resamples, seed: bootstrap_test(
        table, resamples=resamples, seed=seed
    ),
    "t_test": lambda table, _resamples, _seed: t_test(table),
    "wilcoxon": lambda table, _resamples, _seed: wilcoxon_test(table),
    "randomisation": lambda table, resamples, seed: randomisation_test(
        table, resamples=resamples, seed=seed
    ),
    "sign_test": lambda table, _resamples, _seed: sign_test(table),
}
"""The paired tests by name; each takes differences, a number of resamples and a seed."""

INTERVAL_METHODS = ("percentile", "bca", "t")


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """What paired differences say.

    Attributes:
        n: How many pairs are defined.
        difference: The mean difference; ``None`` without pairs.
        low: Lower end of its interval; ``None`` for fewer than two pairs.
        high: Upper end.
        level: The interval's confidence level, between 0 and 1.
        method: The interval's method: ``percentile``, ``bca`` or ``t``.
        spread: Standard deviation of the differences (ddof = 1); ``None`` for fewer than two.
        effect_size: Cohen's d_z: mean difference over standard deviation of the differences
            (ddof = 1; Cohen 1988, 2.3.5); ``None`` where these are fewer than two or all equal.
        wins: Pairs with a positive difference, larger than rounding (1e-12).
        ties: Pairs without a difference.
        losses: Pairs with a negative difference.
        tests: By name, in the order asked for; empty without pairs.
    """

    n: int
    difference: float | None
    low: float | None
    high: float | None
    level: float
    method: str
    spread: float | None
    effect_size: float | None
    wins: int
    ties: int
    losses: int
    tests: Mapping[str, PairedTest]


def paired_difference(
    contrast: npt.ArrayLike,
    baseline: npt.ArrayLike,
    *,
    tests: Sequence[str] = tuple(PAIRED_TESTS),
    interval: str = "percentile",
    confidence: float = 0.95,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
) -> PairedComparison:
    """Compare two systems' scores of the same queries.

    Args:
        contrast: Shape (queries,), all defined; larger is better.
        baseline: The same queries in the same order.
        tests: Names of ``PAIRED_TESTS``; all five by default. The order of the pairs changes no
            p-value.
        interval: Method of the mean difference's interval: ``percentile``, ``bca`` or ``t``.
        confidence: The interval's level, between 0 and 1.
        resamples: How many resamples, for the bootstrap and the randomisation.
        seed: Of all draws.

    Returns:
        The comparison of contrast minus baseline.

    Raises:
        UsageError: If the shapes differ, a value is NaN or infinite, or an option is unknown.
    """
    first, second = as_pair(contrast, baseline, "paired comparison")
    return compare_columns(
        first - second,
        tests=tests,
        interval=interval,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )[0]


def compare_columns(
    differences: npt.ArrayLike,
    *,
    tests: Sequence[str] = tuple(PAIRED_TESTS),
    interval: str = "percentile",
    confidence: float = 0.95,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
) -> list[PairedComparison]:
    """Compare many pairs of systems, or measures, on shared resamples.

    Args:
        differences: Shape (rows, columns) or (rows,); ``nan`` where a pair is undefined: it is left
            out of its column, and the column's ``n`` says so.
        tests: As in :func:`paired_difference`.
        interval: As there.
        confidence: As there.
        resamples: As there.
        seed: As there; columns with the same number of defined rows get the same draws.

    Returns:
        One comparison per column.

    Raises:
        UsageError: If there is no row, a value is infinite, or an option is unknown.
    """
    table = as_table(differences, "paired comparison", undefined=True)
    for name in tests:
        check_choice(name, PAIRED_TESTS, "paired test")
    check_choice(interval, INTERVAL_METHODS, "interval method")
    # A difference of rounding is none: it would be a win, and a rank.
    table = np.where(np.abs(table) <= ROUNDING, 0.0, table)
    defined = ~np.isnan(table)
    results: dict[int, PairedComparison] = {}
    for pattern in np.unique(defined, axis=1).T:
        columns = np.flatnonzero((defined == pattern[:, None]).all(axis=0))
        block = table[np.ix_(pattern, columns)]
        found = (
            _compare(block, tests, interval, confidence, resamples, seed)
            if len(block)
            else [_nothing(confidence, interval)] * len(columns)
        )
        results |= zip(columns.tolist(), found, strict=True)
    return [results[column] for column in range(table.shape[1])]


def _compare(
    table: FloatArray,
    tests: Sequence[str],
    interval: str,
    confidence: float,
    resamples: int,
    seed: int,
) -> list[PairedComparison]:
    """As :func:`compare_columns`, for defined differences."""
    if interval == "t":
        low, high = t_intervals(table, confidence=confidence)
    else:
        intervals = bootstrap_intervals(
            table, method=interval, resamples=resamples, seed=seed, confidence=confidence
        )
        low, high = intervals.low, intervals.high
    tested = {name: PAIRED_TESTS[name](table, resamples, seed) for name in tests}
    wins, losses = (table > 0).sum(axis=0), (table < 0).sum(axis=0)
    return [
        PairedComparison(
            n=len(table),
            difference=float(np.sort(table[:, column]).mean()),
            low=_defined(low[column]),
            high=_defined(high[column]),
            level=confidence,
            method=interval,
            spread=spread_of(table[:, column]),
            effect_size=effect_size(table[:, column]),
            wins=int(wins[column]),
            ties=len(table) - int(wins[column]) - int(losses[column]),
            losses=int(losses[column]),
            tests={
                name: PairedTest(
                    name, float(result.statistic[column]), float(result.p_value[column])
                )
                for name, result in tested.items()
            },
        )
        for column in range(table.shape[1])
    ]


def _defined(value: float) -> float | None:
    """A plain float; ``None`` for NaN."""
    return None if np.isnan(value) else float(value)


def spread_of(differences: FloatArray) -> float | None:
    """Standard deviation (ddof = 1) of differences of shape (rows,); ``None`` for fewer than two.

    It is 0 where rounding alone leaves any.
    """
    if len(differences) < 2:
        return None
    spread = float(np.sort(differences).std(ddof=1))
    return 0.0 if spread <= ROUNDING else spread


def effect_size(differences: FloatArray) -> float | None:
    """Cohen's d_z of differences of shape (rows,); ``None`` for fewer than two, or all equal."""
    spread = spread_of(differences)
    return float(np.sort(differences).mean()) / spread if spread else None


def _nothing(confidence: float, interval: str) -> PairedComparison:
    """The comparison of no pairs."""
    return PairedComparison(0, None, None, None, confidence, interval, None, None, 0, 0, 0, {})
