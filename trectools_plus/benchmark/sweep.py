"""``run_sweep``: score variants of a system, choose the best, and estimate what it is worth.

The runs of the variants are given, or fused from given runs. The best variant is also the best by
chance, so the report has the mean that it is expected to have on new queries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from pydantic import Field

from trectools_plus.benchmark.compare import compare_modes, refuse_different_queries
from trectools_plus.benchmark.report import DatasetInfo, hash_config
from trectools_plus.benchmark.run.config_file import SweepConfig
from trectools_plus.benchmark.run.dataset import Dataset, load_dataset
from trectools_plus.benchmark.run.output_folder import SWEEP_FILES, OutputFolder
from trectools_plus.benchmark.run.runner import opened_output
from trectools_plus.choices import DEFAULT_MEASURES
from trectools_plus.display import Displayed, Progress, no_progress
from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.evaluation import Evaluation, score_runs
from trectools_plus.measures.judged import notes_on_judges, notes_on_unjudged
from trectools_plus.models import (
    Clock,
    Conditions,
    ReportModel,
    describe_machine,
    package_versions,
    utc_now,
)
from trectools_plus.retrieval.fusion import Fusion, fuse
from trectools_plus.statistics.arrays import none_if_nan
from trectools_plus.statistics.comparison import ConfidenceInterval
from trectools_plus.statistics.intervals import MIN_VALUES, mean_intervals
from trectools_plus.statistics.scores import interval_of
from trectools_plus.statistics.systems import Winner, select_winner
from trectools_plus.validation import check_pair, refuse_errors
from trectools_plus.validation.loading import load_run

_FIELDS = ("method", "k", "weights", "normalisation")
"""The fields of :class:`Fusion` that a grid varies, as ``fusion.method`` and so on."""


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """A variant of a sweep, or a run that it is compared with.

    Attributes:
        name: Its settings as the user wrote them, or the name of its run.
        settings: Values of the varied settings, as the user wrote them.
        make: Returns its run, of this name.
    """

    name: str
    settings: dict[str, str]
    make: Callable[[], Run]


def list_variants(config: SweepConfig, dataset: Dataset) -> tuple[list[Variant], list[Variant]]:
    """Return the variants of a configuration, and those of which the best one is the baseline.

    Args:
        config: The settings.
        dataset: The judgments, and the queries if they are known.

    Raises:
        UsageError: If a setting is unknown or out of range, there is one variant only, or no
            variant or run has the name of the baseline.
    """
    runs = [
        Variant(name, {}, partial(_read_run, name, path, dataset))
        for name, path in (config.runs or {}).items()
    ]
    variants, baselines = (_fuse_runs(config.grid, runs), runs) if config.grid else (runs, [])
    if len(variants) < 2:
        raise UsageError(
            f"there is nothing to choose from: {len(variants)} variant",
            where="sweep",
            remedy="give several values, as in --grid fusion.weights=0.4,0.5,0.6, or several runs",
        )
    for name in config.baseline or ():
        baselines = [one for one in (*runs, *variants) if one.name == name][:1]
        if not baselines:
            raise UsageError(f"'{name}' is not one of the variants", where="--baseline")
    return variants, baselines


def _read_run(name: str, path: str, dataset: Dataset) -> Run:
    run = load_run(path)
    refuse_errors(check_pair(run, dataset.qrels, dataset.topics))
    return Run(run.frame, name)


def _fuse_runs(grid: Mapping[str, tuple[str, ...]], runs: list[Variant]) -> list[Variant]:
    """Return a variant for each combination of values, without the settings that it ignores."""
    if len(runs) < 2:
        raise UsageError("one run cannot be fused", where="--runs", remedy="name two or more")
    known = ("depth", *(f"fusion.{field}" for field in _FIELDS))
    if unknown := {*grid} - {*known}:
        raise UsageError(f"'{min(unknown)}' cannot be varied", remedy=f"use {', '.join(known)}")
    read = cache(lambda: {run.name: run.make() for run in runs})

    def fuse_runs(fusion: Fusion, depth: int | None, name: str) -> Run:
        return fuse(read(), fusion, depth, name)

    variants: dict[str, Variant] = {}
    for texts in product(*grid.values()):
        settings = dict(zip(grid, texts, strict=True))
        default = "weighted" if "fusion.weights" in grid else "rrf"
        method = settings.get("fusion.method", default)
        for field, is_used in (
            ("k", method == "rrf"),
            ("normalisation", method != "rrf"),
            ("weights", method == "weighted"),
        ):
            if not is_used:
                settings.pop(f"fusion.{field}", None)
        name = " ".join(map("=".join, settings.items()))
        try:
            fusion, depth = _read_fusion(settings, method, len(runs))
        except UsageError as error:
            error.where = f"--grid {name}"
            raise
        make = partial(fuse_runs, fusion, depth, name)
        variants.setdefault(name, Variant(name, settings, make))
    return list(variants.values())


def _read_fusion(settings: Mapping[str, str], method: str, count: int) -> tuple[Fusion, int | None]:
    """Return the fusion and its depth; a single weight w means w and 1 - w."""
    values: dict[str, Any] = {name.removeprefix("fusion."): text for name, text in settings.items()}
    depth = values.pop("depth", None)
    if depth is not None and not (depth.isdecimal() and int(depth)):
        raise UsageError(f"expected a whole number of at least 1 but got '{depth}'")
    if "weights" in values:
        try:
            weights = [float(part) for part in values["weights"].split(":")]
        except ValueError as error:
            raise UsageError(f"expected weights but got '{values['weights']}'") from error
        values["weights"] = weights if len(weights) > 1 else [*weights, round(1.0 - weights[0], 12)]
    fusion = Fusion(**{**values, "method": method})
    fusion.check_count(count)
    return fusion, None if depth is None else int(depth)


class Advantage(ReportModel):
    """The mean difference of a variant from the baseline, query by query."""

    difference: float
    """The variant's mean minus the baseline's."""
    ci: ConfidenceInterval | None
    """As in a comparison of two modes; the variants are the family."""
    p_adjusted: float | None
    """Adjusted for the number of variants."""
    significant: bool
    """Whether the difference is significant."""


class ScoredVariant(ReportModel):
    """A variant and its mean."""

    name: str
    """Its settings as they were written, or the name of its run."""
    settings: dict[str, str]
    """Values of the varied settings."""
    mean: float
    """The mean of the primary measure on all queries."""
    ci: ConfidenceInterval | None
    """The usual interval of this mean, without correction for the choice; that of the winner is of
    the corrected mean."""
    advantage: Advantage | None = None
    """The difference from the baseline; null without one, and for the baseline."""


class SweepVariant(ScoredVariant):
    """One variant."""

    chosen: float
    """The share of the resamples in which it is the best variant."""
    measures: dict[str, float | None]
    """The means of all measures."""


class SweepWinner(ScoredVariant):
    """The best variant on all queries."""

    corrected_mean: float | None
    """The estimated mean on new queries of the variant that this sweep chooses: that of bootstrap
    bias corrected selection. Null with a single query."""
    optimism: float | None
    """The extent to which the mean looks better than the corrected mean."""
    corrected_advantage: float | None = None
    """The estimated difference from the baseline on new queries of the variant that this sweep
    chooses; null without a baseline, and if the baseline is the best."""
    corrected_advantage_ci: ConfidenceInterval | None = None
    """Its interval."""


class SweepReport(Conditions):
    """A sweep."""

    dataset: DatasetInfo
    """The data."""
    config: dict[str, Any]
    """The configuration with every default spelled out, without the output folder."""
    config_hash: str
    """SHA-256 of the configuration as JSON with sorted keys and no blanks."""

    platform: str = ""
    """Operating system and architecture."""
    schema_version: str = "1.0"
    """The version of this format."""
    measure: str
    """The primary measure, by which the winner was chosen."""
    higher_is_better: bool
    """Whether a high mean is good."""
    n_queries: int
    """Number of queries in the means."""
    winner: SweepWinner
    """The best variant."""
    variants: list[SweepVariant]
    """All variants, the best first."""
    baseline: str | None = None
    """The variant, run or mode that the variants are compared with."""
    baseline_mean: float | None = None
    """Its mean of the primary measure."""
    judged: dict[str, float] = Field(default_factory=dict)
    """The mean share of judged documents among the first ten of each scored run; empty if no
    document is judged as not relevant."""
    notes: list[str] = Field(default_factory=list)
    """Notes on the data."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SweepResult(Displayed):
    """The outcome of a sweep.

    Attributes:
        report: The content of ``SweepReport.json``.
        per_query: Columns ``run, query_id, measure, value``; a run is a variant or a baseline.
        run: The run of the winner.
        folder: The output folder, still without files.
        qrels: The judgments.
    """

    report: SweepReport
    per_query: pl.DataFrame
    run: Run
    folder: OutputFolder
    qrels: Qrels


def run_sweep(
    config: SweepConfig,
    progress: Progress = no_progress,
    *,
    command: str | None = None,
    clock: Clock = utc_now,
) -> SweepResult:
    """Score variants of a system on the same queries, and choose the best.

    The mean of the best variant is too high, because it is the best by chance too. The report
    therefore has its corrected mean: :func:`trectools_plus.statistics.select_winner`.

    Args:
        config: The settings; see :class:`SweepConfig`.
        progress: Called as ``progress(description, done, total)``.
        command: The command line to put into the report, free of secrets.
        clock: Returns the time in UTC, for the name of the default output folder.

    Returns:
        The report with the values of all queries. The output folder is still unchanged:
        :func:`trectools_plus.reporting.write_sweep_report` puts all files there at once.

    Raises:
        InputError: If data cannot be read, or the folder cannot be written.
        UsageError: If there is only one variant, or a setting, mode or measure does not exist.
        FindingsError: If qrels or given runs break a rule that scoring depends on.
        CheckFailedError: If topics, qrels and documents have no ids in common.
        IncomparableError: If the variants are averaged over different queries.
    """
    with opened_output(config, SWEEP_FILES, clock()) as (folder, _):
        progress("reading the data", 0, 1)
        dataset = load_dataset(config)
        variants, baselines = list_variants(config, dataset)
        scored = [*variants, *(one for one in baselines if one not in variants)]
        evaluation = _score(config, dataset, scored, progress)
        report = _choose(config, dataset, variants, baselines, evaluation)
        report = report.model_copy(update={"command": command})
        run = next(one.make() for one in variants if one.name == report.winner.name)
        return SweepResult(report, evaluation.per_query(), run, folder, dataset.qrels)


def _choose(
    config: SweepConfig,
    dataset: Dataset,
    variants: list[Variant],
    baselines: list[Variant],
    evaluation: Evaluation,
) -> SweepReport:
    """Choose the best variant by the primary measure, which is the first one."""
    primary, settings = evaluation.measures[0], config.as_manifest()
    is_better, names = bool(primary.higher_is_better), [one.name for one in variants]
    primary_name = primary.requested_name
    columns = {name: evaluation.values(name, primary) for name in evaluation.run_names}
    means = {name: float(values.mean()) for name, values in columns.items()}
    sign = -1.0 if is_better else 1.0
    baseline = min((one.name for one in baselines), key=lambda one: sign * means[one], default=None)
    table = np.column_stack([columns[name] for name in names])
    choose = partial(
        select_winner,
        table,
        higher_is_better=is_better,
        confidence=config.confidence,
        resamples=config.resamples,
        seed=config.seed,
    )
    winner = choose()
    intervals = mean_intervals(table, proportions=is_better, **config.comparing.options)
    advantages = {}
    if baseline is not None:
        tables = {name: evaluation.tables[name] for name in dict.fromkeys((baseline, *names))}
        comparing = replace(config.comparing, baseline=(baseline,))
        compared = compare_modes(comparing, replace(evaluation, tables=tables), primary_name, "run")
        advantages = {
            entry.contrast: Advantage.model_validate(entry, from_attributes=True)
            for entry in compared.comparisons
            if entry.measure == primary_name
        }
    listed = [
        SweepVariant(
            name=one.name,
            settings=one.settings,
            mean=means[one.name],
            ci=interval_of(intervals, place),
            chosen=float(winner.chosen[place]),
            measures={
                name: none_if_nan(evaluation.mean(one.name, name))
                for name in evaluation.measure_names
            },
            advantage=advantages.get(one.name),
        )
        for place, one in enumerate(variants)
    ]
    best = listed[winner.column]
    gain = None
    if baseline is not None and best.advantage is not None:
        gain = choose(baseline=columns[baseline])
    notes = (*notes_on_judges(dataset.qrels), *notes_on_unjudged(evaluation.judged))
    return SweepReport(
        dataset=dataset.describe(len(table)),
        packages=package_versions(),
        platform=describe_machine()["platform"],
        measure=primary_name,
        higher_is_better=is_better,
        n_queries=len(table),
        winner=SweepWinner(
            **best.model_dump(include={"name", "settings", "mean", "advantage"}),
            corrected_mean=none_if_nan(winner.corrected_mean),
            ci=_corrected_interval(config, winner),
            optimism=none_if_nan(winner.optimism),
            corrected_advantage=gain and none_if_nan(gain.corrected_mean),
            corrected_advantage_ci=gain and _corrected_interval(config, gain),
        ),
        variants=sorted(listed, key=lambda one: (one.name != best.name, sign * one.mean)),
        baseline=baseline,
        baseline_mean=None if baseline is None else means[baseline],
        config=settings,
        config_hash=hash_config(settings),
        seed=config.seed,
        judged=dict(evaluation.judged),
        notes=[f"{note[0].upper()}{note[1:]}." for note in notes],
    )


def choose_measures(config: SweepConfig) -> list[Measure]:
    """Return the measures to score, the primary one first.

    Unless it is named, it is the first of the named measures; without any, RR for terms of an
    ontology, otherwise nDCG@10. Other measures are scored only if they are named.

    Raises:
        UsageError: If the primary measure has no mean.
    """
    default = "RR" if config.over_terms else DEFAULT_MEASURES[0]
    named = [config.primary_measure, *config.headline_measures, *config.measures, default]
    primary = config.bind_measures([next(filter(None, named))])[0]
    given = config.bind_measures(config.measures) if config.measures else []
    return [primary, *(one for one in given if one.name != primary.name)]


def _score(
    config: SweepConfig, dataset: Dataset, variants: list[Variant], progress: Progress
) -> Evaluation:
    """Score one variant after the other, so that only one run is in memory."""
    measures, parts = choose_measures(config), []
    for done, variant in enumerate(variants):
        progress("scoring variants", done, len(variants))
        runs = {variant.name: variant.make()}
        parts.append(score_runs(dataset.judged, runs, measures, config.averaging))
    scores = replace(
        parts[0],
        query_ids={name: ids for part in parts for name, ids in part.query_ids.items()},
        counts={name: counts for part in parts for name, counts in part.counts.items()},
        tables={name: table for part in parts for name, table in part.tables.items()},
        judged={name: share for part in parts for name, share in part.judged.items()},
    )
    refuse_different_queries(scores)
    if np.isnan([scores.values(name, measures[0]) for name in scores.run_names]).any():
        raise CheckFailedError(
            f"{measures[0].requested_name} is undefined for a query",
            remedy="choose the winner by another measure",
        )
    return scores


def _corrected_interval(config: SweepConfig, winner: Winner) -> ConfidenceInterval | None:
    if winner.n < MIN_VALUES:
        return None
    return ConfidenceInterval(
        low=winner.low,
        high=winner.high,
        level=config.confidence,
        method="bootstrap bias corrected selection",
        resamples=config.resamples,
    )
