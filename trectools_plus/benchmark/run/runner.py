"""``run_benchmark``: load data, prepare runs, score and compare them, make the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report.folder import ReportFolder, copy_files
from trectools_plus.benchmark.report.manifest import hash_config, make_experiment_id
from trectools_plus.benchmark.report.parts import restore_findings
from trectools_plus.benchmark.run.assemble import make_manifest, make_report, score_modes
from trectools_plus.benchmark.run.cache import find_cached, make_cache_key
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.dataset import Dataset, load_dataset
from trectools_plus.benchmark.run.mode_runs import ModeRun
from trectools_plus.benchmark.run.modes import prepare_modes
from trectools_plus.benchmark.run.output_folder import OutputFolder, claim_folder
from trectools_plus.benchmark.tried import count_other_reports
from trectools_plus.display import Content, Displayed
from trectools_plus.formats.tables import Run, Topics
from trectools_plus.measures.evaluation import notes_without_relevant
from trectools_plus.progress import Progress, notebook_progress
from trectools_plus.provenance import Clock, format_time, utc_now
from trectools_plus.validation.findings import Finding, notes_on_findings, refuse_errors

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEFAULT_FOLDER = "results"
LATENCY_SCHEMA = {"run": pl.String, "query_id": pl.String, "latency_ms": pl.Float64}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BenchmarkResult(Displayed):
    """The outcome of a benchmark.

    Attributes:
        report: The content of ``BenchmarkReport.json``.
        per_query: Columns ``run, query_id, measure, value``; undefined values are null.
        runs: The scored runs by mode.
        dataset: The documents, topics and qrels.
        folder: The output folder. It holds the run files and the qrels in a hidden folder until
            :func:`trectools_plus.reporting.files.write_reports` publishes all files together.
            They are deleted if the result is dropped before.
        latency: Columns ``run, query_id, latency_ms``, of fetched modes and the queries whose
            latency was measured; ``None`` without any.
    """

    report: BenchmarkReport
    per_query: pl.DataFrame
    runs: dict[str, Run]
    folder: OutputFolder
    dataset: Dataset | None = None
    latency: pl.DataFrame | None = None

    @property
    def output_dir(self) -> Path:
        """The output folder."""
        return self.folder.path

    def _text(self) -> str:
        """The report and the folder."""
        return f"<BenchmarkResult {self.report!r} for {self.folder.path}>"

    def _content(self) -> Content:
        return self.report._content()

    def plot(self, measures: Sequence[str] | None = None) -> Figure:
        """Return the figure of the report; see :meth:`BenchmarkReport.plot`."""
        return self.report.plot(measures)


def run_benchmark(
    config: BenchmarkConfig,
    progress: Progress | None = None,
    *,
    command: str | None = None,
    clock: Clock = utc_now,
    cached: bool = False,
    strict_input: bool = False,
) -> BenchmarkResult:
    """Compare modes of retrieval, or given runs, on one set of queries.

    Every mode gets the same queries; its run is written, validated, read back and scored. All
    intervals come from one set of resamples of the queries. The same configuration and data give
    the same report except for times.

    Args:
        config: The settings; see :class:`BenchmarkConfig`.
        progress: Called as ``progress(description, done, total)``; by default a bar in notebooks.
        command: The command line to put into the manifest, free of secrets.
        clock: Returns the time in UTC.
        cached: Reuse results from the output folder or a folder beside it, if configuration, data
            and code are the same. The report then names the earlier experiment.
        strict_input: Refuse every error of the qrels and the given runs, also those that change
            no figure.

    Returns:
        The report with the per-query values. The output folder is still unchanged:
        :func:`trectools_plus.reporting.files.write_reports` puts all files there at once.

    Raises:
        InputError: If data cannot be read or files cannot be written.
        UsageError: If a dataset, mode or measure does not exist.
        FindingsError: If qrels or given runs break a rule that scoring depends on.
        CheckFailedError: If topics, qrels and documents have no ids in common.
        IncomparableError: If ``missing`` is ``drop`` and the modes answer different queries, or
            none.
    """
    with notebook_progress(progress) as shown:
        return _run(config, shown, command, clock, cached=cached, strict_input=strict_input)


def _run(
    config: BenchmarkConfig,
    progress: Progress,
    command: str | None,
    clock: Clock,
    *,
    cached: bool,
    strict_input: bool,
) -> BenchmarkResult:
    moment = clock()
    experiment_id = make_experiment_id(moment, hash_config(config.as_manifest()))
    if config.output_dir is None:
        experiment_id, folder = claim_folder(Path(DEFAULT_FOLDER), experiment_id)
    else:
        folder = OutputFolder(config.output_dir)
    try:
        progress("reading the data", 0, 1)
        dataset = load_dataset(config)
        progress("reading the data", 1, 1)
        contents = dataset.hash_contents(progress)
        key = make_cache_key(config, contents)
        if cached and key is not None:
            found = find_cached(key, folder.path)
            if found is not None:
                if strict_input:
                    refuse_errors(_input_findings(found.report, config), strict_input=True)
                sha256 = found.report.manifest.dataset.sha256
                changes: dict[str, Any] = {
                    "experiment_id": experiment_id,
                    "created_at": format_time(moment),
                    "command": command,
                    "other_reports": count_other_reports(folder.path, sha256) or None,
                }
                return _reuse(found, dataset, folder, changes)
        modes = prepare_modes(config, dataset, folder, progress)
        scored = modes.scored
        evaluation = score_modes(config, dataset, scored, progress)
        progress("comparing", 0, 1)
        described = dataset.describe(len(evaluation.query_ids[next(iter(scored))]), contents)
        manifest = make_manifest(config, moment, experiment_id, described, scored, command)
        others = count_other_reports(folder.path, described.sha256) or None
        manifest = manifest.model_copy(update={"cache_key": key, "other_reports": others})
        report = make_report(config, dataset, modes, evaluation, manifest)
        folder.keep_components([one.run.path or "" for one in report.components])
        if strict_input:
            refuse_errors(_input_findings(report, config), strict_input=True)
        progress("comparing", 1, 1)
    except BaseException:
        folder.discard()
        raise
    runs = {name: mode.run for name, mode in scored.items()}
    latency = make_latency_table(dataset.topics, scored)
    return BenchmarkResult(report, evaluation.per_query(), runs, folder, dataset, latency)


def input_notes(report: BenchmarkReport, config: BenchmarkConfig) -> list[str]:
    """Return notes on queries without a relevant document, and on findings on given runs and qrels.

    The report lists the findings on fetched runs.
    """
    without = next(iter(report.modes.values())).diagnostics.queries_without_relevant
    notes = notes_without_relevant(without, report.manifest.averaging)
    if config.runs is None:
        return notes
    found = _input_findings(report, config)
    of_qrels = [finding for finding in found if finding.path == _qrels_path(report)]
    of_runs = [finding for finding in found if finding not in of_qrels]
    return notes + notes_on_findings(of_runs, of_qrels)


def _input_findings(report: BenchmarkReport, config: BenchmarkConfig) -> list[Finding]:
    """Return the findings on the qrels and on given runs."""
    findings = restore_findings(report.manifest.dataset.findings, _qrels_path(report))
    for name, path in (config.runs or {}).items():
        if name in report.modes:
            findings += restore_findings(report.modes[name].diagnostics.findings, path)
    return findings


def _qrels_path(report: BenchmarkReport) -> str:
    file = report.manifest.dataset.files.get("qrels")
    return report.manifest.dataset.id if file is None else file.path


def _reuse(
    source: ReportFolder, dataset: Dataset, folder: OutputFolder, changes: dict[str, Any]
) -> BenchmarkResult:
    """Return earlier results as those of this benchmark, with their origin in the manifest."""
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


def make_latency_table(topics: Topics | None, modes: Mapping[str, ModeRun]) -> pl.DataFrame | None:
    """Return the milliseconds per mode and timed query, in the order of the topics."""
    timed = {name: mode.latency_ms for name, mode in modes.items() if mode.latency_ms is not None}
    if topics is None or not timed:
        return None
    query_ids = topics.query_ids
    return pl.concat(
        pl.DataFrame(
            {"run": [mode] * len(query_ids), "query_id": query_ids, "latency_ms": latency_ms},
            schema=LATENCY_SCHEMA,
        ).filter(pl.col("latency_ms").is_not_nan())
        for mode, latency_ms in timed.items()
    )
