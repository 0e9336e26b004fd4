"""``run_benchmark``: load data, prepare runs, score and compare them, make the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from trectools_plus.benchmark.analyses import find_ontology
from trectools_plus.benchmark.compare.compare import refuse_different_queries
from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report.folder import ReportFolder
from trectools_plus.benchmark.report.parts import hash_config, make_experiment_id, restore_findings
from trectools_plus.benchmark.run.assemble import make_manifest, make_report
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.dataset import Dataset, load_dataset
from trectools_plus.benchmark.run.modes import ModeRun, Modes, prepare_modes
from trectools_plus.benchmark.run.output_folder import (
    REPORT_FILES,
    RUNS_FOLDER,
    OutputFolder,
    claim_folder,
)
from trectools_plus.benchmark.run.reuse import copy_files, find_cached, make_cache_key
from trectools_plus.display import Displayed, TextTable
from trectools_plus.errors import IncomparableError
from trectools_plus.formats.tables import Run, Topics
from trectools_plus.measures.evaluation import Evaluation, notes_without_relevant, score_runs
from trectools_plus.progress import Progress, no_progress
from trectools_plus.provenance import (
    Clock,
    format_time,
    utc_now,
)
from trectools_plus.retrieval.backends.embedded.modes import models_used
from trectools_plus.retrieval.index.models import ModelRecord
from trectools_plus.retrieval.source import BackendRequest
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

    def _content(self) -> TextTable:
        return self.report._content()

    def plot(self, measures: Sequence[str] | None = None) -> Figure:
        """Return the figure of the report; see :meth:`BenchmarkReport.plot`."""
        return self.report.plot(measures)


class BenchmarkInputs:
    """The data and the runs of a benchmark, read or fetched as its configuration says.

    Args:
        config: The settings.
    """

    def __init__(self, config: BenchmarkConfig) -> None:
        self.config = config

    def load_dataset(self) -> Dataset:
        """Read the data; see :func:`~trectools_plus.benchmark.run.dataset.load_dataset`."""
        return load_dataset(self.config)

    def cache_key(self, contents: Mapping[str, str]) -> str | None:
        """Return the key of the results; see
        :func:`~trectools_plus.benchmark.run.reuse.make_cache_key`."""
        return make_cache_key(self.config, contents)

    def prepare_modes(self, dataset: Dataset, folder: OutputFolder, progress: Progress) -> Modes:
        """Write the run of each mode to the folder; see
        :func:`~trectools_plus.benchmark.run.modes.prepare_modes`."""
        return prepare_modes(self.config, dataset, folder, progress)

    def score(
        self, dataset: Dataset, modes: Mapping[str, ModeRun], progress: Progress
    ) -> Evaluation:
        """Score every mode with every measure.

        Raises:
            IncomparableError: If the modes are averaged over different queries, or over none.
        """
        runs, config = {name: mode.run for name, mode in modes.items()}, self.config
        measures = config.bind_measures(config.measure_names)
        evaluation = score_runs(dataset.judged, runs, measures, config.averaging, progress)
        progress("scoring", len(runs), len(runs))
        refuse_different_queries(evaluation)
        if not evaluation.query_ids[next(iter(runs))]:
            raise IncomparableError(
                "nothing was found for any judged query, so missing=drop leaves no query",
                remedy="use missing=zero, which counts a query without results as 0",
            )
        return evaluation

    def list_models(self) -> dict[str, ModelRecord]:
        """Return the local models of all modes, by role; with the mode if modes use several."""
        config = self.config
        if config.runs is not None:
            return {}
        if config.is_embedded:
            return models_used(config.mode_keys, config.retrieval)
        backend, request = config.make_backend(), BackendRequest(None, config.mode_keys)
        by_mode = {mode: backend.models(mode, request) for mode in config.mode_keys}
        models = [(role, mode, one) for mode in by_mode for role, one in by_mode[mode].items()]
        found = {role: model for role, _, model in models}
        if all(found[role] == model for role, _, model in models):
            return found
        return {f"{role}-{mode}": model for role, mode, model in models}


def run_benchmark(
    config: BenchmarkConfig,
    progress: Progress = no_progress,
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
        progress: Called as ``progress(description, done, total)``.
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
    inputs = BenchmarkInputs(config)
    return run_on_inputs(inputs, progress, command, clock, cached=cached, strict_input=strict_input)


def run_on_inputs(
    inputs: BenchmarkInputs,
    progress: Progress,
    command: str | None,
    clock: Clock,
    *,
    cached: bool = False,
    strict_input: bool = False,
) -> BenchmarkResult:
    """Do the same as :func:`run_benchmark` with other data and runs, for example those of a report.

    Args:
        inputs: The data and the runs.
        progress: Called as ``progress(description, done, total)``.
        command: As for :func:`run_benchmark`, as the following arguments.
        clock: Returns the time in UTC.
        cached: Reuse earlier results.
        strict_input: Refuse every error.

    Raises:
        TrectoolsPlusError: As :func:`run_benchmark`.
    """
    config = inputs.config
    moment = clock()
    experiment_id = make_experiment_id(moment, hash_config(config.as_manifest()))
    if config.output_dir is None:
        experiment_id, folder = claim_folder(Path(DEFAULT_FOLDER), experiment_id)
    else:
        folder = OutputFolder(config.output_dir)
    with folder.discarded_on_errors():
        names = [*REPORT_FILES, *(f"{RUNS_FOLDER}/{name}.run" for name in config.mode_keys)]
        given = [*(config.runs or {}).values(), config.qrels, config.topics, config.corpus]
        folder.plan(names, given)
        progress("reading the data", 0, 1)
        dataset = inputs.load_dataset()
        progress("reading the data", 1, 1)
        contents = dataset.hash_contents(progress)
        key = inputs.cache_key(contents)
        earlier = find_cached(key, folder.path) if cached and key is not None else None
        if earlier is not None:
            if strict_input:
                refuse_errors(_input_findings(earlier.report, config), strict_input=True)
            now = {"created_at": format_time(moment), "command": command}
            return _reuse(earlier, dataset, folder, {"experiment_id": experiment_id, **now})
        modes = inputs.prepare_modes(dataset, folder, progress)
        scored = modes.scored
        evaluation = inputs.score(dataset, scored, progress)
        progress("comparing", 0, 1)
        described = dataset.describe(len(evaluation.query_ids[next(iter(scored))]), contents)
        manifest = make_manifest(
            config, moment, experiment_id, described, scored, command
        ).model_copy(update={"models": inputs.list_models(), "cache_key": key})
        ontology = find_ontology(config, evaluation.measures)
        report = make_report(config, dataset, modes, evaluation, manifest, ontology)
        folder.keep_components([one.run.path or "" for one in report.components])
        if strict_input:
            refuse_errors(_input_findings(report, config), strict_input=True)
        progress("comparing", 1, 1)
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
    report, per_query = source.report, source.per_query
    assert per_query is not None
    copy_files(source, folder)
    origin = report.manifest.cached_from or report.manifest.experiment_id
    manifest = report.manifest.model_copy(update={**changes, "cached_from": origin})
    runs = {mode: source.read_run(mode) for mode in report.modes}
    report = report.model_copy(update={"manifest": manifest})
    return BenchmarkResult(report, per_query, runs, folder, dataset, source.latency)


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
