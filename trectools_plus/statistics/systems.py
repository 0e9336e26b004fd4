"""Many systems at once: one family of comparisons, one correction, one count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import (
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    FloatArray,
    as_table,
    check_choice,
)
from trectools_plus.statistics.correction import CORRECTIONS, adjust_p_values
from trectools_plus.statistics.paired.comparison import (
    PAIRED_TESTS,
    PairedComparison,
    compare_columns,
)
from trectools_plus.statistics.tukey import randomised_tukey

TUKEY = "tukey_hsd"


@dataclass(frozen=True, slots=True, eq=False)
class SystemComparisons:
    """A family of comparisons.

    Attributes:
        pairs: System numbers (baseline, contrast).
        comparisons: Contrast minus baseline, one per pair.
        p_adjusted: One per pair.
        test: The paired test that was adjusted, or ``tukey_hsd``.
        correction: How: ``holm``, ``bonferroni``, ``benjamini_hochberg``, ``none``, ``tukey_hsd``.
        family: Which comparisons were counted, in words.
    """

    pairs: list[tuple[int, int]]
    comparisons: list[PairedComparison]
    p_adjusted: FloatArray
    test: str
    correction: str
    family: str

    def p_table(self, systems: int) -> FloatArray:
        """Adjusted p-values as a symmetric table, ``nan`` where a pair was not compared."""
        table = np.full((systems, systems), np.nan)
        for (baseline, contrast), p_value in zip(self.pairs, self.p_adjusted, strict=True):
            table[baseline, contrast] = table[contrast, baseline] = p_value
        return table


def pairs_of(systems: int, baselines: Sequence[int] = ()) -> list[tuple[int, int]]:
    """The comparisons of a family: each baseline with each other system, or every pair.

    Args:
        systems: How many there are.
        baselines: Their numbers. Baselines are not compared among themselves, nor with themselves;
            without any, every pair is compared once.

    Returns:
        Pairs (baseline, contrast).

    Raises:
        UsageError: If a baseline is none of the systems, or is named twice.
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
    test: str = "randomisation",
    correction: str = "holm",
    confidence: float = 0.95,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
) -> SystemComparisons:
    """Compare systems with one or several baselines, or all with each other, as one family.

    Args:
        scores: Shape (queries, systems), all defined.
        baselines: As in :func:`pairs_of`.
        test: The paired test to adjust, a name of ``PAIRED_TESTS``.
        correction: As in :func:`adjust_p_values`, or ``tukey_hsd``: the randomised Tukey HSD, for
            all pairs, in place of a paired test.
        confidence: Level of the (unadjusted) intervals, between 0 and 1.
        resamples: How many resamples.
        seed: Of all draws.

    Returns:
        The comparisons with their adjusted p-values.

    Raises:
        UsageError: If a value is NaN or infinite, a name is unknown, there is no pair, or Tukey's
            test is asked for with baselines.
    """
    table = as_table(scores, "comparisons")
    check_choice(test, PAIRED_TESTS, "paired test")
    check_choice(correction, [*CORRECTIONS, TUKEY], "correction")
    systems = table.shape[1]
    pairs = pairs_of(systems, baselines)
    if not pairs:
        raise UsageError(f"expected a pair of systems but got {systems} to compare")
    if correction == TUKEY and baselines:
        raise UsageError(
            "Tukey's test compares all pairs, not baselines",
            where="comparisons",
            remedy="use holm, or leave out the baselines",
        )
    differences = np.column_stack([table[:, two] - table[:, one] for one, two in pairs])
    options = {"confidence": confidence, "resamples": resamples, "seed": seed}
    names = () if correction == TUKEY else (test,)
    comparisons = compare_columns(differences, tests=names, **options)  # type: ignore[arg-type]
    if correction == TUKEY:
        p_table = randomised_tukey(table, resamples=resamples, seed=seed)
        adjusted = np.array([p_table[pair] for pair in pairs])
    else:
        adjusted = adjust_p_values([one.tests[test].p_value for one in comparisons], correction)
    return SystemComparisons(
        pairs,
        comparisons,
        adjusted,
        TUKEY if correction == TUKEY else test,
        correction,
        _family(systems, len(baselines), len(pairs)),
    )


def _family(systems: int, baselines: int, pairs: int) -> str:
    word = "comparison" if pairs == 1 else "comparisons"
    if not baselines:
        return f"{pairs} {word}: all pairs of {systems} systems"
    against = "1 baseline" if baselines == 1 else f"{baselines} baselines"
    return f"{pairs} {word}: {systems - baselines} systems against {against}"
