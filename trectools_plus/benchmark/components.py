"""What each ranking contributes to a fusion: the fusion of all minus the fusion without it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trectools_plus.benchmark.arm_files import Arm
from trectools_plus.benchmark.compare import (
    DEFAULT_CORRECTION,
    TUKEY,
    adjust,
    alpha_of,
    interval_from,
    none_if_nan,
)
from trectools_plus.benchmark.config import BenchmarkConfig
from trectools_plus.benchmark.report import ComponentMeasure, ComponentResult
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.evaluation import Evaluation


def measure_components(
    config: BenchmarkConfig, qrels: Qrels, arms: Mapping[str, Arm], evaluation: Evaluation
) -> list[ComponentResult]:
    """Leave-one-out differences of every mode that merges rankings.

    Args:
        config: Measures, level, resamples, seed and correction.
        qrels: The judgments.
        arms: The modes, with what they are without each component.
        evaluation: The modes' scores.

    Returns:
        An entry per mode and component, in the order of the fusion's weights.
    """
    results = []
    for mode, arm in arms.items():
        if not arm.without:
            continue
        runs = {component: one.run for component, one in arm.without.items()}
        found = contributions(config, qrels, mode, runs, evaluation)
        results += [
            ComponentResult(
                mode=mode,
                component=component,
                run=arm.without[component].info,
                measures=measures,
            )
            for component, measures in found.items()
        ]
    return results


def contributions(
    config: BenchmarkConfig,
    qrels: Qrels,
    mode: str,
    without: Mapping[str, Run],
    evaluation: Evaluation,
) -> dict[str, dict[str, ComponentMeasure]]:
    """What each component adds to each measure of one mode, query by query.

    The p-values of the randomisation test are adjusted for the components, by the benchmark's
    correction (Holm's where that is Tukey's, which is for modes).

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
    from trectools_plus.measures.evaluator import score_runs
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
