"""Comparisons of many systems as one family: corrected p-values, Tukey's test, and groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Unpack

import numpy as np
import numpy.typing as npt

from trectools_plus.display import Displayed, TextTable, as_cell
from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import (
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    BoolArray,
    FloatArray,
    IntArray,
    IntervalOptions,
    Resampling,
    as_table,
    check_choice,
    check_level,
    check_resamples,
)
from trectools_plus.statistics.intervals import (
    BEST_BOOTSTRAP,
    FEW,
    FEW_NOTE,
    MIN_VALUES,
    Intervals,
    has_few,
    resampled_ends,
)
from trectools_plus.statistics.method import (
    EQUAL,
    FAMILY_TESTS,
    MAX_T,
    TUKEY,
    alpha_of,
    choose_method,
)
from trectools_plus.statistics.paired import PairedComparison, compare_columns
from trectools_plus.statistics.paired_tests import (
    MOST_ENUMERATED,
    PAIRED_TESTS,
    PairedTest,
    scale_to_range,
)
from trectools_plus.statistics.resamples import (
    CenteredFamily,
    count_maxima,
    draw_counts,
    map_chunks,
    most_resamples,
    near_level,
)
from trectools_plus.text import plural


def adjust_p_values(p_values: npt.ArrayLike, method: str = "holm") -> FloatArray:
    """Adjust the p-values of one family of comparisons.

    A comparison is significant in its family if its adjusted p-value is at most the level. With
    ``holm`` and ``bonferroni`` the level limits the probability of one or more false positives;
    with ``benjamini_hochberg`` it limits the expected share of false positives among the
    significant comparisons.

    Args:
        p_values: The family, shape (comparisons,): all comparisons that were made, without a
            baseline against itself. ``nan`` marks a comparison that was not made; it is not counted
            and stays ``nan``.
        method: ``holm`` (Holm 1979: the same guarantee as Bonferroni with more power),
            ``bonferroni``, ``benjamini_hochberg`` (1995, for independent or positively dependent
            tests) or ``none``.

    Returns:
        Adjusted p-values in the same order, each at least its p-value and at most 1.

    Raises:
        UsageError: If the shape is wrong, a p-value is outside [0, 1], or the method is unknown.
    """
    family = np.asarray(p_values, dtype=np.float64)
    check_choice(method, CORRECTIONS, "correction")
    if family.ndim != 1 or ((family < 0) | (family > 1)).any():
        raise UsageError(
            "expected p-values between 0 and 1 in an array of one dimension",
            where="correction",
            remedy="pass one p-value per comparison, shape (comparisons,)",
        )
    made = ~np.isnan(family)
    order = np.argsort(family[made], kind="stable")
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(1.0, CORRECTIONS[method](family[made][order]))
    result = np.full(family.shape, np.nan)
    result[made] = adjusted
    return result


def _holm(ascending: FloatArray) -> FloatArray:
    n_remaining = np.arange(len(ascending), 0, -1)
    return np.maximum.accumulate(ascending * n_remaining)


def _bonferroni(ascending: FloatArray) -> FloatArray:
    return ascending * len(ascending)


def _benjamini_hochberg(ascending: FloatArray) -> FloatArray:
    rank = np.arange(1, len(ascending) + 1)
    scaled = ascending * (len(ascending) / rank)
    return np.minimum.accumulate(scaled[::-1])[::-1]


CORRECTIONS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "holm": _holm,
    "bonferroni": _bonferroni,
    "benjamini_hochberg": _benjamini_hochberg,
    "none": lambda ascending: ascending,
}
"""By name, a function that adjusts ascending p-values; its results may exceed 1."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SystemComparisons(Displayed):
    """A family of comparisons.

    Attributes:
        pairs: The compared systems as column numbers (baseline, contrast).
        comparisons: Contrast minus baseline, one per pair.
        p_adjusted: The adjusted p-values, one per pair.
        test: The paired test whose p-values were adjusted, or ``tukey_hsd`` or ``max_t``.
        correction: ``holm``, ``bonferroni``, ``benjamini_hochberg``, ``none``, ``tukey_hsd`` or
            ``max_t``.
        family: A description of the family, for example "3 comparisons: all pairs of 3 systems".
    """

    pairs: list[tuple[int, int]]
    comparisons: list[PairedComparison]
    p_adjusted: FloatArray
    test: str
    correction: str
    family: str

    def _content(self) -> TextTable:
        columns = ("difference", "low", "high", "effect_size", "wins", "ties", "losses")
        rows = []
        for pair, one, p_value in zip(self.pairs, self.comparisons, self.p_adjusted, strict=True):
            values = (*(getattr(one, name) for name in columns), float(p_value))
            rows.append([f"{pair[1]} − {pair[0]}", *map(as_cell, values)])
        named = [name.replace("_", " ") for name in columns]
        return TextTable.of(
            ["Columns", *named, "adjusted p"], rows, caption=f"{self.test}, {self.family}"
        )

    def p_table(self, systems: int) -> FloatArray:
        """Return adjusted p-values as a symmetric table; ``nan`` for pairs without a comparison."""
        table = np.full((systems, systems), np.nan)
        for (baseline, contrast), p_value in zip(self.pairs, self.p_adjusted, strict=True):
            table[baseline, contrast] = table[contrast, baseline] = p_value
        return table


def pairs_of(systems: int, baselines: Sequence[int] = ()) -> list[tuple[int, int]]:
    """Return the pairs of a family: each baseline with each other system, or all pairs.

    Args:
        systems: The number of systems.
        baselines: Column numbers of systems. Baselines are not compared with each other. Without
            baselines, every pair is compared once.

    Returns:
        Pairs (baseline, contrast).

    Raises:
        UsageError: If a baseline is not one of the systems, or occurs twice.
    """
    chosen = list(baselines)
    if len(set(chosen)) < len(chosen) or not set(chosen) <= set(range(systems)):
        raise UsageError(
            f"expected different baselines from 0 to {systems - 1} but got {chosen}",
            where="comparisons",
        )
    if not chosen:
        return list(combinations(range(systems), 2))
    others = [system for system in range(systems) if system not in chosen]
    return [(baseline, other) for baseline in chosen for other in others]


def pairwise_differences(
    scores: npt.ArrayLike,
    *,
    baselines: Sequence[int] = (),
    test: str | None = None,
    correction: str | None = None,
    **options: Unpack[IntervalOptions],
) -> SystemComparisons:
    """Compare systems with one or more baselines, or all pairs of systems, as one family.

    Args:
        scores: Shape (queries, systems), all defined.
        baselines: As in :func:`pairs_of`.
        test: The paired test whose p-values are adjusted, a name of ``PAIRED_TESTS``; by default
            ``randomisation``, if there is a correction of p-values.
        correction: ``max_t``, with simultaneous intervals (:func:`compare_simultaneously`), the
            default unless a test is named; ``tukey_hsd``, the randomised Tukey HSD test of all
            pairs; or a correction of the test's p-values as in :func:`adjust_p_values`, by default
            ``holm``.
        options: As in :func:`~trectools_plus.statistics.paired_difference`. With other corrections
            than ``max_t``, intervals are not adjusted.

    Returns:
        The comparisons with their adjusted p-values.

    Raises:
        UsageError: If a value is NaN or infinite, a name is unknown, there is no pair, or Tukey's
            test is combined with baselines.
    """
    table = as_table(scores, "comparisons")
    correction, test = choose_method(correction, test)
    check_choice(test, PAIRED_TESTS, "paired test")
    check_choice(correction, [*CORRECTIONS, *FAMILY_TESTS], "correction")
    systems = table.shape[1]
    pairs = pairs_of(systems, baselines)
    if not pairs:
        raise UsageError(
            f"expected at least one pair of systems but got {plural(systems, 'system')} and "
            f"{plural(len(baselines), 'baseline')}",
            where="comparisons",
            remedy="pass the scores of at least two systems",
        )
    if correction == TUKEY and baselines:
        raise UsageError(
            "Tukey's test compares all pairs, not baselines",
            where="comparisons",
            remedy="use holm, or leave out the baselines",
        )
    differences = np.column_stack([table[:, two] - table[:, one] for one, two in pairs])
    of_family = correction in FAMILY_TESTS
    comparisons = compare_columns(differences, tests=() if of_family else (test,), **options)
    if correction == MAX_T:
        comparisons, adjusted = compare_simultaneously(differences, comparisons, **options)
    elif correction == TUKEY:
        comparisons, adjusted = decide_by_tukey(table, pairs, comparisons, **options)
    else:
        comparisons, adjusted = adjust_tests(differences, comparisons, test, correction, **options)
    return SystemComparisons(
        pairs,
        comparisons,
        adjusted,
        correction if of_family else test,
        correction,
        _describe_family(systems, len(baselines), len(pairs)),
    )


def compare_simultaneously(
    differences: npt.ArrayLike,
    comparisons: Sequence[PairedComparison],
    **options: Unpack[IntervalOptions],
) -> tuple[list[PairedComparison], FloatArray]:
    """Compute simultaneous intervals of a family of differences, and p-values that agree with them.

    Each resample draws the same queries for all pairs. It gives the largest t statistic of the
    differences, shifted to mean 0 (:func:`~trectools_plus.statistics.resamples.studentised_means`).
    The half width of an interval is a quantile of these maxima times the standard error, so all
    intervals together contain the true differences with a probability of about ``confidence``. The
    adjusted p-value is (1 + resamples whose maximum is at least the pair's t) / (1 + resamples),
    but at least 2 / 2^m for m differences other than 0, as in the randomisation test: equal signs
    of fewer than six differences are no evidence at the 5% level. It is at most 1 - ``confidence``
    exactly if the interval excludes 0, except if it is ``borderline``. Single-step method of
    Westfall and Young, Resampling-Based Multiple Testing (1993), 2.3; Romano and Wolf, Econometrica
    73 (2005). With one pair, it is the studentised bootstrap.

    While the 99% Monte Carlo interval of an adjusted p-value contains the level, the number of
    resamples is doubled, up to
    :func:`~trectools_plus.statistics.resamples.most_resamples`. Pairs for which it still does are
    ``borderline``: not significant, with an interval that contains 0.

    Args:
        differences: The family, shape (queries, pairs); ``nan`` for an undefined pair.
        comparisons: Of the same columns, from :func:`compare_columns`.
        options: As for the comparisons; ``interval`` has no effect.

    Returns:
        The comparisons with these intervals and, as ``paired_bootstrap``, the p-value of each pair
        without adjustment from the same resamples; and the adjusted p-values, ``nan`` without
        pairs. There is no interval if all differences are 0, or if too few queries or resamples
        allow none. The results do not depend on the order of the queries.
    """
    return compare_families([differences], [comparisons], **options)[0]


def compare_families(
    differences: Sequence[npt.ArrayLike],
    comparisons: Sequence[Sequence[PairedComparison]],
    **options: Unpack[IntervalOptions],
) -> list[tuple[list[PairedComparison], FloatArray]]:
    """Return :func:`compare_simultaneously` of several families, with the same resamples for all.

    Args:
        differences: The families, for example measures, over the same queries.
        comparisons: Of each family.
        options: As for the comparisons.
    """
    settings = Resampling(**options)
    alpha = alpha_of(settings.confidence)
    families = [
        _Family.of(table, found) for table, found in zip(differences, comparisons, strict=True)
    ]
    near, resamples = families, 0
    while near:
        more = resamples or settings.resamples
        seed = (settings.seed, resamples) if resamples else settings.seed
        resamples += more
        counted = count_maxima([one.centered for one in near], more, seed)
        for family, (maxima, extreme) in zip(near, counted, strict=True):
            family.add(maxima, extreme)
        near = [
            one
            for one in near
            if one.borderline(alpha).any()
            and 2 * resamples <= most_resamples(settings.resamples, *one.centered.table.shape)
        ]
    return [family.decide(alpha) for family in families]


@dataclass(slots=True, eq=False)
class _Family:
    """A family of comparisons, and the resamples drawn so far.

    Attributes:
        comparisons: The comparisons.
        means: Their differences; 0 if undefined.
        errors: Their standard errors.
        centered: The differences, shifted to mean 0, and the observed t statistics.
        lowest: The lowest possible p-values.
        few: Whether each has few differences.
        maxima: The largest t statistics of the resamples, ascending.
        extreme: The numbers of resamples whose t statistic is at least the observed one.
    """

    comparisons: Sequence[PairedComparison]
    means: FloatArray
    errors: FloatArray
    centered: CenteredFamily
    lowest: FloatArray
    few: BoolArray
    maxima: FloatArray
    extreme: IntArray

    @classmethod
    def of(cls, differences: npt.ArrayLike, comparisons: Sequence[PairedComparison]) -> _Family:
        """Prepare a family."""
        table = as_table(differences, "simultaneous intervals", undefined=True)
        # In an order that depends on the values only: signs, columns, rows.
        means = np.array([one.difference or 0.0 for one in comparisons])
        table = np.where(np.abs(table) <= EQUAL, 0.0, np.where(means < 0, -table, table))
        order = np.argsort(-np.abs(means), kind="stable")
        table = table[np.lexsort(table[:, order].T[::-1])]
        defined = ~np.isnan(table)
        scaled, scale = scale_to_range(np.where(defined, table - np.abs(means), 0.0))
        n = np.array([one.n for one in comparisons])
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = np.sqrt((scaled**2).sum(axis=0) / (n - 1) / n) * scale
            observed = np.where(errors > 0, (np.abs(means) - EQUAL) / errors, np.inf)
        lowest = np.minimum(2.0 ** (1.0 - (defined & (table != 0)).sum(axis=0)), 1.0)
        lowest[n < MIN_VALUES] = 1.0
        centered = CenteredFamily(scaled, defined, observed)
        none = np.zeros(len(n), dtype=np.int64)
        return cls(comparisons, means, errors, centered, lowest, has_few(table), np.empty(0), none)

    def add(self, maxima: FloatArray, extreme: IntArray) -> None:
        """Add resamples."""
        self.maxima = np.sort(np.concatenate([self.maxima, maxima]))
        self.extreme = self.extreme + extreme

    @property
    def adjusted(self) -> FloatArray:
        """The adjusted p-values, which may be below the lowest possible ones."""
        resamples = len(self.maxima)
        below = np.searchsorted(self.maxima, self.centered.threshold)
        return np.asarray((1.0 + resamples - below) / (1.0 + resamples))

    def borderline(self, alpha: float) -> BoolArray:
        """Return a mask of comparisons for which the number of resamples is too small."""
        near = near_level(self.adjusted, alpha, len(self.maxima))
        return np.asarray(near & (self.lowest <= alpha))

    def decide(self, alpha: float) -> tuple[list[PairedComparison], FloatArray]:
        """Return the comparisons with intervals, and the adjusted p-values."""
        resamples, borderline = len(self.maxima), self.borderline(alpha)
        adjusted = np.maximum(self.adjusted, self.lowest)
        single = np.maximum((1.0 + self.extreme) / (1.0 + resamples), self.lowest)
        significant = (adjusted <= alpha) & ~borderline
        # The number of resamples that may be above the critical value in a significant result.
        above = int(np.floor(alpha * (1.0 + resamples) + 1e-9)) - 1
        critical = float(self.maxima[resamples - 1 - above]) if 0 <= above < resamples else np.inf
        found = []
        for column, one in enumerate(self.comparisons):
            mean = float(self.means[column])
            low, high = _simultaneous_ends(
                mean, float(self.errors[column]), critical, bool(significant[column])
            )
            p = PairedTest("paired_bootstrap", mean, float(single[column]))
            changed = replace(
                one,
                low=low,
                high=high,
                method="" if low is None else MAX_T if len(self.comparisons) > 1 else "studentised",
                note=FEW_NOTE if low is not None and self.few[column] else None,
                tests={**one.tests, "paired_bootstrap": p} if one.n else one.tests,
                borderline=bool(borderline[column]),
                resamples=0 if low is None else resamples,
            )
            found.append(changed)
        n = np.array([one.n for one in self.comparisons])
        return found, np.where(n > 0, adjusted, np.nan)


def adjust_tests(
    differences: npt.ArrayLike,
    comparisons: Sequence[PairedComparison],
    test: str,
    correction: str = "holm",
    **options: Unpack[IntervalOptions],
) -> tuple[list[PairedComparison], FloatArray]:
    """Adjust the p-values of one paired test for a family, and draw more resamples near the level.

    While the 99% Monte Carlo interval of an adjusted p-value contains the level, the test of this
    pair is repeated with twice as many resamples, up to
    :func:`~trectools_plus.statistics.resamples.most_resamples`. If it still does, the pair is
    ``borderline``. Exact p-values are not drawn again.

    Args:
        differences: The family, shape (queries, pairs); ``nan`` for an undefined pair.
        comparisons: Of the same columns, from :func:`compare_columns`, with this test.
        test: A name of ``PAIRED_TESTS``.
        correction: As in :func:`adjust_p_values`.
        options: As for the comparisons.

    Returns:
        The comparisons, and the adjusted p-values, ``nan`` without defined pairs.
    """
    settings = Resampling(**options)
    table = as_table(differences, "adjusted tests", undefined=True)
    alpha = alpha_of(settings.confidence)
    p_values = np.array([one.tests[test].p_value if one.n else np.nan for one in comparisons])
    found = list(comparisons)
    drawn = _drawn_columns(table, test)
    resamples = settings.resamples
    while True:
        adjusted = adjust_p_values(p_values, correction)
        with np.errstate(divide="ignore", invalid="ignore"):
            near = drawn & near_level(p_values, alpha * p_values / adjusted, resamples)
        columns = np.flatnonzero(near)
        resamples *= 2
        if not len(columns) or resamples > most_resamples(
            settings.resamples, len(table), len(columns)
        ):
            break
        more: IntervalOptions = {**options, "resamples": resamples, "interval": "t"}
        again = compare_columns(table[:, columns], tests=(test,), **more)
        for column, one in zip(columns.tolist(), again, strict=True):
            p_values[column] = one.tests[test].p_value
            tests = {**found[column].tests, test: one.tests[test]}
            found[column] = replace(found[column], tests=tests)
    for column in np.flatnonzero(near).tolist():
        found[column] = replace(found[column], borderline=True)
    return found, adjusted


def _drawn_columns(table: FloatArray, test: str) -> BoolArray:
    """Return a mask of the columns whose p-value of a test is drawn, not exact."""
    if test == "paired_bootstrap":
        return np.ones(table.shape[1], dtype=bool)
    if test == "randomisation":
        different = np.abs(np.nan_to_num(table)) > EQUAL
        return np.asarray(different.sum(axis=0) > MOST_ENUMERATED)
    return np.zeros(table.shape[1], dtype=bool)


def _simultaneous_ends(
    mean: float, error: float, critical: float, significant: bool
) -> tuple[float | None, float | None]:
    """Return an interval that excludes 0 exactly if the difference is significant."""
    if not np.isfinite(critical) or not (error > 0 or significant):
        return None, None
    low, high = mean - critical * error, mean + critical * error
    if not significant:  # rounding must not exclude 0
        low, high = min(low, 0.0), max(high, 0.0)
    return low, high


def variance_of_means(scores: npt.ArrayLike, **options: Unpack[IntervalOptions]) -> Intervals:
    """Return the variance of the systems' means (ddof 1), with an interval over the queries.

    Each resample draws the same queries for all systems. The interval is BCa, or percentile if
    ``interval`` is ``percentile``: Efron and Tibshirani (1993), chapters 13 and 14. The variance of
    resampled means is larger than that of the means, because it contains the variation of the
    resamples; BCa corrects this bias.

    Args:
        scores: Shape (queries, systems), all defined, with at least two systems.
        options: As in :func:`~trectools_plus.statistics.mean_intervals`.

    Returns:
        One interval. Its ends are ``nan`` for a single query, and if all resamples are equal.

    Raises:
        UsageError: If a value is NaN or infinite, there is only one system, or an option is out of
            range.
    """
    settings = Resampling(**options)
    table = as_table(scores, "variance of means")
    check_resamples(settings.resamples, "variance of means")
    check_level(settings.confidence, "variance of means")
    rows, systems = table.shape
    if systems < 2:
        raise UsageError(
            "expected the scores of at least two systems but got one", where="variance of means"
        )
    means = table.mean(axis=0)
    estimate = np.array([means.var(ddof=1)])

    def variances(size: int, generator: np.random.Generator) -> FloatArray:
        drawn = draw_counts(rows, size, generator) @ table / rows
        return np.asarray(drawn.var(axis=1, ddof=1))

    drawn = np.concatenate(map_chunks(variances, rows, settings.resamples, settings.seed))
    method = "percentile" if settings.interval == "percentile" else BEST_BOOTSTRAP
    low, high = np.full(1, np.nan), np.full(1, np.nan)
    if np.ptp(drawn) > EQUAL:
        influence = ((table - means) * (means - means.mean())).sum(axis=1, keepdims=True)
        low, high = resampled_ends(drawn[:, None], estimate, influence, method, settings.confidence)
    return Intervals(
        estimate,
        low,
        high,
        np.array([rows]),
        settings.confidence,
        settings.resamples,
        settings.seed,
        settings.interval,
        "variance_of_means",
        (method,),
        (FEW_NOTE if rows < FEW else None,),
    )


def _describe_family(systems: int, baselines: int, pairs: int) -> str:
    comparisons = plural(pairs, "comparison")
    if not baselines:
        return f"{comparisons}: all pairs of {systems} systems"
    return f"{comparisons}: {systems - baselines} systems against {plural(baselines, 'baseline')}"


def randomised_tukey(
    scores: npt.ArrayLike, *, resamples: int = DEFAULT_RESAMPLES, seed: int = DEFAULT_SEED
) -> FloatArray:
    """Test every pair of systems under the null hypothesis that *all* systems are equal.

    Under it, the scores of a query can be exchanged among the systems. Each resample exchanges them
    at random in every query and takes the distance between the largest and the smallest mean. The
    p-value of a pair is (1 + resamples with at least the pair's distance) / (1 + resamples). As
    each pair is compared with the largest distance, the p-values need no further correction.
    Carterette, Multiple Testing in Statistical Analysis of Systems-Based IR Experiments, TOIS 30
    (2012), algorithm 1.

    Args:
        scores: Shape (queries, systems), at least two systems, all defined. The p-values do not
            depend on the order of queries and systems.
        resamples: The number of resamples, at least 1.
        seed: The seed of the draws.

    Returns:
        Adjusted two-sided p-values, shape (systems, systems): symmetric, 1 on the diagonal.

    Raises:
        UsageError: If there are fewer than two systems, no query, or a value is NaN or infinite.
    """
    table = as_table(scores, "Tukey HSD")
    check_resamples(resamples, "Tukey HSD")
    systems = table.shape[1]
    if systems < 2:
        raise UsageError(
            f"expected at least 2 systems but got {systems}",
            where="Tukey HSD",
            remedy="pass one column of scores per system",
        )
    # Sorted, so that the p-values do not depend on the order of queries and systems.
    ordered = np.sort(table, axis=1)
    ordered = ordered[np.lexsort(ordered.T[::-1])]

    def distances(size: int, generator: np.random.Generator) -> FloatArray:
        found = np.empty(size)
        for index in range(size):
            means = generator.permuted(ordered, axis=1).mean(axis=0)
            found[index] = means.max() - means.min()
        return found

    drawn = np.sort(np.concatenate(map_chunks(distances, table.size, resamples, seed)))
    means = np.sort(table, axis=0).mean(axis=0)
    observed = np.abs(means[:, None] - means[None, :])
    below = np.searchsorted(drawn, observed - EQUAL * np.abs(table).max(initial=0.0))
    p_values = (1.0 + resamples - below) / (1.0 + resamples)
    np.fill_diagonal(p_values, 1.0)
    return np.asarray(p_values)


def decide_by_tukey(
    scores: FloatArray,
    pairs: Sequence[tuple[int, int]],
    comparisons: Sequence[PairedComparison],
    **options: Unpack[IntervalOptions],
) -> tuple[list[PairedComparison], FloatArray]:
    """Decide about pairs of systems by :func:`randomised_tukey`.

    While the 99% Monte Carlo interval of a p-value contains the level, the number of resamples is
    doubled, up to eight times the requested number.

    Args:
        scores: Shape (queries, systems); only queries with all scores count.
        pairs: Column numbers.
        comparisons: Of these pairs.
        options: ``confidence``, ``resamples`` and ``seed``.

    Returns:
        The comparisons, ``borderline`` or not, and their p-values: 1 with a single query, ``nan``
        without one.
    """
    defined = scores[~np.isnan(scores).any(axis=1)]
    if len(defined) < MIN_VALUES:
        return list(comparisons), np.full(len(pairs), 1.0 if len(defined) else np.nan)
    settings = Resampling(**options)
    alpha = alpha_of(settings.confidence)
    for times in (1, 2, 4, 8):
        resamples = times * settings.resamples
        table = randomised_tukey(defined, resamples=resamples, seed=settings.seed)
        p_values = np.array([table[pair] for pair in pairs])
        borderline = near_level(p_values, alpha, resamples)
        if not borderline.any():
            break
    near = zip(comparisons, borderline.tolist(), strict=True)
    return [replace(one, borderline=is_near) for one, is_near in near], p_values


def indistinguishable_groups(
    estimates: npt.ArrayLike, p_values: npt.ArrayLike, *, level: float = 0.05
) -> list[tuple[int, ...]]:
    """Return the largest groups within which no two systems differ significantly.

    Two systems share a group exactly when they do not differ significantly; a system may be in
    several groups. The insert-and-absorb algorithm of Piepho, An Algorithm for a Letter-Based
    Representation of All-Pairwise Comparisons, JCGS 13 (2004).

    Args:
        estimates: The values by which systems are ordered, for example means, shape (systems,); the
            largest is the best.
        p_values: Adjusted p-values of all pairs, shape (systems, systems), symmetric; the diagonal
            does not matter. A pair with ``nan`` does not differ.
        level: A pair differs significantly if its p-value is at most this.

    Returns:
        The groups as column numbers, the best system first in each group; the group of the best
            system comes first.

    Raises:
        UsageError: If the shapes differ or the p-values are not symmetric.
    """
    values = np.asarray(estimates, dtype=np.float64)
    table = np.asarray(p_values, dtype=np.float64)
    systems = len(values)
    if table.shape != (systems, systems) or not np.array_equal(table, table.T, equal_nan=True):
        raise UsageError(
            f"expected a symmetric table of {systems} by {systems} p-values "
            f"but got shape {table.shape}",
            where="groups",
            remedy="pass one p-value for each pair, in both triangles of the table",
        )
    order = np.argsort(-values, kind="stable").tolist()
    groups: list[frozenset[int]] = [frozenset(range(systems))] if systems else []
    for first in range(systems):
        for second in range(first + 1, systems):
            if table[order[first], order[second]] <= level:
                groups = _split_groups(groups, first, second)
    return [tuple(order[position] for position in group) for group in sorted(map(sorted, groups))]


def _split_groups(groups: list[frozenset[int]], first: int, second: int) -> list[frozenset[int]]:
    """Split the groups that contain both systems, and drop groups that are part of another."""
    both = {first, second}
    result = [group for group in groups if not both <= group]
    halves = [group - {one} for group in groups if both <= group for one in (first, second)]
    for half in sorted(set(halves), key=len, reverse=True):
        if not any(half <= other for other in result):
            result.append(half)
    return result


def group_letters(groups: list[tuple[int, ...]], systems: int) -> list[str]:
    """Return each system's letters in a compact letter display; ``a`` is the first group.

    Args:
        groups: From :func:`indistinguishable_groups`.
        systems: The number of systems.

    Returns:
        One string per system. Systems without a common letter differ significantly. The letters
        after ``z`` are ``a1``, ``b1``, …
    """
    letters = [""] * systems
    for number, group in enumerate(groups):
        repetition, position = divmod(number, 26)
        letter = chr(ord("a") + position) + (str(repetition) if repetition else "")
        for system in group:
            letters[system] += letter
    return letters


@dataclass(frozen=True, slots=True, repr=False)
class MeanRanks(Displayed):
    """The mean ranks of systems over queries, with Friedman's test.

    Attributes:
        ranks: The mean rank of each system; 1 is the best.
        queries: The number of queries.
        statistic: Friedman's chi-square, corrected for ties; ``nan`` if all systems are equal on
            every query.
        p_value: Its p-value; 1 if all systems are equal.
        critical_difference: Nemenyi's critical difference of two mean ranks.
    """

    ranks: tuple[float, ...]
    queries: int
    statistic: float
    p_value: float
    critical_difference: float


def mean_ranks(scores: npt.ArrayLike, *, level: float = 0.05) -> MeanRanks:
    """Return the mean rank of each system over the queries; equal scores share their mean rank.

    Demšar, Statistical Comparisons of Classifiers over Multiple Data Sets, JMLR 7 (2006).

    Args:
        scores: Shape (queries, systems); the largest score of a query has rank 1. Queries with a
            ``nan`` are left out.
        level: The level of the critical difference, between 0 and 1.

    Raises:
        UsageError: If there are fewer than three systems, or no query has a score of each.
    """
    table = as_table(scores, "mean ranks", undefined=True)
    table = table[~np.isnan(table).any(axis=1)]
    queries, systems = table.shape
    if systems < 3 or not queries:
        raise UsageError(
            f"mean ranks need at least 3 systems and a query, but there are {systems} systems and "
            f"{queries} queries with a score of each",
            remedy="compare two systems with paired_difference",
        )
    from scipy.stats import friedmanchisquare, rankdata

    ranks = rankdata(-table, axis=1)
    equal = bool((ranks == ranks[0, 0]).all())
    statistic, p_value = (np.nan, 1.0) if equal else friedmanchisquare(*table.T)
    return MeanRanks(
        tuple(ranks.mean(axis=0).tolist()),
        queries,
        float(statistic),
        float(p_value),
        nemenyi_difference(systems, queries, level=level),
    )


def nemenyi_difference(systems: int, queries: int, *, level: float = 0.05) -> float:
    """Return Nemenyi's critical difference: mean ranks of equal systems rarely differ by more.

    The quantile of the studentised range divided by the square root of 2, times
    ``sqrt(systems * (systems + 1) / (6 * queries))`` (Demšar 2006, section 3.2.2).

    Args:
        systems: The number of systems, at least 2.
        queries: The number of queries, at least 1.
        level: The probability that any two of equal systems differ by more, between 0 and 1.
    """
    from scipy.stats import studentized_range

    quantile = float(studentized_range.ppf(1.0 - level, systems, np.inf)) / np.sqrt(2.0)
    return float(quantile * np.sqrt(systems * (systems + 1) / (6.0 * queries)))
