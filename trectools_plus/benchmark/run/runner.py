"""``run_benchmark``: load data, prepare runs, score and compare them, make the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from trectools_plus.benchmark.compare.compare import (
    compare_modes,
    find_primary_of,
    make_strata,
    refuse_different_queries,
    summarise,
)
from trectools_plus.benchmark.report.diagnostics import (
    diagnose,
    find_diagnostics,
    find_failing,
    retrieval_notes,
)
from trectools_plus.benchmark.report.model import (
    BenchmarkReport,
    Manifest,
    ModeResult,
    hash_config,
    make_experiment_id,
)
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
from trectools_plus.blas import limited_blas_threads
from trectools_plus.display import Displayed, Progress, TextTable, no_progress
from trectools_plus.formats.tables import Run, Topics
from trectools_plus.measures.evaluation import (
    Evaluation,
    notes_without_relevant,
    score_runs,
)
from trectools_plus.measures.judged import has_nonrelevant, notes_on_judges
from trectools_plus.models import (
    Clock,
    describe_conditions,
    utc_now,
)
from trectools_plus.retrieval.backends.modes import models_used
from trectools_plus.retrieval.index.models import ModelRecord
from trectools_plus.retrieval.outcome import summarise_latency

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
        evaluation = score_modes(config, dataset, modes, progress)
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
    config: BenchmarkConfig, dataset: Dataset, modes: Modes, progress: Progress
) -> Evaluation:
    """Score the runs of all modes.

    Raises:
        IncomparableError: If the modes are averaged over different queries, or over none.
    """
    runs = {name: mode.run for name, mode in modes.scored.items()}
    measures = config.bind_measures(config.measure_names)
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
    queries = len(next(iter(evaluation.query_ids.values())))
    keys = {name: mode.index_key for name, mode in modes.scored.items()}
    return Manifest(
        experiment_id=make_experiment_id(moment, config_hash),
        **describe_conditions(moment),
        dataset=dataset.describe(queries),
        config=settings,
        config_hash=config_hash,
        index_snapshots={name: key for name, key in keys.items() if key is not None},
        blas_threads=limited_blas_threads() if config.runs is None else None,
        seed=config.seed,
        command=None,
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
            status=mode.status,
            run=mode.info,
            measures=measures[name],
            latency_ms=None if mode.latency_ms is None else summarise_latency(mode.latency_ms),
            diagnostics=diagnostics[name],
        )
        for name, mode in scored.items()
    }
    primary, values = find_primary_of(manifest.config, evaluation), evaluation.per_query()
    definition = next(iter(results.values())).measures[primary].definition
    noun = "mode" if config.runs is None else "run"
    runs = {name: mode.run for name, mode in scored.items()}
    pooled = has_nonrelevant(dataset.qrels)
    compared = compare_modes(config.comparing, evaluation, primary, noun)
    report = BenchmarkReport(
        manifest=manifest,
        primary_measure=primary,
        modes=results,
        unscored=modes.unscored,
        **compared._asdict(),
        strata={}
        if dataset.topics is None
        else make_strata(dataset.topics, evaluation, config.comparing.options),
        failing_queries=find_failing(dataset, runs, values, primary, definition),
        diagnosis=diagnose(results, pooled=pooled),
        notes=[
            *(f"{note[0].upper()}{note[1:]}." for note in notes_on_judges(dataset.qrels)),
            *retrieval_notes(config, dataset),
        ],
    )
    latency = make_latency_table(dataset.topics, scored)
    return BenchmarkResult(add_result(report), values, runs, folder, dataset, latency)


def _list_models(config: BenchmarkConfig) -> dict[str, ModelRecord]:
    """Return the local models of all modes, by role; further ones of a role with their mode."""
    if config.runs is not None:
        return {}
    if config.is_embedded:
        return models_used(config.mode_keys, config.retrieval)
    backend, modes = config.make_backend(), config.mode_keys
    models: dict[str, ModelRecord] = {}
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
    query_ids = topics.query_ids
    return pl.concat(
        pl.DataFrame(
            {"run": [mode] * len(query_ids), "query_id": query_ids, "latency_ms": latency_ms},
            schema=LATENCY_SCHEMA,
        ).filter(pl.col("latency_ms").is_not_nan())
        for mode, latency_ms in timed.items()
    )
