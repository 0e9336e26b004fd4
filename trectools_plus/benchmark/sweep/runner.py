"""``run_sweep``: score every variant, choose the best, and estimate what it is worth."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from trectools_plus.benchmark.compare.compare import interval_from, interval_of
from trectools_plus.benchmark.compare.method import alpha_of
from trectools_plus.benchmark.report.manifest import hash_config, make_experiment_id
from trectools_plus.benchmark.report.parts import ConfidenceInterval, none_if_nan
from trectools_plus.benchmark.run.dataset import Dataset, load_dataset
from trectools_plus.benchmark.run.output_folder import OutputFolder, claim_folder
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
from trectools_plus.benchmark.tried import count_other_reports
from trectools_plus.choices import DEFAULT_MEASURES
from trectools_plus.errors import CheckFailedError, IncomparableError, UsageError
from trectools_plus.formats.tables import Run
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.evaluation import score_runs
from trectools_plus.progress import Progress, notebook_progress
from trectools_plus.provenance import Clock, package_versions, utc_now
from trectools_plus.statistics.arrays import FloatArray
from trectools_plus.statistics.intervals import mean_intervals
from trectools_plus.statistics.selection import Winner, select_winner
from trectools_plus.statistics.systems import MAX_T, pairwise_differences
from trectools_plus.testsets.loading import load_test_set

METHOD = "bootstrap bias corrected selection"


@dataclass(frozen=True, slots=True, eq=False)
class SweepResult:
    """The outcome of a sweep.

    Attributes:
        report: The content of ``SweepReport.json``.
        per_query: Columns ``variant, query_id, measure, value``.
        run: The run of the winner.
        folder: The output folder, still without files.
    """

    report: SweepReport
    per_query: pl.DataFrame
    run: Run
    folder: OutputFolder


def run_sweep(
    config: SweepConfig,
    progress: Progress | None = None,
    *,
    command: str | None = None,
    clock: Clock = utc_now,
) -> SweepResult:
    """Score variants of a system on the same queries, and choose the best.

    The mean of the best variant is too high, because it is the best by chance too. The report
    therefore has its corrected mean: :func:`trectools_plus.statistics.select_winner`.

    Args:
        config: The settings; see :class:`SweepConfig`.
        progress: Called as ``progress(description, done, total)``; by default a bar in notebooks.
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
    if config.output_dir is None:
        name = make_experiment_id(clock(), hash_config(config.as_manifest()))
        folder = claim_folder(Path(DEFAULT_FOLDER), name)[1]
    else:
        folder = OutputFolder(config.output_dir)
    try:
        with notebook_progress(progress) as shown:
            return _run(config, shown, command, folder)
    except BaseException:
        folder.discard()
        raise


def _run(
    config: SweepConfig, progress: Progress, command: str | None, folder: OutputFolder
) -> SweepResult:
    progress("reading the data", 0, 1)
    dataset = load_dataset(config)
    progress("reading the data", 1, 1)
    contents = dataset.hash_contents(progress)
    variants = list_variants(config, dataset, progress)
    candidates = variants.variants
    named = [variants.find(name) for name in config.baseline or ()]
    # Without a name, the baseline is the best run that is fused.
    references = named or (variants.references if config.runs is not None else ())
    scored = [*candidates, *(one for one in references if one not in candidates)]
    measures = choose_measures(config)
    query_ids, tables = _score(config, dataset, variants, scored, measures, progress)
    progress("choosing", 0, 1)
    primary = measures[0]
    table = tables[:, :, 0]
    sign = -1.0 if primary.higher_is_better else 1.0
    with np.errstate(invalid="ignore"), warnings.catch_warnings(action="ignore"):
        means = np.nanmean(tables, axis=0)
    baseline = min(
        references, key=lambda one: sign * float(means[scored.index(one), 0]), default=None
    )
    compared = scored[: len(candidates)]
    if baseline is not None and baseline not in compared:
        compared = [*compared, baseline]
    winner = select_winner(
        table[:, : len(candidates)],
        higher_is_better=primary.higher_is_better,
        confidence=config.confidence,
        resamples=config.resamples,
        seed=config.seed,
    )
    intervals = mean_intervals(
        table, proportions=bool(primary.higher_is_better), **config.resampling
    )
    columns = [scored.index(one) for one in compared]
    advantages = _compare(config, table[:, columns], compared, baseline)
    listed = [
        SweepVariant(
            name=one.name,
            settings=one.settings,
            mean=float(means[place, 0]),
            ci=interval_of(intervals, place),
            chosen=float(winner.chosen[place]),
            measures={
                measure.requested_name: none_if_nan(float(means[place, number]))
                for number, measure in enumerate(measures)
            },
            advantage=advantages.get(one.name),
        )
        for place, one in enumerate(candidates)
    ]
    best = candidates[winner.column]
    run = next(iter(variants.runs([best], dataset)))
    held_out = _score_held_out(config, variants, best, primary)
    progress("choosing", 1, 1)
    described = dataset.describe(len(query_ids), contents)
    settings = config.as_manifest()
    report = SweepReport(
        measure=primary.requested_name,
        higher_is_better=bool(primary.higher_is_better),
        n_queries=len(query_ids),
        winner=_describe_winner(winner, listed[winner.column], held_out),
        variants=sorted(listed, key=lambda one: (one.name != best.name, sign * one.mean)),
        baseline=None if baseline is None else baseline.name,
        baseline_mean=None if baseline is None else float(means[scored.index(baseline), 0]),
        dataset=described,
        config=settings,
        config_hash=hash_config(settings),
        packages=package_versions(),
        seed=config.seed,
        resamples=config.resamples,
        command=command,
        other_reports=count_other_reports(folder.path, described.sha256),
        notes=dataset.notes,
    )
    return SweepResult(report, _per_query(scored, query_ids, measures, tables), run, folder)


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
    if primary.aggregate != "mean":
        raise UsageError(
            f"{primary.requested_name} is not a mean over queries",
            where="--primary-measure",
            remedy="choose the winner by another measure",
        )
    return [primary, *(one for one in given if one.name != primary.name)]


def _score(
    config: SweepConfig,
    dataset: Dataset,
    variants: Variants,
    scored: list[Variant],
    measures: list[Measure],
    progress: Progress,
) -> tuple[list[str], FloatArray]:
    """Return the queries, and values of shape (queries, variants, measures)."""
    tables, query_ids = [], None
    for done, run in enumerate(variants.runs(scored, dataset)):
        progress("scoring variants", done, len(scored))
        evaluation = score_runs(dataset.judged, {run.name: run}, measures, config.averaging)
        found = evaluation.query_ids[run.name]
        if not found or (query_ids is not None and query_ids != found):
            raise IncomparableError(
                f"{run.name} is averaged over other queries than {scored[0].name}",
                remedy="use missing=zero, which counts a query without results as 0",
            )
        query_ids = found
        tables.append(evaluation.tables[run.name])
    progress("scoring variants", len(scored), len(scored))
    assert query_ids is not None
    table = np.stack(tables, axis=1)
    if np.isnan(table[:, :, 0]).any():
        raise CheckFailedError(
            f"{measures[0].requested_name} is undefined for a query",
            remedy="choose the winner by another measure",
        )
    return query_ids, table


def _compare(
    config: SweepConfig, table: FloatArray, scored: list[Variant], baseline: Variant | None
) -> dict[str, Advantage]:
    """Return the differences from the baseline by variant, as one family."""
    if baseline is None:
        return {}
    found = pairwise_differences(
        table, baselines=[scored.index(baseline)], correction=MAX_T, **config.resampling
    )
    advantages = {}
    for (_, place), one, p_value in zip(
        found.pairs, found.comparisons, found.p_adjusted, strict=True
    ):
        assert one.difference is not None
        advantages[scored[place].name] = Advantage(
            difference=one.difference,
            ci=interval_from(one, config.resamples),
            p_adjusted=float(p_value),
            significant=bool(p_value <= alpha_of(one.level)) and not one.borderline,
        )
    return advantages


def _describe_winner(found: Winner, best: SweepVariant, held_out: HeldOut | None) -> SweepWinner:
    ci = ConfidenceInterval(
        low=found.low,
        high=found.high,
        level=found.confidence,
        method=METHOD,
        resamples=found.resamples,
    )
    return SweepWinner(
        name=best.name,
        settings=best.settings,
        mean=best.mean,
        corrected_mean=none_if_nan(found.corrected_mean),
        ci=ci if found.n > 1 else None,
        optimism=none_if_nan(found.optimism),
        advantage=best.advantage,
        held_out=held_out,
    )


def _score_held_out(
    config: SweepConfig, variants: Variants, best: Variant, measure: Measure
) -> HeldOut | None:
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
    evaluation = score_runs(dataset.judged, {run.name: run}, [measure], config.averaging)
    intervals = mean_intervals(
        evaluation.tables[run.name],
        proportions=bool(measure.higher_is_better),
        **config.resampling,
    )
    return HeldOut(
        test_set=name,
        n_queries=int(intervals.n[0]),
        mean=none_if_nan(float(intervals.estimate[0])),
        ci=interval_of(intervals, 0),
    )


def _per_query(
    scored: list[Variant], query_ids: list[str], measures: list[Measure], tables: FloatArray
) -> pl.DataFrame:
    queries, variants, count = tables.shape
    names = [one.name for one in scored]
    return pl.DataFrame(
        {
            "variant": np.tile(np.repeat(names, count), queries).tolist(),
            "query_id": np.repeat(query_ids, variants * count).tolist(),
            "measure": [one.requested_name for one in measures] * (queries * variants),
            "value": tables.ravel(),
        }
    )
