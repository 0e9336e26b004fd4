"""Run a benchmark: load data, prepare runs, score and compare them, make the report.

:func:`rebuild_result` does the same with the files beside a report. Original files and datasets are
read again if they are available and unchanged. What else only the writer of the report knows is
taken from it, and listed as unproven.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.benchmark.compare import (
    compare_modes,
    make_strata,
    refuse_different_queries,
    summarise,
)
from trectools_plus.benchmark.diagnostics import (
    diagnose,
    find_diagnostics,
    find_failing,
    retrieval_notes,
)
from trectools_plus.benchmark.report import (
    BenchmarkReport,
    Manifest,
    ModeResult,
    hash_config,
    make_experiment_id,
)
from trectools_plus.benchmark.report_folder import ReportFolder, StoredDocuments, read_report_topics
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.dataset import Dataset, load_dataset, name_dataset
from trectools_plus.benchmark.run.modes import (
    ModeRun,
    Modes,
    prepare_modes,
    read_mode_run,
    write_mode_run,
)
from trectools_plus.benchmark.run.output_folder import (
    DOCUMENTS_FILE,
    QRELS_FILE,
    REPORT_FILE,
    REPORT_FILES,
    RUNS_FOLDER,
    TOPICS_FILE,
    OutputFolder,
    claim_folder,
)
from trectools_plus.benchmark.verdict import add_result, find_primary
from trectools_plus.blas import limited_blas_threads
from trectools_plus.display import Displayed, Progress, TextTable, no_progress
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats.files.guards import is_unchanged
from trectools_plus.formats.tables import Run, Topics
from trectools_plus.measures.evaluation import Evaluation, notes_without_relevant, score_runs
from trectools_plus.measures.judged import has_nonrelevant, notes_on_judges
from trectools_plus.models import Clock, describe_conditions, package_versions, utc_now
from trectools_plus.plugins import without_user_code
from trectools_plus.retrieval.backends.modes import models_used
from trectools_plus.retrieval.index.models import SourceFile
from trectools_plus.retrieval.outcome import summarise_latency

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEFAULT_FOLDER = "results"


@dataclass(frozen=True, eq=False, repr=False)
class BenchmarkResult(Displayed):
    """The outcome of a benchmark.

    Attributes:
        report: The content of ``BenchmarkReport.json``.
        per_query: Columns ``run, query_id, measure, value``; undefined values are null.
        modes: What is in memory of the scored runs, by mode.
        dataset: The documents, topics and qrels.
        folder: The output folder. It holds the run files in a hidden folder until
            :func:`trectools_plus.reporting.files.write_reports` publishes all files together.
            They are deleted if the result is dropped before.
        latency: Columns ``run, query_id, latency_ms``, of fetched modes and the queries whose
            latency was measured; ``None`` without any.
    """

    report: BenchmarkReport
    per_query: pl.DataFrame
    modes: Mapping[str, ModeRun]
    folder: OutputFolder
    dataset: Dataset | None = None
    latency: pl.DataFrame | None = None

    @cached_property
    def runs(self) -> dict[str, Run]:
        """The scored runs by mode, read from the output folder when they are first used.

        Raises:
            InputError: If a file is missing or changed.
        """
        return {name: mode.read(self.folder) for name, mode in self.modes.items()}

    @property
    def output_dir(self) -> Path:
        """The output folder."""
        return self.folder.path

    def _content(self) -> TextTable:
        return self.report._content()

    def plot(self, measures: Sequence[str] | None = None) -> Figure:
        """Return the figure of the report; see :meth:`BenchmarkReport.plot`."""
        return self.report.plot(measures)


def run_benchmark(
    config: BenchmarkConfig,
    progress: Progress = no_progress,
    *,
    command: str | None = None,
    clock: Clock = utc_now,
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
    moment = clock()
    names = [*REPORT_FILES, *(f"{RUNS_FOLDER}/{name}.run" for name in config.mode_keys)]
    with opened_output(config, names, moment) as (folder, experiment_id):
        progress("reading the data", 0, 1)
        dataset = load_dataset(config)
        modes = prepare_modes(config, dataset, folder, progress)
        evaluation = score_modes(config, dataset, modes, folder, progress)
        manifest = make_manifest(config, dataset, modes, evaluation, moment)
        own = {"experiment_id": experiment_id, "command": command, "models": _list_models(config)}
        manifest = manifest.model_copy(update=own)
        return make_result(config, dataset, modes, evaluation, manifest, folder)


@contextmanager
def opened_output(
    config: BenchmarkConfig, names: Sequence[str], moment: datetime
) -> Iterator[tuple[OutputFolder, str]]:
    """Open the output folder, and discard it if the block fails; also return the experiment's id.

    Args:
        config: The settings; without an output folder, it is named after the experiment.
        names: The files that will be written, relative to the folder.
        moment: The time of the experiment.
    """
    experiment_id = make_experiment_id(moment, hash_config(config.as_manifest()))
    if config.output_dir is None:
        experiment_id, folder = claim_folder(Path(DEFAULT_FOLDER), experiment_id)
    else:
        folder = OutputFolder(config.output_dir)
    with folder.discarded_on_errors():
        inputs = [*(config.runs or {}).values(), config.qrels, config.topics, config.corpus]
        folder.plan(names, inputs)
        yield folder, experiment_id


def score_modes(
    config: BenchmarkConfig,
    dataset: Dataset,
    modes: Modes,
    folder: OutputFolder,
    progress: Progress,
) -> Evaluation:
    """Score the runs of all modes; they are read from the folder if a measure depends on ids.

    Raises:
        IncomparableError: If the modes are averaged over different queries, or over none.
    """
    measures = config.bind_measures(config.measure_names)
    sees_documents = any(measure.sees_documents for measure in measures)
    runs = {
        name: mode.read(folder) if sees_documents else mode.run
        for name, mode in modes.scored.items()
    }
    evaluation = score_runs(dataset.judged, runs, measures, config.averaging, progress)
    progress("scoring", len(runs), len(runs))
    refuse_different_queries(evaluation)
    return evaluation


def make_manifest(
    config: BenchmarkConfig,
    dataset: Dataset,
    modes: Modes,
    evaluation: Evaluation,
    moment: datetime,
) -> Manifest:
    """Describe data, settings, versions and machine; without command and models."""
    settings = config.as_manifest()
    config_hash = hash_config(settings)
    return Manifest(
        experiment_id=make_experiment_id(moment, config_hash),
        **describe_conditions(moment),
        dataset=dataset.describe(len(next(iter(evaluation.query_ids.values())))),
        config=settings,
        config_hash=config_hash,
        index_snapshots={
            name: mode.index_key
            for name, mode in modes.scored.items()
            if mode.index_key is not None
        },
        blas_threads=limited_blas_threads() if config.runs is None else None,
        seed=config.seed,
    )


def make_result(
    config: BenchmarkConfig,
    dataset: Dataset,
    modes: Modes,
    evaluation: Evaluation,
    manifest: Manifest,
    folder: OutputFolder,
) -> BenchmarkResult:
    """Compute every figure of a benchmark from its scores."""
    scored = modes.scored
    measures = summarise(evaluation, config.comparing, config.targets)
    diagnostics = find_diagnostics(config, dataset, scored, evaluation)
    results = {
        name: ModeResult(
            label=config.mode_names.get(name, name) if mode.given else config.label(name),
            status="ok" if mode.info.path else "empty",
            run=mode.info,
            measures=measures[name],
            latency_ms=None if mode.latency_ms is None else summarise_latency(mode.latency_ms),
            diagnostics=diagnostics[name],
        )
        for name, mode in scored.items()
    }
    names = {one.requested_name: one.name for one in evaluation.measures}
    primary, values = find_primary(manifest.config, names), evaluation.per_query()
    definition = next(iter(results.values())).measures[primary].definition
    report = BenchmarkReport(
        manifest=manifest,
        primary_measure=primary,
        modes=results,
        unscored=modes.unscored,
        **compare_modes(
            config.comparing, evaluation, primary, "mode" if config.runs is None else "run"
        )._asdict(),
        strata={}
        if dataset.topics is None
        else make_strata(dataset.topics, evaluation, config.comparing.options),
        failing_queries=find_failing(dataset, scored, values, primary, definition),
        diagnosis=diagnose(results, pooled=has_nonrelevant(dataset.judged)),
        notes=[
            *(f"{note[0].upper()}{note[1:]}." for note in notes_on_judges(dataset.judged)),
            *retrieval_notes(config, dataset),
        ],
    )
    return BenchmarkResult(
        add_result(report),
        values,
        scored,
        folder,
        dataset,
        make_latency_table(dataset.topics, scored),
    )


def _list_models(config: BenchmarkConfig) -> dict[str, SourceFile]:
    """Return the local models of all modes, by role; further ones of a role with their mode."""
    if config.runs is not None:
        return {}
    if config.is_embedded:
        return models_used(config.mode_keys, config.retrieval)
    backend, modes = config.make_backend(), config.mode_keys
    models: dict[str, SourceFile] = {}
    for mode in modes:
        for role, model in backend.models(mode, modes, config.retrieval).items():
            is_other = models.get(role, model) != model
            models[f"{role}-{mode}" if is_other else role] = model
    return models


def input_notes(report: BenchmarkReport) -> list[str]:
    """Return notes on queries without a relevant document."""
    without = next(iter(report.modes.values())).diagnostics.queries_without_relevant
    return notes_without_relevant(without, report.manifest.averaging)


def make_latency_table(topics: Topics | None, modes: Mapping[str, ModeRun]) -> pl.DataFrame | None:
    """Return the milliseconds per mode and timed query, in the order of the topics."""
    timed = {name: mode.latency_ms for name, mode in modes.items() if mode.latency_ms is not None}
    if topics is None or not timed:
        return None
    tables = (
        pl.DataFrame({"run": mode, "query_id": topics.query_ids, "latency_ms": latency_ms})
        for mode, latency_ms in timed.items()
    )
    return pl.concat(tables).filter(pl.col("latency_ms").is_not_nan())


_OF_WRITER = ("packages", "python", "platform", "blas_threads", "models", "command")
"""Fields of the manifest that only the writer knows; every rendering shows them as such."""


@dataclass(frozen=True, slots=True, eq=False)
class Rebuilt:
    """The result of a benchmark, made again.

    Attributes:
        result: The result; its output folder contains the run files and the judgments.
        unproven: Parts that were taken from the report, in words.
        problems: Inputs that are missing, a line each.
    """

    result: BenchmarkResult
    unproven: list[str]
    problems: list[str]


def _load_dataset(source: ReportFolder, unproven: dict[str, None]) -> Dataset:
    """Read the data from their source if they are unchanged, else from the folder."""
    config, info = source.config, source.report.manifest.dataset
    runs = (mode.run.path for mode in source.report.modes.values())
    for name in (QRELS_FILE, *filter(None, runs)):
        source.files.file(name)
    source.bind_measures(config.measure_names)
    if config.over_terms:
        source.find_term_files()
    original, reason = source.load_original()
    if original is not None:
        return original
    what = "texts of queries and documents, " if config.runs is None else ""
    unproven[f"{what}findings on the judgments and notes on the data ({reason})"] = None
    titles, documents = source.titles, info.documents
    return Dataset(
        id=name_dataset(config),
        corpus=None if documents is None else StoredDocuments(titles, count=documents),
        topics=read_report_topics(source),
        qrels=source.read_qrels(allow_changed=True),
        version=info.version,
        files=info.files,
        findings=info.findings,
        contents=info.contents,
    )


def _read_modes(
    source: ReportFolder,
    dataset: Dataset,
    folder: OutputFolder,
    unproven: dict[str, None],
    progress: Progress,
) -> Modes:
    """Read the runs of the folder, and write them to the output folder."""
    report, config, read = source.report, source.config, Modes({})
    measures = config.bind_measures(config.measure_names)
    for done, name in enumerate(config.mode_keys):
        progress("reading runs", done, len(config.mode_keys))
        path = (config.runs or {}).get(name)
        if name in report.unscored and name not in report.modes:
            label = {"label": config.label(name)}
            read.unscored[name] = report.unscored[name].model_copy(update=label)
        if name not in report.modes:
            continue
        reported = report.modes[name]
        origin, reason = reported.run.source, f"{path} is not available, or changed"
        if path is not None and config.exclude is not None and dataset.excluded is None:
            reason = "the documents to leave out are not available"
        elif path is not None and origin is not None and is_unchanged(path, [origin.sha256]):
            try:
                read.scored[name] = read_mode_run(name, path, dataset, folder)
                continue
            except TrectoolsPlusError as error:
                reason = str(error)
        # The run of the report is read and written again. Its ties are those of the report.
        run = source.read_run_at(reported.run.path, name)
        mode = write_mode_run(dataset, folder, run, measures)
        changes = {"ties": reported.run.ties, "source": None if path is None else origin}
        mode = replace(mode, info=mode.info.model_copy(update=changes))
        if path is not None:
            unproven[f"ties and findings of the run {name} ({reason})"] = None
            mode = replace(mode, findings=reported.diagnostics.findings, given=True)
        else:
            unproven["tied scores of fetched runs, and the settings of the search"] = None
            known = {*run.query_ids}
            mode = replace(
                mode,
                latency_ms=_read_latency(source, name, dataset.topics, unproven),
                index_key=report.manifest.index_snapshots.get(name),
                cut_short=[one for one in reported.diagnostics.cut_short or () if one in known],
            )
        read.scored[name] = mode
    progress("reading runs", len(config.mode_keys), len(config.mode_keys))
    return read


def _read_latency(
    source: ReportFolder, name: str, topics: Topics | None, unproven: dict[str, None]
) -> npt.NDArray[np.float64] | None:
    """Return a mode's latencies in the order of the topics."""
    timed = None if source.latency is None else source.latency.filter(run=name)
    if timed is None or topics is None or not timed.height:
        return None
    unproven["latencies"] = None
    ids = topics.frame.select("query_id")
    values = ids.join(timed, on="query_id", how="left", maintain_order="left")["latency_ms"]
    return values.fill_null(np.nan).to_numpy()


def rebuild_result(
    source: ReportFolder, output_dir: str | Path, progress: Progress = no_progress
) -> Rebuilt:
    """Make the result of a benchmark again.

    Args:
        source: The report with the files beside it.
        output_dir: The output folder of the new result.
        progress: Called as ``progress(description, done, total)``.

    Raises:
        InputError: If a run or the judgments are missing or cannot be read.
    """
    stored = source.report.manifest
    unproven = dict.fromkeys(("date", "command", "machine", "package versions"))
    try:
        moment = datetime.fromisoformat(stored.created_at)
    except ValueError:
        moment = datetime.fromtimestamp(0, UTC)
    folder = OutputFolder(output_dir)
    with folder.discarded_on_errors(), without_user_code():
        progress("reading the data", 0, 1)
        config, dataset = source.config, _load_dataset(source, unproven)
        modes = _read_modes(source, dataset, folder, unproven, progress)
        evaluation = score_modes(config, dataset, modes, folder, progress)
        manifest = make_manifest(config, dataset, modes, evaluation, moment)
        # What only the writer knows.
        changes = {name: getattr(stored, name) for name in _OF_WRITER}
        if re.fullmatch(rf"{manifest.experiment_id}(-\d+)?", stored.experiment_id):
            changes["experiment_id"] = stored.experiment_id
        manifest = manifest.model_copy(update=changes)
        result = make_result(config, dataset, modes, evaluation, manifest, folder)
    corpus = None if source.files.find(DOCUMENTS_FILE) is None else dataset.corpus
    known = {*source.report.modes, *source.report.unscored}
    problems = [
        f"{REPORT_FILE}: the mode {name} of the configuration is missing"
        for name in config.mode_keys
        if name not in known
    ]
    if dataset.topics is None and "topics" in stored.dataset.contents:
        problems.append(f"{TOPICS_FILE}: the queries are missing, or changed")
    rebuilt = replace(result, dataset=replace(dataset, corpus=corpus))
    return Rebuilt(rebuilt, [*unproven], problems)


def find_other_version(packages: Mapping[str, str]) -> str | None:
    """Return why a report is not verified: another version of this package wrote it.

    Args:
        packages: The versions in its manifest.
    """
    name = "trectools-plus"
    writer, running = packages.get(name), package_versions([name])[name]
    if writer == running:
        return None
    return f"written by version {str(writer)[:40]!r}: verify with that version (this is {running})"
