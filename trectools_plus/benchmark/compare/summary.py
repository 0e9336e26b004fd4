"""From per-query values to the figures of a report: one measure, one mode, the best mode."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from trectools_plus.benchmark.compare.compare import (
    EQUAL,
    interval_of,
    none_if_nan,
)
from trectools_plus.benchmark.report import (
    MeasureDefinition,
    MeasureResult,
)
from trectools_plus.benchmark.report.parts import ends_of
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.targets import judge_mean
from trectools_plus.measures.evaluation import Evaluation

FloatArray = npt.NDArray[np.float64]


def summarise(
    evaluation: Evaluation, config: BenchmarkConfig
) -> dict[str, dict[str, MeasureResult]]:
    """Mean, median, spread and interval of every run and measure.

    One set of resamples serves all of them, so their intervals move together.

    Args:
        evaluation: Runs over the same queries.
        config: Level, resamples, seed and targets.

    Returns:
        By run, then by canonical measure name.
    """
    from trectools_plus.statistics.bootstrap import bootstrap_means

    cases = [(run, name) for run in evaluation.run_names for name in evaluation.measure_names]
    values = np.column_stack([evaluation.values(*case) for case in cases])
    intervals = bootstrap_means(
        values, resamples=config.resamples, seed=config.seed, confidence=config.confidence
    )
    targets = config.all_targets
    results: dict[str, dict[str, MeasureResult]] = {}
    for column, (run, name) in enumerate(cases):
        mean = none_if_nan(evaluation.mean(run, name))
        target = targets.get(name)
        ci = interval_of(intervals, column)
        results.setdefault(run, {})[name] = MeasureResult(
            mean=mean,
            **_spread(values[:, column]),
            n=evaluation.n(run, name),
            ci=ci,
            definition=_define(evaluation, name),
            target=None
            if target is None
            else judge_mean(
                mean,
                target,
                *ends_of(ci),
                higher_is_better=evaluation.definition(name).higher_is_better,
            ),
        )
    return results


def find_unranked(evaluation: Evaluation) -> list[str]:
    """Measures whose means are over different queries, so that no run is the best."""
    return [name for name in evaluation.measure_names if evaluation.is_over_different_queries(name)]


def find_best(
    evaluation: Evaluation, unranked: Collection[str] | None = None
) -> dict[str, str | None]:
    """The run with the best mean by measure.

    ``None`` on a tie, with fewer than two runs, or where the means are over different queries.
    Means that differ by rounding only (:data:`EQUAL`) are a tie: (0.2 + 0.6) / 2 is 0.4.

    Args:
        evaluation: Runs over the same queries.
        unranked: Measures without a best run; from :func:`find_unranked` when not given.
    """
    left_out = find_unranked(evaluation) if unranked is None else unranked
    best: dict[str, str | None] = {}
    for name in evaluation.measure_names:
        if name in left_out:
            best[name] = None
            continue
        means = {run: evaluation.mean(run, name) for run in evaluation.run_names}
        defined = {run: mean for run, mean in means.items() if not np.isnan(mean)}
        choose = max if evaluation.definition(name).higher_is_better else min
        top = choose(defined.values(), default=np.nan)
        leaders = [run for run, mean in defined.items() if abs(mean - top) <= EQUAL]
        best[name] = leaders[0] if len(leaders) == 1 and len(means) > 1 else None
    return best


def _spread(values: FloatArray) -> dict[str, float | None]:
    """Median and sample standard deviation (ddof = 1) of the defined values."""
    defined = values[~np.isnan(values)]
    return {
        "median": float(np.median(defined)) if len(defined) else None,
        "std": float(defined.std(ddof=1)) if len(defined) > 1 else None,
    }


def _define(evaluation: Evaluation, name: str) -> MeasureDefinition:
    fields = evaluation.definition(name).as_dict()
    return MeasureDefinition.model_validate(fields)
