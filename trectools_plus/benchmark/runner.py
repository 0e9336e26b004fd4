"""``run_benchmark``: data, runs, scores, comparisons and report, in this order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from trectools_plus.benchmark.arms import Arm, make_arms
from trectools_plus.benchmark.compare import compare, refuse_different_queries
from trectools_plus.benchmark.config import BenchmarkConfig
from trectools_plus.benchmark.dataset import Dataset, load_dataset
from trectools_plus.benchmark.diagnosis import diagnose
from trectools_plus.benchmark.diagnostics import find_failing, has_rejected, judge_arms
from trectools_plus.benchmark.manifest import hash_config, make_experiment_id
from trectools_plus.benchmark.report import BenchmarkReport, Manifest, ModeResult
from trectools_plus.benchmark.summary import (
    find_best,
    prove_best,
    summarise,
    summarise_latency,
)
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
        output_dir: The folder that holds ``runs/`` and ``qrels.txt``; a report is written there.
    """

    report: BenchmarkReport
    per_query: pl.DataFrame
    runs: dict[str, Run]
    output_dir: Path


def run_benchmark(
    config: BenchmarkConfig,
    progress: Progress | None = None,
    *,
    command: str | None = None,
    clock: Clock = utc_now,
) -> BenchmarkResult:
    """Compare modes of retrieval, or given runs, on one set of queries.

    Every mode gets the same queries; its run is written to the output folder, validated, read
    back and scored. All intervals come from one set of resamples of the queries. The same
    configuration and data give the same report but for times.

    Args:
        config: What to do; see :class:`BenchmarkConfig`.
        progress: Called as ``progress(description, done, total)``.
        command: The command line to put into the manifest, free of secrets.
        clock: The time in UTC.

    Returns:
        The report with the per-query values. The runs and the qrels are on disk by then; writing
        the report is :func:`trectools_plus.reporting.files.write_reports`.

    Raises:
        InputError: If data cannot be read or files cannot be written.
        UsageError: If a dataset, mode or measure does not exist.
        FindingsError: If qrels or runs hold what scoring refuses.
        IncomparableError: If ``missing`` is ``drop`` and the modes answer different queries.
    """
    from trectools_plus.measures.evaluator import evaluate

    tell = progress or no_progress
    moment = clock()
    spelled = config.as_manifest()
    config_hash = hash_config(spelled)
    experiment_id = make_experiment_id(moment, config_hash)
    folder = Path(config.output_dir or Path(DEFAULT_FOLDER) / experiment_id)
    tell("reading the data", 0, 1)
    dataset = load_dataset(config)
    tell("reading the data", 1, 1)
    arms = make_arms(config, dataset, folder, tell)
    runs = {mode: arm.run for mode, arm in arms.items()}
    tell("scoring", 0, 2)
    evaluation = evaluate(dataset.qrels, runs, config.measure_names, missing=config.missing)
    refuse_different_queries(evaluation)
    tell("scoring", 1, 2)
    manifest = Manifest(
        experiment_id=experiment_id,
        created_at=format_time(moment),
        dataset=dataset.describe(len(evaluation.query_ids[next(iter(runs))])),
        config=spelled,
        config_hash=config_hash,
        index_snapshots={
            mode: arm.index_key for mode, arm in arms.items() if arm.index_key is not None
        },
        packages=package_versions(),
        **describe_machine(),
        seed=config.seed,
        command=command,
    )
    report = _make_report(config, dataset, arms, evaluation, manifest)
    tell("scoring", 2, 2)
    return BenchmarkResult(report, evaluation.per_query, runs, folder)


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
