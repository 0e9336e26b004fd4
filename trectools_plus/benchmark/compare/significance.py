"""The best mode of each measure, its significance, and groups without significant differences."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from trectools_plus.benchmark.compare.method import EQUAL
from trectools_plus.benchmark.report import Comparison
from trectools_plus.measures.evaluation import Evaluation
from trectools_plus.statistics import indistinguishable_groups


def find_unranked(evaluation: Evaluation) -> list[str]:
    """Find the measures whose means are over different queries, so that no run is the best."""
    return [name for name in evaluation.measure_names if evaluation.is_over_different_queries(name)]


def find_best(
    evaluation: Evaluation,
    unranked: Collection[str] | None = None,
    baselines: Collection[str] | None = None,
) -> dict[str, str | None]:
    """Find the run with the best mean by measure.

    ``None`` on a tie, with fewer than two runs, for sums, where the means are over different
    queries, or with baselines: then no run is compared with all others.
    Means that differ only by rounding (:data:`EQUAL`) are a tie: (0.2 + 0.6) / 2 is 0.4.

    Args:
        evaluation: Runs over the same queries.
        unranked: Measures without a best run; from :func:`find_unranked` when not given.
        baselines: The runs that the others are compared with.
    """
    if baselines:
        return dict.fromkeys(evaluation.measure_names)
    if unranked is None:
        unranked = find_unranked(evaluation)
    best: dict[str, str | None] = {}
    for name in evaluation.measure_names:
        if name in unranked or name not in evaluation.compared_names:
            best[name] = None
            continue
        means = _defined_means(evaluation, name)
        choose = max if evaluation.definition(name).higher_is_better else min
        top = choose(means.values(), default=np.nan)
        leaders = [run for run, mean in means.items() if abs(mean - top) <= EQUAL]
        best[name] = leaders[0] if len(leaders) == 1 and len(evaluation.run_names) > 1 else None
    return best


def is_best_significant(
    best: Mapping[str, str | None], every_pair: Sequence[Comparison]
) -> dict[str, bool]:
    """Return by measure whether the best mode differs significantly from every other mode.

    Args:
        best: The mode with the best mean by measure.
        every_pair: The comparisons of every pair of modes.
    """
    significant = {}
    for name, mode in best.items():
        pairs = [
            entry.significant
            for entry in every_pair
            if entry.measure == name and mode in (entry.baseline, entry.contrast)
        ]
        significant[name] = mode is not None and bool(pairs) and all(pairs)
    return significant


def find_groups(
    evaluation: Evaluation,
    every_pair: Sequence[Comparison],
    unranked: Collection[str] | None = None,
) -> dict[str, list[list[str]]]:
    """Find by measure the largest groups of modes without significant differences, best first.

    A mode may be in several groups. Modes whose mean is undefined are left out. Modes whose means
    are over different queries are not ranked, so they form no groups.

    Args:
        evaluation: The modes.
        every_pair: The comparisons of every pair of modes.
        unranked: Measures without an order; from :func:`find_unranked` when not given.
    """
    if unranked is None:
        unranked = find_unranked(evaluation)
    groups: dict[str, list[list[str]]] = {}
    for name in evaluation.measure_names:
        if name in unranked or name not in evaluation.compared_names:
            groups[name] = []
            continue
        means = _defined_means(evaluation, name)
        modes = list(means)
        p_values = np.full((len(modes), len(modes)), np.nan)
        for entry in every_pair:
            if entry.measure == name and {entry.baseline, entry.contrast} <= set(modes):
                one, two = modes.index(entry.baseline), modes.index(entry.contrast)
                p_values[one, two] = p_values[two, one] = 0.0 if entry.significant else 1.0
        sign = 1.0 if evaluation.definition(name).higher_is_better else -1.0
        found = indistinguishable_groups(
            [sign * mean for mean in means.values()], p_values, level=0.5
        )
        groups[name] = [[modes[place] for place in group] for group in found]
    return groups


def _defined_means(evaluation: Evaluation, measure: str) -> dict[str, float]:
    means = {run: evaluation.mean(run, measure) for run in evaluation.run_names}
    return {run: mean for run, mean in means.items() if not np.isnan(mean)}
