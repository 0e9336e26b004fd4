"""What the comparisons allow to claim: whether the best mode is best, and who is not told apart."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from trectools_plus.benchmark.compare.compare import alpha_of, compare
from trectools_plus.benchmark.compare.summary import find_unranked
from trectools_plus.benchmark.report import Comparison
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.measures.evaluation import Evaluation


def compare_all(
    evaluation: Evaluation, comparisons: list[Comparison], config: BenchmarkConfig
) -> list[Comparison]:
    """Every pair of modes as one family per measure, as reports of schema version 1.0 count them.

    A best mode is found by looking at all of them, so its claim is judged by every pair, whatever
    the baseline is.

    Args:
        evaluation: The modes.
        comparisons: Those of the report; they are returned where they are every pair.
        config: Correction, level, resamples and seed.
    """
    if not config.baseline:
        return comparisons
    return compare(
        evaluation,
        correction=config.correction,
        confidence=config.confidence,
        resamples=config.resamples,
        seed=config.seed,
    )


def prove_best(best: Mapping[str, str | None], every_pair: Sequence[Comparison]) -> dict[str, bool]:
    """Whether the best mode differs significantly from every other mode, by measure.

    Args:
        best: The mode with the best mean by measure.
        every_pair: From :func:`compare_all`.
    """
    proven = {}
    for name, mode in best.items():
        its = [
            entry.significant
            for entry in every_pair
            if entry.measure == name and mode in (entry.baseline, entry.contrast)
        ]
        proven[name] = mode is not None and bool(its) and all(its)
    return proven


def find_groups(
    evaluation: Evaluation,
    every_pair: Sequence[Comparison],
    confidence: float,
    unranked: Collection[str] | None = None,
) -> dict[str, list[list[str]]]:
    """The largest groups of modes that cannot be told apart, by measure, the best first.

    A mode may be in several groups. Modes whose mean is undefined are left out. There are no groups
    of modes whose means are over different queries: they have no order.

    Args:
        evaluation: The modes.
        every_pair: From :func:`compare_all`.
        confidence: Level of the intervals, between 0 and 1.
        unranked: Measures without an order; from :func:`find_unranked` when not given.
    """
    from trectools_plus.statistics import indistinguishable_groups

    left_out = find_unranked(evaluation) if unranked is None else unranked
    groups: dict[str, list[list[str]]] = {}
    for name in evaluation.measure_names:
        if name in left_out:
            groups[name] = []
            continue
        means = {mode: evaluation.mean(mode, name) for mode in evaluation.run_names}
        modes = [mode for mode, mean in means.items() if not np.isnan(mean)]
        places = {mode: place for place, mode in enumerate(modes)}
        p_values = np.full((len(modes), len(modes)), np.nan)
        for entry in every_pair:
            if entry.measure == name and {entry.baseline, entry.contrast} <= set(modes):
                one, two = places[entry.baseline], places[entry.contrast]
                p_value = np.nan if entry.p_adjusted is None else entry.p_adjusted
                p_values[one, two] = p_values[two, one] = p_value
        sign = 1.0 if evaluation.definition(name).higher_is_better else -1.0
        found = indistinguishable_groups(
            [sign * means[mode] for mode in modes], p_values, level=alpha_of(confidence)
        )
        groups[name] = [[modes[place] for place in group] for group in found]
    return groups
