"""One comparison of two systems, over the same queries, documents or meanings.

:class:`PairedScores` are the scores of both systems, :func:`compare_scores` compares them by a
:class:`Method`, and :class:`~trectools_plus.statistics.comparison.Comparison` is the result: the
mean difference with its interval, effect size and tests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from trectools_plus.statistics.arrays import FloatArray, IntervalOptions, Resampling, none_if_nan
from trectools_plus.statistics.comparison import Comparison, ConfidenceInterval
from trectools_plus.statistics.intervals import METHOD_NAMES, RESAMPLED, Intervals
from trectools_plus.statistics.method import EQUAL, FAMILY_TESTS, MAX_T, TUKEY, alpha_of
from trectools_plus.statistics.paired import (
    PairedComparison,
    compare_columns,
    probabilities_of,
    standard_deviation,
)
from trectools_plus.statistics.paired_tests import PAIRED_TESTS
from trectools_plus.statistics.power import level_of_t, smallest_detectable_difference
from trectools_plus.statistics.systems import adjust_tests, compare_families, decide_by_tukey


class QueryChange(NamedTuple):
    """A query whose values differ.

    Attributes:
        query_id: The query, or the document.
        before: Its value in the baseline.
        after: Its value in the contrast.
    """

    query_id: str
    before: float
    after: float


@dataclass(frozen=True, slots=True, eq=False)
class PairedScores:
    """The scores of two systems on one measure, for the same queries, documents or meanings.

    Attributes:
        baseline: The system that is subtracted.
        contrast: The system it is subtracted from.
        measure: The measure.
        ids: The queries, documents or meanings.
        before: The scores of the baseline, shape (ids,); ``nan`` is undefined.
        after: The scores of the contrast.
        higher_is_better: The direction of the measure.
    """

    baseline: str
    contrast: str
    measure: str
    ids: Sequence[str]
    before: FloatArray
    after: FloatArray
    higher_is_better: bool = True

    @property
    def counts(self) -> tuple[int, int]:
        """The numbers of defined scores of baseline and contrast."""
        before, after = (int((~np.isnan(scores)).sum()) for scores in (self.before, self.after))
        return before, after

    @property
    def shared(self) -> PairedScores:
        """The scores of the ids that have both."""
        both = np.flatnonzero(~np.isnan(self.before) & ~np.isnan(self.after))
        ids = [self.ids[place] for place in both.tolist()]
        return replace(self, ids=ids, before=self.before[both], after=self.after[both])

    @property
    def means(self) -> tuple[float, float]:
        """The means of baseline and contrast over defined scores, of which there are some."""
        before, after = (
            math.fsum(scores[~np.isnan(scores)].tolist()) / count
            for scores, count in zip((self.before, self.after), self.counts, strict=True)
        )
        return before, after

    @property
    def spread(self) -> float | None:
        """The standard deviation of the differences; ``None`` for fewer than two."""
        both = self.shared
        return standard_deviation(np.sort(both.after - both.before))

    def rows(self) -> list[QueryChange]:
        """Return the scores of each id."""
        values = zip(self.ids, self.before.tolist(), self.after.tolist(), strict=True)
        return [QueryChange(*one) for one in values]

    def changes(self, *, only_losses: bool = False) -> list[QueryChange]:
        """Return the ids whose scores differ, the largest change first.

        Args:
            only_losses: Leave out those for which the contrast is better.
        """
        found = [one for one in self.rows() if abs(one.after - one.before) > EQUAL]
        if only_losses:
            found = [one for one in found if (one.after < one.before) == self.higher_is_better]
        return sorted(found, key=lambda one: (-abs(one.after - one.before), one.query_id))


@dataclass(frozen=True, slots=True)
class Method:
    """The method of comparisons.

    Attributes:
        options: Settings of the intervals and tests.
        correction: ``max_t``, ``tukey_hsd``, or a correction of the p-values of ``test``; empty to
            decide nothing: the intervals are then those of the settings.
        test: The test whose p-values are adjusted.
        family: A description of the family.
        rope: Half the width of the region of practical equivalence; ``None`` to compute no
            probabilities.
        tests: The tests of each difference.
    """

    options: IntervalOptions
    correction: str = ""
    test: str = ""
    family: str = ""
    rope: float | None = None
    tests: Sequence[str] = tuple(PAIRED_TESTS)


def compare_scores(
    scores: Sequence[PairedScores],
    method: Method,
    *,
    one_family: bool = False,
) -> list[Comparison]:
    """Compare two systems on one measure, or many pairs of systems as families.

    Args:
        scores: The scores of each comparison, at least one. If their ids differ, an id without a
            score is undefined.
        method: The method.
        one_family: The comparisons on all measures are one family; otherwise those on each measure.

    Returns:
        A comparison for each entry of ``scores``, over the ids that both systems define.
    """
    table = _align(scores)
    families: dict[str, list[int]] = {}
    for column, entry in enumerate(scores):
        families.setdefault("" if one_family else entry.measure, []).append(column)
    tables = [table[:, columns] for columns in families.values()]
    members = [[scores[column] for column in columns] for columns in families.values()]
    decided = _decide(tables, members, method)
    compared: dict[int, Comparison] = {}
    for columns, (found, p_values) in zip(families.values(), decided, strict=True):
        for column, one, p_value in zip(columns, found, p_values.tolist(), strict=True):
            compared[column] = _describe(scores[column], one, p_value, method, len(columns))
    return [compared[column] for column in range(len(scores))]


def _align(scores: Sequence[PairedScores]) -> FloatArray:
    """Return the differences, shape (ids, comparisons); ``nan`` if a score is undefined."""
    first = scores[0].ids
    if all(one.ids is first or one.ids == first for one in scores):
        return np.column_stack([one.after - one.before for one in scores])
    every = sorted(set().union(*(one.ids for one in scores)))
    places = {name: place for place, name in enumerate(every)}
    table = np.full((len(places), len(scores)), np.nan)
    for column, one in enumerate(scores):
        table[[places[name] for name in one.ids], column] = one.after - one.before
    return table


def _decide(
    tables: Sequence[FloatArray], families: Sequence[Sequence[PairedScores]], method: Method
) -> list[tuple[list[PairedComparison], FloatArray]]:
    """Return the comparisons of each family, and their adjusted p-values.

    With ``max_t``, the intervals and the p-values of the paired bootstrap are from the same
    resamples as the adjusted ones.
    """
    options = method.options
    if method.correction == MAX_T:
        others = [name for name in method.tests if name != "paired_bootstrap"]
        plain: IntervalOptions = {**options, "interval": "t"}  # replaced
        comparisons = [compare_columns(table, tests=others, **plain) for table in tables]
        return compare_families(tables, comparisons, **options)
    compared = [compare_columns(table, tests=method.tests, **options) for table in tables]
    if not method.correction:
        return [(found, np.full(len(found), np.nan)) for found in compared]
    if method.correction == TUKEY:
        return [
            decide_by_tukey(*_list_systems(family), found, **options)
            for family, found in zip(families, compared, strict=True)
        ]
    return [
        adjust_tests(table, found, method.test, method.correction, **options)
        for table, found in zip(tables, compared, strict=True)
    ]


def _list_systems(
    family: Sequence[PairedScores],
) -> tuple[FloatArray, list[tuple[int, int]]]:
    """Return the scores of all systems as columns, and the column numbers of each pair."""
    scores = {one.baseline: one.before for one in family}
    scores |= {one.contrast: one.after for one in family}
    names = list(scores)
    pairs = [(names.index(one.baseline), names.index(one.contrast)) for one in family]
    return np.column_stack(list(scores.values())), pairs


def _describe(
    scores: PairedScores, found: PairedComparison, p_adjusted: float, method: Method, pairs: int
) -> Comparison:
    """Make an entry of a report.

    Args:
        scores: The scores.
        found: Contrast minus baseline.
        p_adjusted: For the family; ``nan`` where nothing is defined.
        method: The method.
        pairs: The number of comparisons in the family.
    """
    higher = scores.higher_is_better
    return Comparison(
        baseline=scores.baseline,
        contrast=scores.contrast,
        measure=scores.measure,
        n=found.n,
        difference=found.difference,
        ci=interval_from(found, Resampling(**method.options).resamples),
        **_describe_tests(found),
        test=method.correction if method.correction in FAMILY_TESTS else method.test,
        p_adjusted=none_if_nan(p_adjusted),
        correction=method.correction,
        family=method.family,
        significant=bool(p_adjusted <= alpha_of(found.level)) and not found.borderline,
        borderline=found.borderline,
        bayes=None
        if method.rope is None
        else probabilities_of(found, method.rope, higher_is_better=higher),
        effect_size=found.effect_size,
        detectable_difference=_detectable_difference(found, method, pairs),
        wins=found.wins if higher else found.losses,
        ties=found.ties,
        losses=found.losses if higher else found.wins,
    )


def _describe_tests(found: PairedComparison) -> dict[str, Any]:
    """Return the unadjusted tests by name, each as a dictionary of its figures."""
    statistics = {"t_test": "t", "wilcoxon": "w"}
    tests: dict[str, dict[str, float | None]] = {}
    for name, test in found.tests.items():
        tests[name] = {"p": test.p_value}
        if name in statistics:
            statistic = test.statistic if math.isfinite(test.statistic) else None
            tests[name][statistics[name]] = statistic
    return tests


def _detectable_difference(found: PairedComparison, method: Method, pairs: int) -> float | None:
    """Return the true difference that is detected with a probability of 80%; ``None`` if unknown.

    The t statistic is noncentral t. With max-t, its critical value is that of the whole family.
    The other corrections detect at least what Bonferroni's detects: p is at most the level divided
    by the number of pairs. Wilcoxon's, the sign and Tukey's test do not compare a t statistic.
    """
    if not found.spread or found.difference is None:
        return None
    if method.correction == MAX_T:
        if found.low is None or found.high is None:
            return None
        # The other end may be moved to 0.
        half = min(found.difference - found.low, found.high - found.difference)
        level = level_of_t(half / found.spread * math.sqrt(found.n), found.n)
    elif method.test in _TESTS_OF_THE_MEAN and method.correction != TUKEY:
        level = alpha_of(found.level) / (1 if method.correction == "none" else pairs)
        # With n differences of the same sign, resampling tests have p = 2 / 2^n.
        if method.test != "t_test" and level < 2.0 ** (1 - found.n):
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


def interval_of(intervals: Intervals, column: int) -> ConfidenceInterval | None:
    """Return one column's interval for a report; see :func:`report_interval`."""
    ends = float(intervals.low[column]), float(intervals.high[column])
    settings = Resampling(intervals.resamples, intervals.seed, intervals.level)
    return report_interval(ends, settings, intervals.methods[column], intervals.notes[column])


def interval_from(found: PairedComparison, resamples: int) -> ConfidenceInterval | None:
    """Return the interval of a mean difference for a report; see :func:`report_interval`."""
    settings = Resampling(found.resamples or resamples, confidence=found.level)
    return report_interval((found.low, found.high), settings, found.method, found.note)


def report_interval(
    ends: tuple[float | None, float | None],
    resampling: Resampling,
    method: str,
    note: str | None = None,
) -> ConfidenceInterval | None:
    """Return an interval for a report; ``None`` without a valid one.

    Ends nearer to 0 than 1e-12 become 0: the last bits of a sum must not decide significance.

    Args:
        ends: Lower and upper end.
        resampling: The settings; the confidence and the number of resamples are used.
        method: A key of ``METHOD_NAMES``; empty without an interval.
        note: The reason why it may be too narrow.
    """
    if None in ends or not method:
        return None
    low, high = (0.0 if abs(end or 0.0) < EQUAL else end for end in ends)
    return ConfidenceInterval(
        low=low,
        high=high,
        level=resampling.confidence,
        method=METHOD_NAMES[method],
        resamples=resampling.resamples if method in RESAMPLED else 0,
        note=note,
    )
