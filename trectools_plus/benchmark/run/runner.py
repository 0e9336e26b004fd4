"""``run_benchmark``: load data, prepare runs, score and compare them, make the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from trectools_plus.benchmark.analyses import (
    find_difficulty,
    find_near_misses,
    find_ontology,
    find_pool,
)
from trectools_plus.benchmark.compare.compare import (
    find_best,
    find_differences,
    find_groups,
    find_primary_of,
    find_unranked,
    is_best_significant,
    make_strata,
    refuse_different_queries,
    summarise,
)
from trectools_plus.benchmark.report import (
    BenchmarkReport,
    Manifest,
    ModeResult,
)
from trectools_plus.benchmark.report.diagnostics import (
    diagnose,
    find_diagnostics,
    find_failing,
    retrieval_notes,
)
from trectools_plus.benchmark.report.folder import ReportFolder
from trectools_plus.benchmark.report.model import hash_config, make_experiment_id, restore_findings
from trectools_plus.benchmark.report.verdict import add_result
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
from trectools_plus.blas import limited_blas_threads
from trectools_plus.display import Displayed, TextTable
from trectools_plus.errors import IncomparableError
from trectools_plus.formats.tables import Run, Topics
from trectools_plus.measures.evaluation import (
    JUDGED,
    Evaluation,
    notes_without_relevant,
    score_runs,
)
from trectools_plus.measures.judged import notes_on_judges
from trectools_plus.progress import Progress, no_progress
from trectools_plus.provenance import (
    Clock,
    describe_conditions,
    format_time,
    utc_now,
)
from trectools_plus.retrieval.backends.embedded.modes import models_used
from trectools_plus.retrieval.fetch.outcome import summarise_latency
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


class FigureOrigin(NamedTuple):
    """What a report states about where its figures come from.

    Attributes:
        experiment_id: The experiment.
        moment: The time in UTC.
        command: The command line without secrets, if any.
        contents: Hashes of the parts of the data.
        models: The local models of all modes, by role.
        cache_key: The key of the results; ``None`` if they cannot be reused.
    """

    experiment_id: str
    moment: datetime
    command: str | None
    contents: Mapping[str, str]
    models: Mapping[str, ModelRecord]
    cache_key: str | None = None


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
        dataset = load_dataset(config)
        progress("reading the data", 1, 1)
        contents = dataset.hash_contents()
        key = make_cache_key(config, contents)
        earlier = find_cached(key, folder.path) if cached and key is not None else None
        if earlier is not None:
            now = {"created_at": format_time(moment), "command": command}
            result = _reuse(earlier, dataset, folder, {"experiment_id": experiment_id, **now})
        else:
            modes = prepare_modes(config, dataset, folder, progress)
            models = _list_models(config)
            origin = FigureOrigin(experiment_id, moment, command, contents, models, key)
            result = compute_result(config, dataset, modes, folder, origin, progress)
        if strict_input:
            refuse_errors(_input_findings(result.report, config), strict_input=True)
    return result


def compute_result(
    config: BenchmarkConfig,
    dataset: Dataset,
    modes: Modes,
    folder: OutputFolder,
    origin: FigureOrigin,
    progress: Progress,
) -> BenchmarkResult:
    """Score the runs of all modes, compare them, and make the report.

    Args:
        config: The settings.
        dataset: The data.
        modes: The modes, whose runs are in the folder.
        folder: The output folder.
        origin: The origin of the figures.
        progress: Called as ``progress(description, done, total)``.

    Raises:
        IncomparableError: If the modes are averaged over different queries, or over none.
    """
    runs = {name: mode.run for name, mode in modes.scored.items()}
    measures = config.bind_measures(config.measure_names)
    evaluation = score_runs(dataset.judged, runs, measures, config.averaging, progress)
    progress("scoring", len(runs), len(runs))
    refuse_different_queries(evaluation)
    queries = len(evaluation.query_ids[next(iter(runs))])
    if not queries:
        raise IncomparableError(
            "nothing was found for any judged query, so missing=drop leaves no query",
            remedy="use missing=zero, which counts a query without results as 0",
        )
    progress("comparing", 0, 1)
    settings = config.as_manifest()
    manifest = Manifest(
        experiment_id=origin.experiment_id,
        **describe_conditions(origin.moment),
        dataset=dataset.describe(queries, origin.contents),
        config=settings,
        config_hash=hash_config(settings),
        index_snapshots={
            name: mode.index_key
            for name, mode in modes.scored.items()
            if mode.index_key is not None
        },
        models=dict(origin.models),
        blas_threads=limited_blas_threads() if config.runs is None else None,
        cache_key=origin.cache_key,
        seed=config.seed,
        command=origin.command,
    )
    report = _make_report(config, dataset, modes, evaluation, manifest)
    progress("comparing", 1, 1)
    latency = make_latency_table(dataset.topics, modes.scored)
    return BenchmarkResult(report, evaluation.per_query(), runs, folder, dataset, latency)


def _make_report(
    config: BenchmarkConfig,
    dataset: Dataset,
    modes: Modes,
    evaluation: Evaluation,
    manifest: Manifest,
) -> BenchmarkReport:
    """Compute every figure of a benchmark from its scores."""
    ontology = find_ontology(config, evaluation.measures)
    scored = modes.scored
    measures = summarise(evaluation, config.comparing, config.all_targets)
    diagnostics = find_diagnostics(config, dataset, scored, evaluation)
    results = {
        name: ModeResult(
            label=config.mode_names.get(name, name) if mode.given else config.label(name),
            status=mode.status,
            run=mode.info,
            measures=measures[name],
            latency_ms=None if mode.latency_ms is None else summarise_latency(mode.latency_ms),
            diagnostics=diagnostics[name],
        )
        for name, mode in scored.items()
    }
    primary = find_primary_of(manifest.config, evaluation)
    noun = "mode" if config.runs is None else "run"
    found = find_differences(config.comparing, evaluation, primary, noun)
    best = find_best(evaluation, config.baseline)
    runs = {name: mode.run for name, mode in scored.items()}
    has_nonrelevant = bool((dataset.qrels.frame["relevance"] <= 0).any())
    report = BenchmarkReport(
        manifest=manifest,
        primary_measure=primary,
        modes=results,
        unscored=modes.unscored,
        comparisons=found,
        best_mode=best,
        best_mode_significant=is_best_significant(best, found),
        unranked=find_unranked(evaluation),
        groups={} if config.baseline else find_groups(evaluation, found),
        strata={}
        if dataset.topics is None
        else make_strata(dataset.topics, evaluation, config.resampling),
        failing_queries=find_failing(
            dataset,
            runs,
            evaluation.per_query(primary),
            primary,
            next(iter(measures.values()))[primary].definition,
        ),
        near_misses=None
        if ontology is None
        else find_near_misses(dataset, runs, evaluation, ontology, primary),
        diagnosis=diagnose(results, found, primary, pooled=has_nonrelevant),
        pool=find_pool(
            dataset.qrels,
            runs,
            evaluation,
            primary,
            {name: one.diagnostics.judged.get(JUDGED) for name, one in results.items()},
            dataset.judged,
        ),
        difficulty=find_difficulty(evaluation, primary),
        notes=[
            *(f"{note[0].upper()}{note[1:]}." for note in notes_on_judges(dataset.qrels)),
            *retrieval_notes(config, dataset),
        ],
    )
    return add_result(report)


def _list_models(config: BenchmarkConfig) -> dict[str, ModelRecord]:
    """Return the local models of all modes, by role; with the mode if modes use several."""
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
