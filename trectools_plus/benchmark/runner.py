"""``run_benchmark``: data, runs, scores, comparisons and report, in this order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import polars as pl

from trectools_plus.benchmark.arms import Arm, make_arms
from trectools_plus.benchmark.compare import compare, refuse_different_queries
from trectools_plus.benchmark.config import BenchmarkConfig
from trectools_plus.benchmark.dataset import Dataset, load_dataset
from trectools_plus.benchmark.diagnosis import diagnose
from trectools_plus.benchmark.diagnostics import find_failing, has_rejected, judge_arms
from trectools_plus.benchmark.manifest import hash_config, make_experiment_id
from trectools_plus.benchmark.output_folder import OutputFolder, claim_folder
from trectools_plus.benchmark.report import (
    BenchmarkReport,
    DatasetInfo,
    Manifest,
    ModeResult,
)
from trectools_plus.benchmark.summary import (
    find_best,
    prove_best,
    summarise,
    summarise_latency,
)
from trectools_plus.errors import IncomparableError
from trectools_plus.formats.tables import Run
from trectools_plus.measures.evaluation import Evaluation
from trectools_plus.provenance import (
    Clock,
    describe_machine,
    format_time,
    package_versions,
    utc_now,
)
from trectools_plus.retrieval.base import Progress, no_progress

DEFAULT_FOLDER = "results"


@dataclass(frozen=True, slots=True, eq=False)
class BenchmarkResult:
    """A benchmark's outcome.

    Attributes:
        report: Everything that goes into ``BenchmarkReport.json``.
        per_query: ``run, query_id, measure, value``; undefined values are null.
        runs: The runs as scored, by mode.
        folder: Where the run files and the qrels wait for the report; they appear in the output
            folder together with it, by :func:`trectools_plus.reporting.files.write_reports`, and
            are gone when the result is dropped without it.
    """

    report: BenchmarkReport
    per_query: pl.DataFrame
    runs: dict[str, Run]
    folder: OutputFolder

    @property
    def output_dir(self) -> Path:
        """The folder that the files are for."""
        return self.folder.path


def run_benchmark(
    config: BenchmarkConfig,
    progress: Progress | None = None,
    *,
    command: str | None = None,
    clock: Clock = utc_now,
) -> BenchmarkResult:
    """Compare modes of retrieval, or given runs, on one set of queries.

    Every mode gets the same queries; its run is written, validated, read back and scored. All
    intervals come from one set of resamples of the queries. The same configuration and data give
    the same report but for times.

    Args:
        config: What to do; see :class:`BenchmarkConfig`.
        progress: Called as ``progress(description, done, total)``.
        command: The command line to put into the manifest, free of secrets.
        clock: The time in UTC.

    Returns:
        The report with the per-query values. Nothing is in the output folder by then:
        :func:`trectools_plus.reporting.files.write_reports` puts everything there at once.

    Raises:
        InputError: If data cannot be read or files cannot be written.
        UsageError: If a dataset, mode or measure does not exist.
        FindingsError: If qrels or given runs hold what scoring refuses.
        CheckFailedError: If the ids of topics, qrels and documents do not meet.
        IncomparableError: If ``missing`` is ``drop`` and the modes answer different queries, or
            none.
    """
    tell = progress or no_progress
    moment = clock()
    experiment_id = make_experiment_id(moment, hash_config(config.as_manifest()))
    if config.output_dir is None:
        experiment_id, folder = claim_folder(Path(DEFAULT_FOLDER), experiment_id)
    else:
        folder = OutputFolder(config.output_dir)
    try:
        tell("reading the data", 0, 1)
        dataset = load_dataset(config)
        tell("reading the data", 1, 1)
        arms = make_arms(config, dataset, folder, tell)
        tell("scoring", 0, 2)
        evaluation = _score(config, dataset, arms)
        tell("scoring", 1, 2)
        described = dataset.describe(len(evaluation.query_ids[next(iter(arms))]))
        manifest = _make_manifest(config, moment, experiment_id, described, arms, command)
        report = _make_report(config, dataset, arms, evaluation, manifest)
        tell("scoring", 2, 2)
    except BaseException:
        folder.discard()
        raise
    runs = {mode: arm.run for mode, arm in arms.items()}
    return BenchmarkResult(report, evaluation.per_query, runs, folder)


def _score(config: BenchmarkConfig, dataset: Dataset, arms: Mapping[str, Arm]) -> Evaluation:
    """Every measure of every arm; the arms were checked when they were made."""
    from trectools_plus.measures.evaluator import score_runs
    from trectools_plus.measures.names import parse_measures

    runs = {mode: arm.run for mode, arm in arms.items()}
    measures = parse_measures(config.measure_names)
    evaluation = score_runs(dataset.qrels, runs, measures, config.missing)
    refuse_different_queries(evaluation)
    if not evaluation.query_ids[next(iter(runs))]:
        raise IncomparableError(
            "nothing was found for any judged query, so missing=drop leaves none to average over",
            remedy="use missing=zero, which counts a query without results as 0",
        )
    return evaluation


def _make_manifest(
    config: BenchmarkConfig,
    moment: datetime,
    experiment_id: str,
    dataset: DatasetInfo,
    arms: Mapping[str, Arm],
    command: str | None,
) -> Manifest:
    spelled = config.as_manifest()
    return Manifest(
        experiment_id=experiment_id,
        created_at=format_time(moment),
        dataset=dataset,
        config=spelled,
        config_hash=hash_config(spelled),
        index_snapshots={
            mode: arm.index_key for mode, arm in arms.items() if arm.index_key is not None
        },
        packages=package_versions(),
        **describe_machine(),
        seed=config.seed,
        command=command,
    )


def _make_report(
    config: BenchmarkConfig,
    dataset: Dataset,
    arms: Mapping[str, Arm],
    evaluation: Evaluation,
    manifest: Manifest,
) -> BenchmarkReport:
    measures = summarise(evaluation, config)
    diagnostics = judge_arms(config, dataset, arms, evaluation)
    modes = {
        mode: ModeResult(
            label=config.label(mode),
            status=arm.status,
            run=arm.info,
            measures=measures[mode],
            latency_ms=summarise_latency(arm.latency_ms),
            diagnostics=diagnostics[mode],
        )
        for mode, arm in arms.items()
    }
    comparisons = compare(
        evaluation,
        config.baseline,
        confidence=config.confidence,
        resamples=config.resamples,
        seed=config.seed,
    )
    best = find_best(evaluation)
    return BenchmarkReport(
        manifest=manifest,
        modes=modes,
        comparisons=comparisons,
        best_mode=best,
        best_mode_significant=prove_best(evaluation, best, comparisons, config),
        failing_queries=find_failing(
            dataset, {mode: arm.run for mode, arm in arms.items()}, evaluation
        ),
        diagnosis=diagnose(modes, comparisons, pooled=has_rejected(dataset.qrels)),
    )
