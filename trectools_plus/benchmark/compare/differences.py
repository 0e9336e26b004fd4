"""The differences of a report: each is tested once, in one family per measure.

The family holds every pair of modes, whatever baseline the report shows, because the best mode is
found by looking at all of them; and each fusion with the same fusion without one component. Where
that is one of the modes (a fusion of two without one of them is the other), it is that pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from trectools_plus.benchmark.compare.compare import (
    DEFAULT_CORRECTION,
    TUKEY,
    adjust,
    alpha_of,
    compare,
    compare_pairs,
    describe_family,
    interval_from,
    none_if_nan,
)
from trectools_plus.benchmark.compare.significance import compare_all
from trectools_plus.benchmark.report import Comparison, ComponentMeasure, ConfidenceInterval
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.evaluation import Evaluation
from trectools_plus.text import plural

_SEPARATOR = "/"
"""Between a fusion and the component left out; no mode has it in its name, as that names a file."""
Key = tuple[str, str]
"""A fusion and the component that is left out."""
Without = Mapping[str, Mapping[str, Run]]
"""By fusion and component, the run without it."""


@dataclass(frozen=True, slots=True)
class Differences:
    """The tested differences.

    Attributes:
        every_pair: Each pair of modes on each measure.
        shown: Those of the report: every pair, or each mode against a baseline.
        components: By fusion and component, what the component adds to each measure. A component
            is left out where ``missing=drop`` makes its queries others than the fusion's.
        same_as: By fusion and component, the mode that the fusion without it equals.
    """

    every_pair: list[Comparison]
    shown: list[Comparison]
    components: dict[Key, dict[str, ComponentMeasure]]
    same_as: dict[Key, str]


def find_differences(
    config: BenchmarkConfig, qrels: Qrels, evaluation: Evaluation, without: Without
) -> Differences:
    """Compare the modes with each other, and each fusion with what is left without a component.

    Args:
        config: Measures, correction, level, resamples, seed and baseline.
        qrels: The judgments.
        evaluation: The modes' scores.
        without: The fusions without each of their components.
    """
    rest = _score(config, qrels, evaluation, without)
    same_as = {
        key: mode
        for key, table in rest.items()
        if (mode := _find_equal(evaluation, key[0], table)) is not None
    }
    names = {key: same_as.get(key, _SEPARATOR.join(key)) for key in rest}
    further = {names[key]: table for key, table in rest.items() if key not in same_as}
    modes = evaluation.run_names
    ids = dict.fromkeys([*modes, *further], evaluation.query_ids[modes[0]])
    whole = replace(evaluation, tables={**evaluation.tables, **further}, query_ids=ids)
    places = {name: place for place, name in enumerate(whole.run_names)}
    baselines = [name for name in config.baseline or () if name in modes]
    pairs = [
        # The baseline first, so that a difference from it is a difference from it.
        (places[two], places[one]) if two in baselines else (places[one], places[two])
        for one, two in combinations(modes, 2)
    ]
    pairs += [(places[names[key]], places[key[0]]) for key in rest if key not in same_as]
    family = _describe_family(config.correction, len(modes), len(further))
    found = compare_pairs(whole, pairs, family, config.correction, _options(config))
    by_case = {(one.baseline, one.contrast, one.measure): one for one in found}
    return Differences(
        [one for one in found if one.baseline in modes],
        _choose(config, evaluation, by_case),
        {
            key: {
                measure: _contribution(whole, by_case, (names[key], key[0], measure))
                for measure in evaluation.measure_names
            }
            for key in rest
        },
        same_as,
    )


def find_differences_of_1_0(
    config: BenchmarkConfig, qrels: Qrels, evaluation: Evaluation, without: Without
) -> Differences:
    """The differences as reports of schema version 1.0 hold them, so that those can be verified.

    The differences from a baseline, the pairs that the best mode is judged by, and the components
    of each fusion are separate families there.
    """
    shown = compare(evaluation, config.baseline, correction=config.correction, **_options(config))
    components = {
        (mode, component): measures
        for mode, runs in without.items()
        for component, measures in contributions(config, qrels, mode, runs, evaluation).items()
    }
    return Differences(compare_all(evaluation, shown, config), shown, components, {})


def _options(config: BenchmarkConfig) -> dict[str, Any]:
    return {
        "confidence": config.confidence,
        "resamples": config.resamples,
        "seed": config.seed,
    }


def _score(
    config: BenchmarkConfig, qrels: Qrels, evaluation: Evaluation, without: Without
) -> dict[Key, FloatArray]:
    """Values of the fusions without a component, where they are over the fusion's queries."""
    from trectools_plus.measures.evaluation import score_runs

    measures = config.bind_measures(config.measure_names)
    found: dict[Key, FloatArray] = {}
    for mode, runs in without.items():
        rest = score_runs(qrels, dict(runs), measures, config.missing)
        ids = evaluation.query_ids[mode]
        found |= {
            (mode, component): rest.tables[component]
            for component in runs
            if ids and rest.query_ids[component] == ids
        }
    return found


def _find_equal(evaluation: Evaluation, fusion: str, table: FloatArray) -> str | None:
    """The mode other than the fusion with the same values of every query and measure."""
    return next(
        (
            mode
            for mode, other in evaluation.tables.items()
            if mode != fusion and np.array_equal(other, table, equal_nan=True)
        ),
        None,
    )


def _describe_family(correction: str, modes: int, further: int) -> str:
    counted = modes + further
    pairs = modes * (modes - 1) // 2 + further
    if not further:
        return describe_family(modes, 0, pairs)
    fusions = plural(further, "fusion without a component", "fusions without a component")
    if correction == TUKEY:  # it compares those with each other too
        pairs = counted * (counted - 1) // 2
        return (
            f"{plural(pairs, 'comparison')} on one measure: every pair of {plural(modes, 'mode')} "
            f"and {fusions}"
        )
    if modes < 2:
        return f"{plural(pairs, 'comparison')} on one measure: {fusions}"
    return (
        f"{plural(pairs, 'comparison')} on one measure: every pair of {plural(modes, 'mode')}, "
        f"and {fusions}"
    )


def _choose(
    config: BenchmarkConfig,
    evaluation: Evaluation,
    by_case: Mapping[tuple[str, str, str], Comparison],
) -> list[Comparison]:
    """The comparisons of modes that the report shows."""
    modes = evaluation.run_names
    baselines = [name for name in config.baseline or () if name in modes]
    if config.baseline:
        others = [mode for mode in modes if mode not in baselines]
        pairs = [(baseline, other) for baseline in baselines for other in others]
    else:
        pairs = list(combinations(modes, 2))
    return [
        by_case[one, two, measure] for one, two in pairs for measure in evaluation.measure_names
    ]


def _contribution(
    whole: Evaluation,
    by_case: Mapping[tuple[str, str, str], Comparison],
    case: tuple[str, str, str],
) -> ComponentMeasure:
    """A comparison as what a component adds: the fusion minus the fusion without it.

    Args:
        whole: The modes' scores and those of the fusions without a component.
        by_case: The comparisons.
        case: The fusion without the component, the fusion and the measure.
    """
    rest, fusion, measure = case
    entry = by_case.get(case)
    difference, ci = (None, None) if entry is None else (entry.difference, entry.ci)
    if entry is None:
        entry = by_case[fusion, rest, measure]
        difference = None if entry.difference is None else 0.0 - entry.difference
        ci = entry.ci and entry.ci.model_copy(update=_negated(entry.ci))
    return ComponentMeasure(
        mean=none_if_nan(whole.mean(fusion, measure)),
        mean_without=none_if_nan(whole.mean(rest, measure)),
        n=entry.n,
        difference=difference,
        ci=ci,
        p_adjusted=entry.p_adjusted,
        correction=entry.correction,
        family=entry.family,
        significant=entry.significant,
    )


def _negated(ci: ConfidenceInterval) -> dict[str, float | None]:
    low, high = (None if end is None else 0.0 - end for end in (ci.high, ci.low))
    return {"low": low, "high": high}


def contributions(
    config: BenchmarkConfig,
    qrels: Qrels,
    mode: str,
    without: Mapping[str, Run],
    evaluation: Evaluation,
) -> dict[str, dict[str, ComponentMeasure]]:
    """What each component adds to each measure of one mode, as in reports of schema version 1.0.

    :func:`find_differences` tests it with the pairs of modes. Here the p-values of the
    randomisation test are adjusted for the components, by the benchmark's correction (Holm's
    where that is Tukey's, which is for modes).

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
