"""Comparisons of runs: preconditions, the tested differences of a benchmark, the best modes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.benchmark.report import MeasureDefinition, MeasureResult, StratumResult
from trectools_plus.benchmark.run.config import Comparing
from trectools_plus.benchmark.run.targets import Target, find_uplift_baseline, judge_mean
from trectools_plus.errors import IncomparableError
from trectools_plus.formats.tables import TOPICS_SCHEMA, Topics
from trectools_plus.measures.evaluation import Evaluation
from trectools_plus.statistics import indistinguishable_groups, mean_intervals, pairs_of
from trectools_plus.statistics.arrays import EQUAL, IntervalOptions, none_if_nan
from trectools_plus.statistics.comparison import Comparison, describe_family, ends_of
from trectools_plus.statistics.scores import Method, PairedScores, compare_scores, interval_of


def summarise(
    evaluation: Evaluation, comparing: Comparing, targets: Mapping[str, Target | None] | None = None
) -> dict[str, dict[str, MeasureResult]]:
    """Compute mean, median, standard deviation and interval of every run and measure.

    All of them use one set of resamples, so their intervals can be compared.

    Args:
        evaluation: Runs over the same queries.
        comparing: The settings of the intervals.
        targets: The targets by canonical measure name.

    Returns:
        By run, then by the measures' names as requested.
    """
    baseline = find_uplift_baseline(comparing.baseline, evaluation.run_names)
    results: dict[str, dict[str, MeasureResult]] = {}
    for run, means in summarise_means(evaluation, comparing.options).items():
        for name, figures in means.items():
            definition = evaluation.definition(name)
            target = (targets or {}).get(definition.name)
            results.setdefault(run, {})[name] = MeasureResult(
                **dict(figures),
                median=none_if_nan(evaluation.median(run, name)),
                std=none_if_nan(evaluation.std(run, name)),
                definition=MeasureDefinition.model_validate(definition.as_dict()),
                target=target
                and judge_mean(
                    figures.mean,
                    target,
                    ends_of(figures.ci),
                    higher_is_better=definition.higher_is_better,
                    baseline=None
                    if baseline is None or run == baseline
                    else (baseline, none_if_nan(evaluation.mean(baseline, name))),
                ),
            )
    return results


def summarise_means(
    evaluation: Evaluation, options: IntervalOptions
) -> dict[str, dict[str, StratumResult]]:
    """Compute mean, number of queries and interval of each run and measure.

    All of them use one set of resamples, so their intervals can be compared.

    Returns:
        By run and measure.
    """
    cases = [(run, name) for run in evaluation.run_names for name in evaluation.measure_names]
    values = np.column_stack([evaluation.values(*case) for case in cases])
    higher_is_better = [evaluation.definition(name).higher_is_better for _, name in cases]
    intervals = mean_intervals(values, proportions=np.array(higher_is_better), **options)
    results: dict[str, dict[str, StratumResult]] = {}
    for column, (run, name) in enumerate(cases):
        results.setdefault(run, {})[name] = StratumResult(
            mean=none_if_nan(evaluation.mean(run, name)),
            n=evaluation.n(run, name),
            ci=interval_of(intervals, column),
        )
    return results


Rows = npt.NDArray[np.intp]


def make_strata(
    topics: Topics, evaluation: Evaluation, options: IntervalOptions
) -> dict[str, dict[str, dict[str, dict[str, StratumResult]]]]:
    """Compute mean, number of queries and interval of each mode and measure, per value of a field.

    All modes and measures of a stratum use one set of resamples. Undefined values are left out;
    ``n`` is the number of queries in the mean.

    Args:
        topics: The queries with their fields.
        evaluation: Runs over the same queries.
        options: The settings of the intervals.

    Returns:
        By field in the order of the topics, value (most queries first), mode and measure; empty
        if no field forms strata.
    """
    query_ids = next(iter(evaluation.query_ids.values()))
    return {
        field: {value: summarise_rows(evaluation, rows, options) for value, rows in values.items()}
        for field, values in find_strata(topics, query_ids).items()
    }


def find_strata(topics: Topics, query_ids: list[str]) -> dict[str, dict[str, Rows]]:
    """Find the queries with each value of the fields that form strata.

    A field forms strata if the queries have at least 2 and at most 30 different values of it, and
    at least 2 queries per value on average; with other fields, nearly every query has a stratum of
    its own, or all queries have the same. The field ``language`` needs no number of queries,
    because a mean over several languages is not meaningful. White space around values is ignored.
    Queries with an empty value or without one are in no stratum of the field.

    Args:
        topics: The queries with their fields; those not in ``query_ids`` are ignored.
        query_ids: The queries in the means.

    Returns:
        By field, then by value with most queries first (equal ones by name): ascending positions
        in ``query_ids``.
    """
    by_field = {
        field: group_queries(topics, query_ids, field)
        for field, dtype in topics.frame.schema.items()
        if field not in TOPICS_SCHEMA and not dtype.is_nested()
    }
    return {
        field: groups
        for field, groups in by_field.items()
        if 2 <= len(groups) <= 30
        and (field == "language" or sum(map(len, groups.values())) >= 2 * len(groups))
    }


def group_queries(topics: Topics, query_ids: list[str], field: str) -> dict[str, Rows]:
    """Return the positions of the queries with each value of a field; see :func:`find_strata`."""
    known = topics.frame.unique("query_id", keep="first", maintain_order=True)
    values = known[field].cast(pl.String).str.strip_chars()
    value_of = dict(zip(known["query_id"], values, strict=True))
    rows: dict[str, list[int]] = {}
    for row, query_id in enumerate(query_ids):
        if value := value_of.get(query_id):
            rows.setdefault(value, []).append(row)
    ordered = sorted(rows, key=lambda value: (-len(rows[value]), value))
    return {value: np.array(rows[value], np.intp) for value in ordered}


def summarise_rows(
    evaluation: Evaluation, rows: Rows, options: IntervalOptions
) -> dict[str, dict[str, StratumResult]]:
    """Compute mean, number of queries and interval of each run and measure in one stratum.

    Args:
        evaluation: Runs over the same queries.
        rows: The queries of the stratum, as positions.
        options: The settings of the intervals.

    Returns:
        By run and measure.
    """
    return summarise_means(
        replace(evaluation, tables={run: table[rows] for run, table in evaluation.tables.items()}),
        options,
    )


class Compared(NamedTuple):
    """The comparison of all modes; each part is a field of the report of that name."""

    comparisons: list[Comparison]
    best_mode: dict[str, str | None]
    best_mode_significant: dict[str, bool]
    unranked: list[str]
    groups: dict[str, list[list[str]]]


def compare_modes(
    comparing: Comparing, evaluation: Evaluation, primary: str, noun: str
) -> Compared:
    """Compare the modes with each other, or with the baselines, as one family on each measure.

    Without a baseline, each pair is the mode that is better on the primary measure minus the other
    one, on all measures.

    Args:
        comparing: The baselines and the method.
        evaluation: The modes' scores, over the same queries.
        primary: The primary measure.
        noun: The word for what is compared: ``run`` or ``mode``.

    Returns:
        Comparisons: pairs, then measures. By measure, the best mode (``None`` on a tie, with fewer
        than two modes or with baselines, if the means are over different queries), whether it
        differs significantly from every other mode, and the largest groups of at least two modes
        without significant differences, best first.
    """
    modes, names = evaluation.run_names, evaluation.measure_names
    baselines = [name for name in comparing.baseline if name in modes]
    places = [modes.index(name) for name in baselines]
    pairs = [] if comparing.baseline and not places else pairs_of(len(modes), places)

    def pair(places: tuple[int, int], measure: str) -> PairedScores:
        first, second = (modes[place] for place in places)
        before, after = (evaluation.values(mode, measure) for mode in (first, second))
        ids, is_higher = (
            evaluation.query_ids[first],
            evaluation.definition(measure).higher_is_better,
        )
        return PairedScores(first, second, measure, ids, before, after, is_higher)

    if not baselines:  # the mode that is better on the primary measure is second
        pairs = [one[::-1] if _is_behind(pair(one, primary)) else one for one in pairs]
    family = describe_family(len(pairs), len(modes), baselines, noun)
    scores = [pair(one, measure) for one in pairs for measure in names]
    method = Method(comparing.options, comparing.test, comparing.correction, family)
    entries = compare_scores(scores, method) if scores else []
    unranked = [name for name in names if evaluation.is_over_different_queries(name)]
    compared = Compared(entries, dict.fromkeys(names), {}, unranked, {})
    for name in names:
        sign = 1.0 if evaluation.definition(name).higher_is_better else -1.0
        means = {mode: sign * evaluation.mean(mode, name) for mode in modes}
        means = {mode: mean for mode, mean in means.items() if not np.isnan(mean)}
        of_measure = [entry for entry in entries if entry.measure == name]
        is_ranked = name not in unranked and not comparing.baseline
        top = max(means.values(), default=np.nan)
        # Means that differ only by rounding are a tie: (0.2 + 0.6) / 2 is 0.4.
        leaders = [mode for mode, mean in means.items() if top - mean <= EQUAL]
        best = leaders[0] if is_ranked and len(leaders) == 1 and len(modes) > 1 else None
        of_best = [one.significant for one in of_measure if best in (one.baseline, one.contrast)]
        compared.best_mode[name] = best
        compared.best_mode_significant[name] = bool(of_best) and all(of_best)
        if not comparing.baseline:
            compared.groups[name] = _find_groups(means, of_measure) if is_ranked else []
    return compared


def _is_behind(scores: PairedScores) -> bool:
    """Return whether the contrast is worse than the baseline."""
    differences = scores.after - scores.before
    defined = differences[~np.isnan(differences)] * (1.0 if scores.higher_is_better else -1.0)
    return defined.size > 0 and float(defined.mean()) < -EQUAL


def _find_groups(means: Mapping[str, float], pairs: Sequence[Comparison]) -> list[list[str]]:
    modes = list(means)
    p_values = np.ones((len(modes), len(modes)))
    for entry in pairs:
        if entry.significant and {entry.baseline, entry.contrast} <= means.keys():
            places = [modes.index(entry.baseline), modes.index(entry.contrast)]
            p_values[places, places[::-1]] = 0.0
    groups = indistinguishable_groups([*means.values()], p_values, level=0.5)
    return [[modes[place] for place in group] for group in groups if len(group) > 1]


def refuse_different_queries(evaluation: Evaluation) -> None:
    """Check that all runs of an evaluation are averaged over the same queries.

    Raises:
        IncomparableError: If not, naming two runs and a query that only one of them has; or if
            there is no query.
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
    if not evaluation.query_ids[names[0]]:
        raise IncomparableError(
            "nothing was found for any judged query, so missing=drop leaves no query",
            remedy="use missing=zero, which counts a query without results as 0",
        )
