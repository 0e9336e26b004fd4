"""The tested differences of a benchmark: between modes, and of fusions without a component."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from trectools_plus.benchmark.compare.compare import compare_pairs, name_method
from trectools_plus.benchmark.compare.method import TUKEY, describe_family
from trectools_plus.benchmark.report import Comparison, ComponentMeasure
from trectools_plus.benchmark.report.parts import none_if_nan
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.evaluation import Evaluation, score_runs
from trectools_plus.statistics import pairs_of
from trectools_plus.text import plural

_SEPARATOR = "/"
"""Separates a fusion and a component; names of modes don't contain it, as they name files."""
Key = tuple[str, str]
"""A fusion and the component that it leaves out."""
Without = Mapping[str, Mapping[str, Run]]
"""The runs without a component, by fusion and component."""


@dataclass(frozen=True, slots=True)
class Differences:
    """The tested differences.

    Attributes:
        comparisons: Each pair of modes on each measure, or each other mode with a baseline.
        components: By fusion and component, the component's contribution to each measure. A
            component is omitted if the fusion without it equals a mode, or if, with
            ``missing=drop``, its queries differ from the fusion's.
    """

    comparisons: list[Comparison]
    components: dict[Key, dict[str, ComponentMeasure]]


def find_differences(
    config: BenchmarkConfig, qrels: Qrels | None, evaluation: Evaluation, without: Without
) -> Differences:
    """Compare the modes with each other, and each fusion with itself without a component.

    On each measure, the modes are one family, and the fusions another.

    Args:
        config: Measures, correction, level, resamples, seed and baseline.
        qrels: The judgments; ``None`` if there are no fusions.
        evaluation: The modes' scores.
        without: The fusions without each of their components.
    """
    modes = evaluation.run_names
    baselines = [name for name in config.baseline or () if name in modes]
    if config.baseline and not baselines:
        pairs = []
    else:
        pairs = pairs_of(len(modes), [modes.index(name) for name in baselines])
    family = describe_family(len(pairs), len(modes), baselines, config.noun_of(modes))
    facts = name_method(config.correction, config.test, family)
    found = compare_pairs(evaluation, pairs, facts, config.resampling, config.rope)
    return Differences(found, _compare_components(config, qrels, evaluation, without))


def _compare_components(
    config: BenchmarkConfig, qrels: Qrels | None, evaluation: Evaluation, without: Without
) -> dict[Key, dict[str, ComponentMeasure]]:
    """Compare each fusion with itself without a component."""
    rest = _find_rest(config, qrels, evaluation, without)
    if not rest:
        return {}
    names = {key: _SEPARATOR.join(key) for key in rest}
    fusions = list(dict.fromkeys(fusion for fusion, _ in rest))
    tables = {fusion: evaluation.tables[fusion] for fusion in fusions}
    tables |= {names[key]: table for key, table in rest.items()}
    ids = dict.fromkeys(tables, evaluation.query_ids[fusions[0]])
    whole = replace(evaluation, tables=tables, query_ids=ids)
    places = {name: place for place, name in enumerate(whole.run_names)}
    pairs = [(places[names[key]], places[key[0]]) for key in rest]
    further = plural(len(rest), "fusion without a component", "fusions without a component")
    family = f"{plural(len(pairs), 'comparison')} on one measure: {further}"
    if config.correction == TUKEY:  # it compares every pair
        every = len(tables) * (len(tables) - 1) // 2
        family = (
            f"{plural(every, 'comparison')} on one measure: every pair of "
            f"{plural(len(fusions), 'fusion')} and {further}"
        )
    facts = name_method(config.correction, config.test, family)
    found = compare_pairs(whole, pairs, facts, config.resampling)
    by_case = {(one.baseline, one.contrast, one.measure): one for one in found}
    return {
        key: {
            measure: _contribution(whole, by_case, (names[key], key[0], measure))
            for measure in evaluation.compared_names
        }
        for key in rest
    }


def _find_rest(
    config: BenchmarkConfig, qrels: Qrels | None, evaluation: Evaluation, without: Without
) -> dict[Key, FloatArray]:
    """Score the fusions without a component that do not equal a mode."""
    scored = {} if qrels is None else _score(config, qrels, evaluation, without)
    return {
        key: table for key, table in scored.items() if not _equals_mode(evaluation, key[0], table)
    }


def _score(
    config: BenchmarkConfig, qrels: Qrels, evaluation: Evaluation, without: Without
) -> dict[Key, FloatArray]:
    """Score the fusions without a component, if they are over the fusion's queries."""
    measures = config.bind_measures(config.measure_names)
    found: dict[Key, FloatArray] = {}
    for mode, runs in without.items():
        rest = score_runs(qrels, dict(runs), measures, config.averaging)
        ids = evaluation.query_ids[mode]
        found |= {
            (mode, component): rest.tables[component]
            for component in runs
            if ids and rest.query_ids[component] == ids
        }
    return found


def _equals_mode(evaluation: Evaluation, fusion: str, table: FloatArray) -> bool:
    """Return whether another mode has the same value for every query and measure."""
    return any(
        mode != fusion and np.array_equal(other, table, equal_nan=True)
        for mode, other in evaluation.tables.items()
    )


def _contribution(
    whole: Evaluation,
    by_case: Mapping[tuple[str, str, str], Comparison],
    case: tuple[str, str, str],
) -> ComponentMeasure:
    """Return a component's contribution: the fusion minus the fusion without the component.

    Args:
        whole: The scores of the modes and of the fusions without a component.
        by_case: The comparisons.
        case: The fusion without the component, the fusion and the measure.
    """
    rest, fusion, measure = case
    entry = by_case[case]
    return ComponentMeasure(
        mean=none_if_nan(whole.mean(fusion, measure)),
        mean_without=none_if_nan(whole.mean(rest, measure)),
        n=entry.n,
        difference=entry.difference,
        ci=entry.ci,
        p_adjusted=entry.p_adjusted,
        correction=entry.correction,
        family=entry.family,
        significant=entry.significant,
        borderline=entry.borderline,
    )
