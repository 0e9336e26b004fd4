"""Comparisons of runs: preconditions, the tested differences of a benchmark, the best modes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from trectools_plus.benchmark.report import ComponentMeasure
from trectools_plus.benchmark.report.verdict import find_primary
from trectools_plus.benchmark.run.comparing import Comparing
from trectools_plus.errors import IncomparableError, UsageError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.evaluation import Evaluation, score_runs
from trectools_plus.statistics import indistinguishable_groups, pairs_of
from trectools_plus.statistics.arrays import none_if_nan
from trectools_plus.statistics.comparison import Comparison
from trectools_plus.statistics.method import EQUAL, describe_family
from trectools_plus.statistics.scores import Method, PairedScores, compare_scores
from trectools_plus.text import plural


def compare_pairs(
    evaluation: Evaluation, pairs: Sequence[tuple[int, int]], method: Method
) -> list[Comparison]:
    """Test the differences of pairs of runs, on each measure as one family.

    Args:
        evaluation: Runs over the same queries.
        pairs: Baseline and contrast, as positions among the runs.
        method: The method.

    Returns:
        One entry per pair and measure: pairs in the order given, then measures.
    """
    names = evaluation.run_names
    scores = [
        PairedScores(
            names[one],
            names[two],
            measure,
            evaluation.query_ids[names[one]],
            evaluation.values(names[one], measure),
            evaluation.values(names[two], measure),
            evaluation.definition(measure).higher_is_better,
        )
        for one, two in pairs
        for measure in evaluation.measure_names
    ]
    return compare_scores(scores, method) if scores else []


def check_baselines(baseline: str | Sequence[str] | None, names: list[str]) -> list[str]:
    """Return the baselines as a list; empty to compare every pair.

    Raises:
        UsageError: If one is not one of the runs.
    """
    baselines = [baseline] if isinstance(baseline, str) else list(baseline or ())
    for name in baselines:
        if name not in names:
            raise UsageError(
                f"unknown baseline '{name}'", remedy=f"the runs are {', '.join(names)}"
            )
    return baselines


def refuse_different_queries(evaluation: Evaluation) -> None:
    """Check that all runs of an evaluation are averaged over the same queries.

    Raises:
        IncomparableError: If not; it names two runs and a query that only one of them has.
    """
    names = evaluation.run_names
    for name in names[1:]:
        first, other = (evaluation.query_ids[run] for run in (names[0], name))
        if first != other:
            differing = sorted(set(first) ^ set(other))
            raise IncomparableError(
                f"{names[0]} is averaged over {len(first)} queries and {name} over {len(other)}: "
                f"{len(differing)} are in only one of them, for example {differing[0]}",
                remedy="use missing=zero, which counts a query without results as 0",
            )
    # All means of the table have the same denominator.
    assert len({len(evaluation.tables[name]) for name in names}) <= 1


Key = tuple[str, str]
"""A fusion and the component that it leaves out."""
Without = Mapping[str, Mapping[str, Run]]
"""The runs without a component, by fusion and component."""


@dataclass(frozen=True, slots=True)
class TestedDifferences:
    """The tested differences.

    Attributes:
        comparisons: Each pair of modes on each measure, or each other mode with a baseline.
        components: By fusion and component, the component's contribution to each measure. A
            component is omitted if the fusion without it equals a mode, or if, with
            ``missing=drop``, its queries differ from the fusion's.
    """

    comparisons: list[Comparison]
    components: dict[Key, dict[str, ComponentMeasure]]


def find_primary_of(config: Mapping[str, Any], evaluation: Evaluation) -> str:
    """Return the primary measure of an evaluation; ``config`` is that of the manifest."""
    names = {one.requested_name: one.name for one in evaluation.measures}
    return find_primary(config, names)


def find_differences(
    comparing: Comparing,
    evaluation: Evaluation,
    primary: str,
    noun: str,
    fusions: tuple[Qrels, Without] | None = None,
) -> TestedDifferences:
    """Compare the modes with each other, and each fusion with itself without a component.

    On each measure, the modes are one family, and the fusions another. Without a baseline, each
    pair is the mode that is better on the primary measure minus the other one, on all measures.

    Args:
        comparing: The baselines and the method.
        evaluation: The modes' scores.
        primary: The primary measure.
        noun: The word for what is compared: ``run`` or ``mode``.
        fusions: The judgments, and the fusions without each of their components.
    """
    modes = evaluation.run_names
    baselines = [name for name in comparing.baseline if name in modes]
    places = [modes.index(name) for name in baselines]
    pairs = [] if comparing.baseline and not places else pairs_of(len(modes), places)
    if not baselines:
        columns = [evaluation.values(mode, primary) for mode in modes]
        higher = evaluation.definition(primary).higher_is_better
        pairs = orient_pairs(pairs, columns, higher_is_better=higher)
    family = describe_family(len(pairs), len(modes), baselines, noun)
    return TestedDifferences(
        compare_pairs(evaluation, pairs, comparing.by(family)),
        {} if fusions is None else _compare_components(comparing, evaluation, *fusions),
    )


def orient_pairs(
    pairs: Iterable[tuple[int, int]], columns: Sequence[FloatArray], *, higher_is_better: bool
) -> list[tuple[int, int]]:
    """Return each pair with the better system as second; equal ones are unchanged.

    Args:
        pairs: Positions of baseline and contrast.
        columns: The values of each system on the primary measure, over the same queries.
        higher_is_better: The direction of the measure.
    """
    sign = 1.0 if higher_is_better else -1.0
    oriented = []
    for baseline, contrast in pairs:
        differences = columns[contrast] - columns[baseline]
        defined = differences[~np.isnan(differences)]
        behind = defined.size > 0 and sign * float(defined.mean()) < -EQUAL
        oriented.append((contrast, baseline) if behind else (baseline, contrast))
    return oriented


def _compare_components(
    comparing: Comparing, evaluation: Evaluation, qrels: Qrels, without: Without
) -> dict[Key, dict[str, ComponentMeasure]]:
    """Compare each fusion with itself without a component, unless that equals a mode."""
    rest: dict[Key, FloatArray] = {}
    for mode, runs in without.items():
        scored = score_runs(qrels, dict(runs), evaluation.measures, evaluation.averaging)
        ids = evaluation.query_ids[mode]
        for component, table in scored.tables.items():
            is_mode = any(
                other != mode and np.array_equal(values, table, equal_nan=True)
                for other, values in evaluation.tables.items()
            )
            if ids and scored.query_ids[component] == ids and not is_mode:
                rest[mode, component] = table
    if not rest:
        return {}
    # Names of modes are names of files, so they contain no slash.
    tables = {**evaluation.tables, **{"/".join(key): table for key, table in rest.items()}}
    ids = evaluation.query_ids[next(iter(rest))[0]]
    whole = replace(evaluation, tables=tables, query_ids=dict.fromkeys(tables, ids))
    pairs = [(whole.run_names.index("/".join(key)), whole.run_names.index(key[0])) for key in rest]
    further = plural(len(rest), "fusion without a component", "fusions without a component")
    family = f"{plural(len(pairs), 'comparison')} on one measure: {further}"
    entries = iter(compare_pairs(whole, pairs, comparing.by(family)))
    return {
        key: {
            one.measure: ComponentMeasure(
                mean=none_if_nan(whole.mean(one.contrast, one.measure)),
                mean_without=none_if_nan(whole.mean(one.baseline, one.measure)),
                n=one.n,
                difference=one.difference,
                ci=one.ci,
                p_adjusted=one.p_adjusted,
                correction=one.correction,
                family=one.family,
                significant=one.significant,
            )
            for one in islice(entries, len(whole.measure_names))
        }
        for key in rest
    }


def find_unranked(evaluation: Evaluation) -> list[str]:
    """Find the measures whose means are over different queries, so that no run is the best."""
    return [name for name in evaluation.measure_names if evaluation.is_over_different_queries(name)]


def find_best(
    evaluation: Evaluation, baselines: Collection[str] | None = None
) -> dict[str, str | None]:
    """Find the run with the best mean by measure.

    ``None`` on a tie, with fewer than two runs, where the means are over different
    queries, or with baselines: then no run is compared with all others.
    Means that differ only by rounding (:data:`EQUAL`) are a tie: (0.2 + 0.6) / 2 is 0.4.

    Args:
        evaluation: Runs over the same queries.
        baselines: The runs that the others are compared with.
    """
    best: dict[str, str | None] = dict.fromkeys(evaluation.measure_names)
    ranked = [] if baselines else {*evaluation.measure_names} - {*find_unranked(evaluation)}
    for name in ranked:
        means = _defined_means(evaluation, name)
        choose = max if evaluation.definition(name).higher_is_better else min
        top = choose(means.values(), default=np.nan)
        leaders = [run for run, mean in means.items() if abs(mean - top) <= EQUAL]
        if len(leaders) == 1 and len(evaluation.run_names) > 1:
            best[name] = leaders[0]
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
    evaluation: Evaluation, every_pair: Sequence[Comparison]
) -> dict[str, list[list[str]]]:
    """Find by measure the largest groups of modes without significant differences, best first.

    A group has at least two modes, and a mode may be in several. Modes whose mean is undefined are
    left out. Modes whose means are over different queries are not ranked, so they form no groups.

    Args:
        evaluation: The modes.
        every_pair: The comparisons of every pair of modes.
    """
    groups: dict[str, list[list[str]]] = {name: [] for name in evaluation.measure_names}
    for name in {*evaluation.measure_names} - {*find_unranked(evaluation)}:
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
        groups[name] = [[modes[place] for place in group] for group in found if len(group) > 1]
    return groups


def _defined_means(evaluation: Evaluation, measure: str) -> dict[str, float]:
    means = {run: evaluation.mean(run, measure) for run in evaluation.run_names}
    return {run: mean for run, mean in means.items() if not np.isnan(mean)}
