"""The mean of the best of many variants, corrected for the choice among them.

The best of equal variants looks better than it is: the mean that is largest by chance is chosen.
Bootstrap bias corrected selection (Tsamardinos, Greasidou and Borboudakis, Bootstrapping the
out-of-sample predictions for efficient and accurate cross-validation, Machine Learning 107, 2018)
repeats the choice on resamples of the queries, and scores each choice on the other queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import numpy as np
import numpy.typing as npt

from trectools_plus.display import Displayed, TextTable, as_cell
from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import (
    FloatArray,
    IntArray,
    Resampling,
    ResamplingOptions,
    as_table,
    check_level,
    check_resamples,
)
from trectools_plus.statistics.intervals import MIN_VALUES
from trectools_plus.statistics.method import EQUAL
from trectools_plus.statistics.resamples import draw_counts, map_chunks


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Winner(Displayed):
    """The best of several variants on the same queries.

    Attributes:
        column: The number of its column; of equally good ones the first.
        n: The number of queries.
        mean: Its mean on all queries.
        corrected_mean: The estimated mean on new queries of the variant that this choice finds.
        optimism: The extent to which ``mean`` looks better than ``corrected_mean``.
        low: The lower end of the interval of ``corrected_mean``.
        high: Its upper end. All four are ``nan`` with fewer than two queries.
        chosen: The share of resamples in which each variant is the best, shape (variants,).
    """

    column: int
    n: int
    mean: float
    corrected_mean: float
    optimism: float
    low: float
    high: float
    chosen: FloatArray

    def _content(self) -> TextTable:
        rows = [
            ["Variant", str(self.column + 1)],
            ["Queries", str(self.n)],
            ["Mean", as_cell(self.mean)],
            ["Corrected mean", as_cell(self.corrected_mean)],
            ["Interval", f"[{self.low:.4f}, {self.high:.4f}]"],
            ["Optimism", as_cell(self.optimism)],
        ]
        return TextTable.of(["Field", "Value"], rows, caption="Winner")


def select_winner(
    scores: npt.ArrayLike,
    *,
    baseline: npt.ArrayLike | None = None,
    higher_is_better: bool = True,
    **options: Unpack[ResamplingOptions],
) -> Winner:
    """Choose the variant with the best mean, and estimate its mean on new queries.

    In each resample of the queries, the best variant on the drawn queries is scored on the queries
    that were not drawn. The mean over the resamples is the corrected mean. Its interval is

        corrected mean ± t(n - 1) · sqrt(se² + extra)

    with the standard error se of the chosen variant's mean on all queries. ``extra`` is the
    variance of the scores on the queries that were not drawn, without the part that a fixed variant
    would have: s² · (1/k - 1/n) for k such queries, averaged over the resamples. It is the
    uncertainty about which variant is the best, and at least 0.

    A resample has about 63% of the queries, so its choice is worse than that on all queries, and
    the corrected mean is a little too low if one variant is clearly better. The end of the interval
    on the side of ``mean`` is therefore moved by share · optimism / 4, with the share of the
    resamples that choose the winner. docs/statistics.md has the coverage.

    Args:
        scores: Shape (queries, variants). Queries with a ``nan`` are left out.
        baseline: Scores of a baseline on the same queries, shape (queries,). All means are then
            those of the differences from it.
        higher_is_better: Whether a high mean is good.
        options: ``confidence`` (0.95), ``resamples`` (10,000) and ``seed`` (42).

    Returns:
        The winner. Resamples that draw every query are left out. With a single variant there is no
        choice: the corrected mean is the mean. If all scores are in [0, 1], so is the interval of
        a mean.

    Raises:
        UsageError: If there is no variant, no query with a score of each, a value is infinite, or
            an option is out of range.
    """
    settings = Resampling(**options)
    check_resamples(settings.resamples, "winner")
    check_level(settings.confidence, "winner")
    table = as_table(scores, "winner", undefined=True)
    if baseline is not None:
        table = table - as_table(baseline, "winner", undefined=True)
    table = table[~np.isnan(table).any(axis=1)]
    n, variants = table.shape
    if not n or not variants:
        raise UsageError(
            "there is no query with a score of each variant",
            where="winner",
            remedy="pass the scores of at least one variant on the same queries",
        )
    signed = table if higher_is_better else -table
    means = signed.mean(axis=0)
    best = int(_first_best(means[None])[0])
    corrected, half, chosen = np.nan, np.nan, np.eye(variants)[best]
    if n >= MIN_VALUES:
        corrected, half, chosen = _correct(signed, best, settings)
    optimism = float(means[best]) - corrected
    moved = max(0.0, float(chosen[best]) * optimism / 4.0)
    low, high = corrected - half, corrected + half + moved
    sign = 1.0 if higher_is_better else -1.0
    low, high = sorted((sign * low, sign * high))
    if baseline is None and table.min() >= 0.0 and table.max() <= 1.0:
        low, high = max(low, 0.0), min(high, 1.0)
    return Winner(
        column=best,
        n=n,
        mean=sign * float(means[best]),
        corrected_mean=sign * corrected,
        optimism=optimism,
        low=low,
        high=high,
        chosen=chosen,
    )


def _first_best(means: FloatArray) -> IntArray:
    """Return the column of the largest mean in each row; the first of equal ones."""
    return np.asarray((means >= means.max(axis=1, keepdims=True) - EQUAL).argmax(axis=1))


def _correct(table: FloatArray, best: int, settings: Resampling) -> tuple[float, float, FloatArray]:
    """Return the corrected mean, the half width of its interval, and the share of each choice."""
    from scipy.special import stdtrit

    n, variants = table.shape
    variance = float(table[:, best].var(ddof=1))
    quantile = float(stdtrit(n - 1, (1.0 + settings.confidence) / 2.0))
    if variants == 1:
        return float(table.mean()), quantile * float(np.sqrt(variance / n)), np.ones(1)
    by_variant = np.ascontiguousarray(table.T)

    def score(size: int, generator: np.random.Generator) -> tuple[FloatArray, IntArray, IntArray]:
        counts = draw_counts(n, size, generator)
        winners = _first_best(counts @ table / n)
        rest = counts == 0
        left = rest.sum(axis=1)
        sums = np.einsum("ij,ij->i", rest, by_variant[winners])
        some = left > 0
        return sums[some] / left[some], left[some], np.bincount(winners, minlength=variants)

    # The number of cells bounds the memory for counts and for the means of all variants.
    drawn = map_chunks(score, max(n, variants), settings.resamples, settings.seed)
    scored, left = (np.concatenate([one[part] for one in drawn]) for part in (0, 1))
    chosen = np.sum([one[2] for one in drawn], axis=0) / settings.resamples
    if not len(scored):
        return np.nan, np.nan, chosen
    of_fixed = variance * float((1.0 / left - 1.0 / n).mean())
    extra = max(0.0, float(scored.var()) - of_fixed)
    return float(scored.mean()), quantile * float(np.sqrt(variance / n + extra)), chosen
