"""The randomised Tukey HSD test: all pairs of systems in one family."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import (
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    ROUNDING,
    FloatArray,
    as_table,
    check_resamples,
)
from trectools_plus.statistics.resamples import map_chunks


def randomised_tukey(
    scores: npt.ArrayLike, *, resamples: int = DEFAULT_RESAMPLES, seed: int = DEFAULT_SEED
) -> FloatArray:
    """Test for every pair of systems the null hypothesis that *all* systems are the same.

    If they are, the scores of a query could be exchanged among them. Each resample exchanges them
    at random in every query and keeps the distance between the largest and the smallest mean; a
    pair's p-value is (1 + resamples whose distance is at least the pair's) / (1 + resamples). As
    the largest of all distances is the yardstick, the p-values need no further correction.
    Carterette, Multiple Testing in Statistical Analysis of Systems-Based IR Experiments, TOIS 30
    (2012), algorithm 1.

    Args:
        scores: Shape (queries, systems), at least two systems, all defined. Neither the order of
            the queries nor that of the systems changes a p-value.
        resamples: How many exchanges; at least 1.
        seed: Of the draws.

    Returns:
        Adjusted two-sided p-values, shape (systems, systems): symmetric, 1 on the diagonal.

    Raises:
        UsageError: If there are fewer than two systems, no query, or a value is NaN or infinite.
    """
    table = as_table(scores, "Tukey HSD")
    check_resamples(resamples, "Tukey HSD")
    systems = table.shape[1]
    if systems < 2:
        raise UsageError(f"expected at least 2 systems but got {systems}", where="Tukey HSD")
    # An exchange at random starts from any order: a canonical one makes p independent of it.
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
    below = np.searchsorted(drawn, observed - ROUNDING * np.abs(table).max(initial=0.0))
    p_values = (1.0 + resamples - below) / (1.0 + resamples)
    np.fill_diagonal(p_values, 1.0)
    return np.asarray(p_values)
