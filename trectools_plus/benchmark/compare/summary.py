"""Figures of a report from per-query values: mean, median, deviation, interval, target."""

from __future__ import annotations

import numpy as np

from trectools_plus.benchmark.compare.compare import interval_of
from trectools_plus.benchmark.report import MeasureDefinition, MeasureResult
from trectools_plus.benchmark.report.parts import ends_of, none_if_nan
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.targets import find_uplift_baseline, judge_mean, judge_uplift
from trectools_plus.measures.evaluation import Evaluation
from trectools_plus.statistics import mean_intervals


def summarise(
    evaluation: Evaluation, config: BenchmarkConfig
) -> dict[str, dict[str, MeasureResult]]:
    """Compute mean, median, standard deviation and interval of every run and measure.

    All of them use one set of resamples, so their intervals can be compared.

    Args:
        evaluation: Runs over the same queries.
        config: Confidence level, resamples, seed and targets.

    Returns:
        By run, then by the measures' names as requested.
    """
    cases = [(run, name) for run in evaluation.run_names for name in evaluation.measure_names]
    values = np.column_stack([evaluation.values(*case) for case in cases])
    intervals = mean_intervals(
        values,
        proportions=np.array([evaluation.definition(name).higher_is_better for _, name in cases]),
        **config.resampling,
    )
    targets = config.all_targets
    baseline = find_uplift_baseline(config.baseline or (), evaluation.run_names)
    results: dict[str, dict[str, MeasureResult]] = {}
    for column, (run, name) in enumerate(cases):
        mean = none_if_nan(evaluation.mean(run, name))
        definition = evaluation.definition(name)
        target = targets.get(definition.name)
        ci = interval_of(intervals, column)
        judged = target and judge_mean(
            mean, target, *ends_of(ci), higher_is_better=definition.higher_is_better
        )
        if judged and target and target.uplift and baseline is not None and run != baseline:
            of_baseline = none_if_nan(evaluation.mean(baseline, name))
            uplift = judge_uplift(mean, (baseline, of_baseline), target.uplift)
            judged = judged.model_copy(update={"uplift": uplift})
        defined = values[~np.isnan(values[:, column]), column]
        results.setdefault(run, {})[name] = MeasureResult(
            mean=mean,
            median=float(np.median(defined)) if len(defined) else None,
            std=float(defined.std(ddof=1)) if len(defined) > 1 else None,
            n=evaluation.n(run, name),
            ci=ci if definition.aggregate == "mean" else None,
            definition=MeasureDefinition.model_validate(definition.as_dict()),
            target=judged,
        )
    return results
