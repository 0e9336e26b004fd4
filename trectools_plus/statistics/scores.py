"""One comparison of two systems, over the same queries, documents or meanings.

:class:`PairedScores` are the scores of both systems, :func:`compare_scores` compares them by a
:class:`Method`, and :class:`~trectools_plus.statistics.comparison.Comparison` is the result: the
mean difference with its interval, effect size and test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from trectools_plus.statistics.arrays import EQUAL, FloatArray, IntervalOptions, Resampling
from trectools_plus.statistics.comparison import (
    DEFAULT_CORRECTION,
    DEFAULT_TEST,
    FEW,
    Comparison,
    ConfidenceInterval,
    alpha_of,
    fewest_changes,
)
from trectools_plus.statistics.intervals import METHOD_NAMES, RESAMPLED, Intervals
from trectools_plus.statistics.paired import (
    PairedComparison,
    compare_columns,
    standard_deviation,
)
from trectools_plus.statistics.power import smallest_detectable_difference


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
        return [QueryChange(*row) for row in values]

    def changes(self, *, only_losses: bool = False) -> list[QueryChange]:
        """Return the ids whose scores differ, the largest change first.

        Args:
            only_losses: Leave out those for which the contrast is better.
        """
        changes = [change for change in self.rows() if abs(change.after - change.before) > EQUAL]
        if only_losses:
            changes = [
                change
                for change in changes
                if (change.after < change.before) == self.higher_is_better
            ]
        return sorted(
            changes, key=lambda change: (-abs(change.after - change.before), change.query_id)
        )


@dataclass(frozen=True, slots=True)
class Method:
    """The method of comparisons.

    Attributes:
        options: The confidence, and for tests that resample the resamples and the seed.
        test: A name of ``PAIRED_TESTS``.
        correction: ``holm``, ``bh`` or ``none``.
        family: A description of the family.
    """

    options: IntervalOptions
    test: str = DEFAULT_TEST
    correction: str = DEFAULT_CORRECTION
    family: str = ""


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
    ids = scores[0].ids
    if any(entry.ids != ids for entry in scores):
        ids = sorted(set().union(*(entry.ids for entry in scores)))
    families: dict[str, list[int]] = {}
    for column, entry in enumerate(scores):
        families.setdefault("" if one_family else entry.measure, []).append(column)
    alpha = alpha_of(Resampling(**method.options).confidence)
    compared: dict[int, Comparison] = {}
    for columns in families.values():
        comparisons = compare_columns(
            _align([scores[column] for column in columns], ids),
            test=method.test,
            correction=method.correction,
            **method.options,
        )
        tested = sum(comparison.p_value is not None for comparison in comparisons)
        level = alpha if method.correction == "none" else alpha / max(1, tested)
        for column, difference in zip(columns, comparisons, strict=True):
            compared[column] = _describe(scores[column], difference, method, level)
    return [compared[column] for column in range(len(scores))]


def _align(scores: Sequence[PairedScores], ids: Sequence[str]) -> FloatArray:
    """Return the differences, shape (ids, comparisons); ``nan`` if a score is undefined."""
    places = {name: place for place, name in enumerate(ids)}
    table = np.full((len(scores), len(ids)), np.nan)
    for row, entry in enumerate(scores):
        chosen = slice(None) if entry.ids == ids else [places[name] for name in entry.ids]
        table[row, chosen] = entry.after - entry.before
    return table.T


def _describe(
    scores: PairedScores, pair: PairedComparison, method: Method, level: float
) -> Comparison:
    """Make an entry of a report.

    Args:
        scores: The scores.
        pair: The comparison of a pair of systems, contrast minus baseline.
        method: The method.
        level: The level at which a difference is certainly significant.
    """
    higher = scores.higher_is_better
    statistics = {"t_test": "t", "wilcoxon": "w"}
    tests: dict[str, Any] = {}
    if pair.p_value is not None:
        tests[pair.test] = {"p": pair.p_value}
        if pair.test in statistics:
            tests[pair.test][statistics[pair.test]] = pair.statistic
    changed = pair.wins + pair.losses
    note = f"only {changed} of {pair.n} queries differ" if changed < FEW else None
    return Comparison(
        baseline=scores.baseline,
        contrast=scores.contrast,
        measure=scores.measure,
        n=pair.n,
        difference=pair.difference,
        ci=report_interval((pair.low, pair.high), Resampling(confidence=pair.level), "t", note),
        **tests,
        test=method.test,
        p_adjusted=pair.p_adjusted,
        correction=method.correction,
        family=method.family,
        significant=pair.significant,
        reason=pair.reason,
        effect_size=pair.effect_size,
        detectable_difference=_detectable_difference(pair, level),
        wins=pair.wins if higher else pair.losses,
        ties=pair.ties,
        losses=pair.losses if higher else pair.wins,
    )


def _detectable_difference(pair: PairedComparison, level: float) -> float | None:
    """Return the true difference that is detected with a probability of 80%; ``None`` if unknown.

    The t statistic is noncentral t. Wilcoxon's test does not compare one. With n differences of the
    same sign, resampling tests have p = 2 / 2^n.
    """
    if not pair.spread or pair.test == "wilcoxon" or pair.n < fewest_changes(level):
        return None
    # The difference is proportional to the standard deviation.
    return pair.spread * _smallest_difference(1.0, pair.n, level=level)


_smallest_difference = lru_cache(maxsize=64)(smallest_detectable_difference)


def interval_of(intervals: Intervals, column: int) -> ConfidenceInterval | None:
    """Return one column's interval for a report; see :func:`report_interval`."""
    ends = float(intervals.low[column]), float(intervals.high[column])
    settings = Resampling(intervals.resamples, intervals.seed, intervals.level)
    return report_interval(ends, settings, intervals.methods[column], intervals.notes[column])


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
