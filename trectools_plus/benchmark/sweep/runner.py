"""``run_sweep``: score every variant, choose the best, and estimate what it is worth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trectools_plus.benchmark.compare.compare import refuse_different_queries
from trectools_plus.benchmark.report.parts import hash_config, make_experiment_id
from trectools_plus.benchmark.run.dataset import Dataset, load_dataset
from trectools_plus.benchmark.run.output_folder import (
    SWEEP_FILES,
    OutputFolder,
    claim_folder,
)
from trectools_plus.benchmark.run.runner import DEFAULT_FOLDER
from trectools_plus.benchmark.sweep.config import SweepConfig
from trectools_plus.benchmark.sweep.report import (
    Advantage,
    HeldOut,
    SweepReport,
    SweepVariant,
    SweepWinner,
)
from trectools_plus.benchmark.sweep.variants import Variant, Variants, list_variants
from trectools_plus.choices import DEFAULT_MEASURES
from trectools_plus.display import Displayed, TextTable, as_cell
from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.evaluation import Evaluation, score_runs
from trectools_plus.measures.judged import notes_on_judges, notes_on_unjudged
from trectools_plus.progress import Progress, no_progress
from trectools_plus.provenance import Clock, describe_machine, package_versions, utc_now
from trectools_plus.statistics.arrays import none_if_nan
from trectools_plus.statistics.comparison import ConfidenceInterval
from trectools_plus.statistics.intervals import MIN_VALUES, mean_intervals
from trectools_plus.statistics.scores import PairedScores, compare_scores, interval_of
from trectools_plus.statistics.selection import Winner, select_winner
from trectools_plus.testsets.loading import load_test_set


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SweepResult(Displayed):
    """The outcome of a sweep.

    Attributes:
        report: The content of ``SweepReport.json``.
        per_query: Columns ``run, query_id, measure, value``; a run is a variant or a baseline.
        run: The run of the winner.
        folder: The output folder, still without files.
        qrels: The judgments.
        held_out: The values of the winner on the held-out part, if there is one.
    """

    report: SweepReport
    per_query: pl.DataFrame
    run: Run
    folder: OutputFolder
    qrels: Qrels
    held_out: pl.DataFrame | None = None

    def _content(self) -> TextTable:
        rows = [[one.name, as_cell(one.mean)] for one in self.report.variants]
        caption = f"{self.report.winner.name} is the best of {len(rows)} variants"
        return TextTable.of(["Variant", self.report.measure], rows, caption=caption)


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
    if config.exclude is not None:
        raise UsageError(
            "a sweep leaves out no documents",
            where="exclude",
            remedy="leave them out of the runs first, and sweep these",
        )
    if config.output_dir is None:
        name = make_experiment_id(clock(), hash_config(config.as_manifest()))
        folder = claim_folder(Path(DEFAULT_FOLDER), name)[1]
    else:
        folder = OutputFolder(config.output_dir)
    with folder.discarded_on_errors():
        given = (config.runs or {}).values()
        folder.plan(SWEEP_FILES, [*given, config.qrels, config.topics, config.corpus])
        return _run(config, progress, command, folder)


def _run(
    config: SweepConfig, progress: Progress, command: str | None, folder: OutputFolder
) -> SweepResult:
    progress("reading the data", 0, 1)
    dataset = load_dataset(config)
    progress("reading the data", 1, 1)
    contents = dataset.hash_contents(progress)
    variants = list_variants(config, dataset, progress)
    evaluation, leading = _score(config, dataset, variants, progress)
    selection = Selection(config, variants, evaluation)
    best = selection.best
    # The means in the table may differ in the last bits.
    run = leading if leading.name == best.name else next(variants.runs([best], dataset))
    held_out = _score_held_out(config, variants, best, evaluation.measures[0])
    described = dataset.describe(selection.n_queries, contents)
    conditions: dict[str, Any] = {
        "dataset": described,
        "packages": package_versions(),
        "platform": describe_machine()["platform"],
        "command": command,
    }
    report = selection.describe(dataset.qrels, held_out, conditions)
    held_out_values = None if held_out is None else held_out.per_query()
    return SweepResult(report, evaluation.per_query(), run, folder, dataset.qrels, held_out_values)


class Selection:
    """The best of several variants, by their values per query.

    Args:
        config: The settings.
        variants: The variants.
        evaluation: The values of :meth:`Variants.list_scored`, of the primary measure first.

    Attributes:
        best: The best variant.
        n_queries: Number of queries in the means.
    """

    def __init__(self, config: SweepConfig, variants: Variants, evaluation: Evaluation) -> None:
        self._config, self._evaluation = config, evaluation
        self._candidates = variants.variants
        primary = evaluation.measures[0]
        scored = variants.list_scored(config)
        columns = {one.name: evaluation.values(one.name, primary) for one in scored}
        self._table = np.column_stack([*columns.values()])
        self._means = {name: float(values.mean()) for name, values in columns.items()}
        self._sign = -1.0 if primary.higher_is_better else 1.0
        self._baseline = min(
            variants.list_references(config),
            key=lambda one: self._sign * self._means[one.name],
            default=None,
        )
        choose = partial(
            select_winner,
            self._table[:, : len(self._candidates)],
            higher_is_better=primary.higher_is_better,
            confidence=config.confidence,
            resamples=config.resamples,
            seed=config.seed,
        )
        baseline = self._baseline
        self._winner = choose()
        self._gain = None if baseline is None else choose(baseline=columns[baseline.name])
        self.best = self._candidates[self._winner.column]
        self.n_queries = len(self._table)

    def describe(
        self, qrels: Qrels, held_out: Evaluation | None, conditions: Mapping[str, Any]
    ) -> SweepReport:
        """Return the report.

        Args:
            qrels: The judgments.
            held_out: The values of the best variant on the held-out part, if there is one.
            conditions: Further fields of the report.
        """
        config, evaluation, baseline = self._config, self._evaluation, self._baseline
        primary, settings = evaluation.measures[0], config.as_manifest()
        listed, winner = self._describe_variants(), self._winner
        best = listed[winner.column]
        gain = None if best.advantage is None else self._gain
        return SweepReport(
            measure=primary.requested_name,
            higher_is_better=bool(primary.higher_is_better),
            n_queries=self.n_queries,
            winner=SweepWinner(
                name=best.name,
                settings=best.settings,
                mean=best.mean,
                corrected_mean=none_if_nan(winner.corrected_mean),
                ci=_corrected_interval(config, winner),
                optimism=none_if_nan(winner.optimism),
                advantage=best.advantage,
                corrected_advantage=gain and none_if_nan(gain.corrected_mean),
                corrected_advantage_ci=gain and _corrected_interval(config, gain),
                held_out=None if held_out is None else _describe_held_out(config, held_out),
            ),
            variants=sorted(
                listed, key=lambda one: (one.name != self.best.name, self._sign * one.mean)
            ),
            baseline=None if baseline is None else baseline.name,
            baseline_mean=None if baseline is None else self._means[baseline.name],
            config=settings,
            config_hash=hash_config(settings),
            seed=config.seed,
            judged=dict(evaluation.judged),
            notes=[
                f"{note[0].upper()}{note[1:]}."
                for note in (*notes_on_judges(qrels), *notes_on_unjudged(evaluation.judged))
            ],
            **conditions,
        )

    def _describe_variants(self) -> list[SweepVariant]:
        config, evaluation = self._config, self._evaluation
        intervals = mean_intervals(
            self._table,
            proportions=bool(evaluation.measures[0].higher_is_better),
            **config.resampling,
        )
        advantages = _compare(config, evaluation, self._candidates, self._baseline)
        return [
            SweepVariant(
                name=one.name,
                settings=one.settings,
                mean=self._means[one.name],
                ci=interval_of(intervals, place),
                chosen=float(self._winner.chosen[place]),
                measures={
                    name: none_if_nan(evaluation.mean(one.name, name))
                    for name in evaluation.measure_names
                },
                advantage=advantages.get(one.name),
            )
            for place, one in enumerate(self._candidates)
        ]


def choose_measures(config: SweepConfig) -> list[Measure]:
    """Return the measures to score, the primary one first.

    Unless it is named, it is RR for terms of an ontology, otherwise nDCG@10, or the first of the
    given measures if it is not among them. Other measures are scored only if they are named.

    Raises:
        UsageError: If the primary measure has no mean.
    """
    given = config.bind_measures(config.measures) if config.measures else []
    default = "RR" if config.over_terms else DEFAULT_MEASURES[0]
    name = config.primary_measure or next(iter(config.headline_measures), default)
    primary = config.bind_measures([name])[0]
    if name == default and config.primary_measure is None and given:
        primary = next((one for one in given if one.name == primary.name), given[0])
    return [primary, *(one for one in given if one.name != primary.name)]


def _score(
    config: SweepConfig,
    dataset: Dataset,
    variants: Variants,
    progress: Progress,
) -> tuple[Evaluation, Run]:
    """Score one variant after the other, so that only two runs are in memory.

    Returns:
        The values of all variants, and the run of the candidate with the best mean.
    """
    measures, parts, scored = choose_measures(config), [], variants.list_scored(config)
    candidates = {one.name for one in variants.variants}
    sign = 1.0 if measures[0].higher_is_better else -1.0
    leading, best = None, -math.inf
    for done, run in enumerate(variants.runs(scored, dataset)):
        progress("scoring variants", done, len(scored))
        part = score_runs(dataset.judged, {run.name: run}, measures, config.averaging)
        parts.append(part)
        mean = sign * part.mean(run.name, measures[0])
        if run.name in candidates and mean > best:
            leading, best = run, mean
    progress("scoring variants", len(scored), len(scored))
    found = replace(
        parts[0],
        query_ids={name: ids for part in parts for name, ids in part.query_ids.items()},
        counts={name: counts for part in parts for name, counts in part.counts.items()},
        tables={name: table for part in parts for name, table in part.tables.items()},
        judged={name: share for part in parts for name, share in part.judged.items()},
    )
    refuse_different_queries(found)
    if np.isnan([found.values(one.name, measures[0]) for one in scored]).any():
        raise CheckFailedError(
            f"{measures[0].requested_name} is undefined for a query",
            remedy="choose the winner by another measure",
        )
    assert leading is not None
    return found, leading


def _compare(
    config: SweepConfig,
    evaluation: Evaluation,
    candidates: list[Variant],
    baseline: Variant | None,
) -> dict[str, Advantage]:
    """Return the differences from the baseline by variant, as one family."""
    if baseline is None:
        return {}
    primary = evaluation.measures[0]
    scores = [
        PairedScores(
            baseline.name,
            one.name,
            primary.requested_name,
            evaluation.query_ids[one.name],
            evaluation.values(baseline.name, primary),
            evaluation.values(one.name, primary),
        )
        for one in candidates
        if one.name != baseline.name
    ]
    return {
        found.contrast: Advantage(
            difference=found.difference or 0.0,
            ci=found.ci,
            p_adjusted=found.p_adjusted,
            significant=found.significant,
        )
        for found in (compare_scores(scores, config.comparing.by("")) if scores else ())
    }


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


def _score_held_out(
    config: SweepConfig, variants: Variants, best: Variant, measure: Measure
) -> Evaluation | None:
    """Score the chosen variant on the held-out part, if there is one."""
    name = config.find_held_out()
    if name is None:
        return None
    if config.test_file is not None:
        used, held_out = map(load_test_set, (config.test_file, name))
        shared = {one.query_id for one in used.queries} & {one.query_id for one in held_out.queries}
        if shared:
            raise UsageError(
                f"{len(shared)} queries are also among those of the sweep, for example "
                f"{min(shared)}",
                where=f"--held-out {name}",
                remedy="make parts with: trectools-plus testset split",
            )
    dataset = load_dataset(config.model_copy(update={"test_file": name}))
    run = next(iter(variants.runs([best], dataset)))
    return score_runs(dataset.judged, {run.name: run}, [measure], config.averaging)


def _describe_held_out(config: SweepConfig, evaluation: Evaluation) -> HeldOut:
    (table,) = evaluation.tables.values()
    intervals = mean_intervals(
        table,
        proportions=bool(evaluation.measures[0].higher_is_better),
        **config.resampling,
    )
    return HeldOut(
        test_set=config.name_held_out() or "",
        n_queries=int(intervals.n[0]),
        mean=none_if_nan(float(intervals.estimate[0])),
        ci=interval_of(intervals, 0),
    )
