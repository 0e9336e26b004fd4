"""What each ranking contributes to a fusion: the fusion of all minus the fusion without it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trectools_plus.benchmark.compare import (
    DEFAULT_CORRECTION,
    TUKEY,
    adjust,
    alpha_of,
    interval_from,
    none_if_nan,
)
from trectools_plus.benchmark.config import BenchmarkConfig
from trectools_plus.benchmark.report import ComponentMeasure
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.evaluation import Evaluation


def contributions(
    config: BenchmarkConfig,
    qrels: Qrels,
    mode: str,
    without: Mapping[str, Run],
    evaluation: Evaluation,
) -> dict[str, dict[str, ComponentMeasure]]:
    """What each component adds to each measure of one mode, as in reports of schema version 1.0.

    :mod:`trectools_plus.benchmark.differences` tests it with the pairs of modes. Here the p-values
    of the randomisation test are adjusted for the components, by the benchmark's correction
    (Holm's where that is Tukey's, which is for modes).

    Args:
        config: Measures, level, resamples, seed and correction.
        qrels: The judgments.
        mode: The mode that merges.
        without: By component, its run without it.
        evaluation: Scores of the mode with all components.

    Returns:
        By component and measure. A component is left out where ``missing=drop`` makes its queries
        others than the mode's.
    """
    from trectools_plus.measures.evaluation import score_runs
    from trectools_plus.statistics import compare_columns

    measures = config.bind_measures(config.measure_names)
    rest = score_runs(qrels, dict(without), measures, config.missing)
    names = evaluation.measure_names
    ids = evaluation.query_ids[mode]
    components = [component for component in without if rest.query_ids[component] == ids]
    if not components or not ids:
        return {}
    cases = [(component, name) for component in components for name in names]
    differences = np.column_stack(
        [evaluation.values(mode, name) - rest.values(component, name) for component, name in cases]
    )
    found = compare_columns(
        differences,
        tests=("randomisation",),
        confidence=config.confidence,
        resamples=config.resamples,
        seed=config.seed,
    )
    by_case = dict(zip(cases, found, strict=True))
    correction = DEFAULT_CORRECTION if config.correction == TUKEY else config.correction
    results: dict[str, dict[str, ComponentMeasure]] = {one: {} for one in components}
    for name in names:
        adjusted = adjust([by_case[component, name] for component in components], correction)
        for component, p_value in zip(components, adjusted.tolist(), strict=True):
            one = by_case[component, name]
            results[component][name] = ComponentMeasure(
                mean=none_if_nan(evaluation.mean(mode, name)),
                mean_without=none_if_nan(rest.mean(component, name)),
                n=one.n,
                difference=one.difference,
                ci=interval_from(one, config.resamples),
                p_adjusted=none_if_nan(p_value),
                correction=correction,
                significant=bool(p_value <= alpha_of(config.confidence)),
            )
    return results
