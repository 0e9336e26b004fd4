"""``run_benchmark``: data, runs, scores, comparisons and report, in this order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report.folder import ReportFolder, copy_files
from trectools_plus.benchmark.report.manifest import hash_config, make_experiment_id
from trectools_plus.benchmark.run.assemble import make_manifest, make_report, score_arms
from trectools_plus.benchmark.run.cache import find_cached, make_cache_key, neighbours
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.dataset import Dataset, load_dataset
from trectools_plus.benchmark.run.mode_runs import Arm
from trectools_plus.benchmark.run.modes import make_arms
from trectools_plus.benchmark.run.output_folder import OutputFolder, claim_folder
from trectools_plus.formats.tables import Run
from trectools_plus.progress import Progress, no_progress
from trectools_plus.provenance import Clock, format_time, utc_now

DEFAULT_FOLDER = "results"
LATENCY_SCHEMA = {"run": pl.String, "query_id": pl.String, "latency_ms": pl.Float64}


@dataclass(frozen=True, slots=True, eq=False)
class BenchmarkResult:
    """A benchmark's outcome.

    Attributes:
        report: Everything that goes into ``BenchmarkReport.json``.
        per_query: ``run, query_id, measure, value``; undefined values are null.
        runs: The runs as scored, by mode.
        dataset: What was searched and judged: the texts and grades behind the figures.
        folder: Where the run files and the qrels wait for the report; they appear in the output
            folder together with it, by :func:`trectools_plus.reporting.files.write_reports`, and
            are gone when the result is dropped without it.
        latency: ``run, query_id, latency_ms`` of the modes that were fetched; ``None`` without.
    """

    report: BenchmarkReport
    per_query: pl.DataFrame
    runs: dict[str, Run]
    folder: OutputFolder
    dataset: Dataset | None = None
    latency: pl.DataFrame | None = None

    @property
    def output_dir(self) -> Path:
        """The folder that the files are for."""
        return self.folder.path

    def _repr_html_(self) -> str:
        """The report's table, for notebooks."""
        return self.report._repr_html_()


def run_benchmark(
    config: BenchmarkConfig,
    progress: Progress | None = None,
    *,
    command: str | None = None,
    clock: Clock = utc_now,
    cached: bool = False,
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
        cached: Whether earlier results may come back, from the output folder or one beside it,
            where configuration, data and code are the same; the report says so.

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
        contents = dataset.hash_contents(tell)
        key = make_cache_key(config, contents)
        if cached and key is not None:
            found = find_cached(key, neighbours(folder.path))
            if found is not None:
                changes = {"experiment_id": experiment_id, "created_at": format_time(moment)}
                return _reuse(found, dataset, folder, {**changes, "command": command})
        made = make_arms(config, dataset, folder, tell)
        arms = made.scored
        evaluation = score_arms(config, dataset, arms, tell)
        tell("comparing", 0, 1)
        described = dataset.describe(len(evaluation.query_ids[next(iter(arms))]), contents)
        manifest = make_manifest(config, moment, experiment_id, described, arms, command)
        manifest = manifest.model_copy(update={"cache_key": key})
        report = make_report(config, dataset, made, evaluation, manifest)
        tell("comparing", 1, 1)
    except BaseException:
        folder.discard()
        raise
    runs = {mode: arm.run for mode, arm in arms.items()}
    latency = _latency_table(dataset, arms)
    return BenchmarkResult(report, evaluation.per_query, runs, folder, dataset, latency)


def _reuse(
    source: ReportFolder, dataset: Dataset, folder: OutputFolder, changes: dict[str, str | None]
) -> BenchmarkResult:
    """Earlier results as those of this benchmark; its report says where they are from."""
    old = source.report
    assert source.per_query is not None
    copy_files(source, folder)
    origin = old.manifest.cached_from or old.manifest.experiment_id
    manifest = old.manifest.model_copy(update={**changes, "cached_from": origin})
    return BenchmarkResult(
        old.model_copy(update={"manifest": manifest}),
        source.per_query,
        {mode: source.read_run(mode) for mode in old.modes},
        folder,
        dataset,
        source.latency,
    )


def _latency_table(dataset: Dataset, arms: Mapping[str, Arm]) -> pl.DataFrame | None:
    """Milliseconds per mode and query, in the order of the topics."""
    timed = {mode: arm.latency_ms for mode, arm in arms.items() if arm.latency_ms is not None}
    if dataset.topics is None or not timed:
        return None
    query_ids = dataset.topics.query_ids
    return pl.concat(
        pl.DataFrame(
            {"run": [mode] * len(query_ids), "query_id": query_ids, "latency_ms": latency_ms},
            schema=LATENCY_SCHEMA,
        )
        for mode, latency_ms in timed.items()
    )
