"""Run the benchmark of a report again, on the files beside the report.

Original files and datasets are read again if they are available and unchanged. Everything else is
taken from the report, and listed as unproven.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.benchmark.report import (
    BenchmarkReport,
    ComponentResult,
    DatasetInfo,
    FailingQuery,
    Manifest,
    ModeResult,
    NearMiss,
    RunFile,
)
from trectools_plus.benchmark.report.folder import ReportFolder, StoredDocuments, read_report_topics
from trectools_plus.benchmark.report.parts import hash_config, make_experiment_id
from trectools_plus.benchmark.run.dataset import (
    Dataset,
    hash_qrels,
    hash_query_fields,
    name_dataset,
)
from trectools_plus.benchmark.run.modes import ModeRun, Modes, read_mode_run, write_mode_run
from trectools_plus.benchmark.run.output_folder import (
    COMPONENTS_FOLDER,
    DOCUMENTS_FILE,
    QRELS_FILE,
    RUNS_FOLDER,
    OutputFolder,
)
from trectools_plus.benchmark.run.runner import BenchmarkInputs, BenchmarkResult, run_on_inputs
from trectools_plus.errors import InputError, TrectoolsPlusError
from trectools_plus.formats.files.closed import is_unchanged
from trectools_plus.formats.tables import Run, Topics
from trectools_plus.formats.trec_files import write_qrels
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.evaluation import Evaluation, accept_unjudged
from trectools_plus.measures.providers.stored import StoredMeasure
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.progress import Progress, no_progress
from trectools_plus.provenance import format_time, package_versions
from trectools_plus.retrieval.backends.embedded.modes import (
    kind_of,
    merged_modes,
    model_of,
    puts_exact_first,
)
from trectools_plus.retrieval.backends.registry import BACKENDS
from trectools_plus.retrieval.fetch.topics import hash_topics
from trectools_plus.retrieval.index.models import ModelRecord
from trectools_plus.statistics.method import REPLACEMENTS

_MOST_DOCUMENTS = 1_000_000
"""Larger collections are not read again."""
_ALWAYS_UNPROVEN = ("date", "command", "machine", "package versions")
_Entry = TypeVar("_Entry", FailingQuery, NearMiss)


@dataclass(frozen=True, slots=True, eq=False)
class Rebuilt:
    """The result of a benchmark, made again.

    Attributes:
        result: The result; its output folder contains the run files and the judgments.
        unproven: Parts that were taken from the report, in words.
        texts_known: False if the texts of the queries are needed but not available.
    """

    result: BenchmarkResult
    unproven: list[str]
    texts_known: bool


class _StoredInputs(BenchmarkInputs):
    """The data and the runs of a benchmark, from the folder of its report.

    Args:
        source: The report with the files beside it.
        output_dir: The output folder.

    Attributes:
        is_original: True if the data were read again from their source.
        unproven: Parts that were taken from the report.
    """

    def __init__(self, source: ReportFolder, output_dir: str | Path) -> None:
        self.source = source
        self.is_original = False
        self.unproven: dict[str, None] = {}
        config = source.report.manifest.config
        for method in (config.get("test"), config.get("correction")):
            if method in REPLACEMENTS:
                raise InputError(
                    f"this version has no {method}, with which the report was made",
                    where=str(source.path),
                    remedy="use the version of trectools-plus that wrote the report",
                )
        super().__init__(source.config.model_copy(update={"output_dir": str(output_dir)}))

    def cache_key(self, contents: dict[str, str]) -> None:
        """Return nothing: the results are computed again, and are not reused."""

    def load_dataset(self) -> Dataset:
        """Read the data from their source if they are unchanged, else from the folder."""
        source = self.source
        info = source.report.manifest.dataset
        source.refuse_missing_files()
        original, reason = _load_original(source)
        if original is not None:
            self.is_original = True
            return original
        what = "texts of queries and documents, " if self.config.runs is None else ""
        what += "findings on the judgments and notes on the data"
        self.unproven[f"{what} ({reason})"] = None
        return Dataset(
            id=name_dataset(self.config),
            corpus=None
            if info.documents is None
            else StoredDocuments(source.titles, info.documents),
            topics=read_report_topics(source),
            qrels=source.read_qrels(allow_changed=True),
            version=info.version,
            files=info.files,
            findings=info.findings,
        )

    def prepare_modes(self, dataset: Dataset, folder: OutputFolder, progress: Progress) -> Modes:
        """Read the runs of the folder."""
        write_qrels(dataset.qrels, folder.partial / QRELS_FILE)
        report = self.source.report
        names = [name for name in self.source.config.mode_keys if self._has_run(name)]
        modes = {}
        for done, name in enumerate(names):
            progress("reading runs", done, len(names))
            modes[name] = self._read_mode(name, dataset, folder)
        progress("reading runs", len(names), len(names))
        if any(mode.latency_ms is not None for mode in modes.values()):
            self.unproven["latencies"] = None
        unscored = {
            name: report.unscored[name].model_copy(update={"label": self.config.label(name)})
            for name in self.source.config.mode_keys
            if name in report.unscored
        }
        return Modes(modes, unscored)

    def score(
        self, dataset: Dataset, modes: Mapping[str, ModeRun], progress: Progress
    ) -> Evaluation:
        """Score every mode; the values of measures that are not computed are those stored."""
        evaluation = super().score(dataset, modes, progress)
        for column, measure in enumerate(evaluation.measures):
            if not isinstance(measure, StoredMeasure):
                continue
            table = self.source.per_query
            if table is None:
                raise InputError("the values per query are missing", where=str(self.source.path))
            name = measure.requested_name
            self.unproven[f"the values per query of {name}, which were not computed again"] = None
            for run, values in evaluation.tables.items():
                stored = table.filter(run=run, measure=name)
                known = dict(
                    zip(stored["query_id"], stored["value"].fill_null(np.nan), strict=True)
                )
                ids = evaluation.query_ids[run]
                values[:, column] = [known.get(query_id, np.nan) for query_id in ids]
        return evaluation

    def describe_settings(self) -> dict[str, object]:
        """Return the settings; a backend of another package may have those for documents too."""
        settings = self.source.config.as_manifest()
        if self.source.config.backend in BACKENDS:
            return settings
        claimed = self.source.report.manifest.config
        settings |= {"retrieval": claimed["retrieval"]} if "retrieval" in claimed else {}
        return {key: settings[key] for key in (*claimed, *settings) if key in settings}

    def list_models(self) -> dict[str, ModelRecord]:
        """Return no models: nothing is searched again."""
        return {}

    def find_ontology(self, measures: Sequence[Measure]) -> Ontology | None:
        """Return the ontology of the documents; ``None`` if it is not available."""
        return None if self.source.terms is None else super().find_ontology(measures)

    def knows_texts(self, dataset: Dataset) -> bool:
        """Return false if the texts of the queries are needed but not available."""
        contents = self.source.report.manifest.dataset.contents
        return dataset.topics is not None or "topics" not in contents

    def _has_run(self, name: str) -> bool:
        report = self.source.report
        return name in report.modes or (
            name not in report.unscored and _has_file(self.source, f"{RUNS_FOLDER}/{name}.run")
        )

    def _read_mode(self, name: str, dataset: Dataset, folder: OutputFolder) -> ModeRun:
        reported = self.source.report.modes.get(name)
        path = (self.source.config.runs or {}).get(name)
        if path is not None:
            return self._read_given((name, path), reported, dataset, folder)
        self.unproven["tied scores of fetched runs, and the settings of the search"] = None
        mode = self._rewrite(name, None if reported is None else reported.run, dataset, folder)
        # A run that was scored against topics has further findings.
        if reported is not None and not self.knows_texts(dataset):
            mode = replace(mode, findings=reported.diagnostics.findings)
        return replace(
            mode,
            latency_ms=self._read_latency(name, dataset.topics),
            index_key=self.source.report.manifest.index_snapshots.get(name),
            without={
                component: self._rewrite(
                    f"{name}-without-{component}", info, dataset, folder, COMPONENTS_FOLDER
                )
                for component, info in self._list_components(name).items()
            },
            cut_short=_known_queries(reported, mode.run),
        )

    def _read_given(
        self,
        given: tuple[str, str],
        reported: ModeResult | None,
        dataset: Dataset,
        folder: OutputFolder,
    ) -> ModeRun:
        """Read a given run again, or its copy in the folder if the original changed."""
        name, path = given
        info = None if reported is None else reported.run
        origin = None if info is None else info.source
        if origin is None or not is_unchanged(path, [origin.sha256]):
            reason = f"{path} is not available, or changed"
        elif not self.knows_texts(dataset):
            reason = "the topics are not available"
        elif self.config.exclude is not None and dataset.excluded is None:
            reason = "the documents to leave out are not available"
        else:
            try:
                return read_mode_run(name, path, dataset, folder)
            except TrectoolsPlusError as error:
                reason = str(error)
        self.unproven[f"ties and findings of the run {name} ({reason})"] = None
        mode = replace(self._rewrite(name, info, dataset, folder), given=True)
        if reported is None:
            return mode
        kept = mode.info.model_copy(update={"source": origin})
        return replace(mode, info=kept, findings=reported.diagnostics.findings)

    def _rewrite(
        self,
        name: str,
        info: RunFile | None,
        dataset: Dataset,
        folder: OutputFolder,
        subfolder: str = RUNS_FOLDER,
    ) -> ModeRun:
        """Read a run of the report and write it again. Its ties are those of the report."""
        source, place = self.source, f"{subfolder}/{name}.run"
        exists = _has_file(source, place) or (info is not None and info.path)
        run = source.read_run_at(place if exists else None, name)
        accepts = accept_unjudged(source.config.bind_measures(source.config.measure_names))
        mode = write_mode_run(dataset, folder, run, subfolder, accepts_unjudged=accepts)
        if info is None:
            return mode
        counted = {
            cutoff: info.ties.straddling.get(cutoff, 0) for cutoff in mode.info.ties.straddling
        }
        ties = info.ties.model_copy(update={"straddling": counted})
        return replace(mode, info=mode.info.model_copy(update={"ties": ties}))

    def _read_latency(self, name: str, topics: Topics | None) -> npt.NDArray[np.float64] | None:
        """Return a mode's latencies in the order of the topics, or of the table without topics."""
        latency = self.source.latency
        timed = None if latency is None else latency.filter(run=name)
        if timed is None or not timed.height:
            return None
        values = timed.select("query_id", pl.col("latency_ms").cast(pl.Float64).fill_null(np.nan))
        if topics is not None:
            ids = topics.frame.select("query_id")
            values = ids.join(values, on="query_id", how="left", maintain_order="left")
        return values["latency_ms"].fill_null(np.nan).to_numpy()

    def _list_components(self, mode: str) -> dict[str, RunFile | None]:
        """List the components of a fusion by report, configuration and files."""
        found: dict[str, RunFile | None] = {
            one.component: one.run for one in self.source.report.components if one.mode == mode
        }
        config = self.source.config
        is_fusion = kind_of(mode) == "hybrid" and not puts_exact_first(mode)
        if config.is_embedded and is_fusion:
            named = merged_modes(config.mode_keys, config.retrieval, model_of(mode)).values()
            # Without one of two components, the other is left: a mode, or an entry of the report.
            # Of more components, those without which a fusion equals a mode have no entry.
            modes = {*config.mode_keys}
            found = {
                name: found.get(name)
                for name in named
                if name in found
                or (len(named) == 2 and not {*named} - {name} <= modes)
                or _has_file(self.source, f"{COMPONENTS_FOLDER}/{mode}-without-{name}.run")
            }
        return found


def _known_queries(reported: ModeResult | None, run: Run) -> list[str]:
    """Return the queries of a run for which the search found more than it returned."""
    cut_short = [] if reported is None else reported.diagnostics.cut_short or []
    known = {*run.query_ids}
    return [query_id for query_id in cut_short if query_id in known]


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
    with source.closed():
        inputs = _StoredInputs(source, output_dir)
        result = run_on_inputs(inputs, progress)
    dataset = result.dataset
    assert dataset is not None
    texts_known = inputs.knows_texts(dataset)
    if not texts_known:
        inputs.unproven["texts and groups of the queries"] = None
    shows_titles = _has_file(source, DOCUMENTS_FILE)
    rebuilt = replace(
        result,
        report=_restore_report(inputs, result.report, dataset),
        dataset=replace(dataset, corpus=dataset.corpus if shows_titles else None),
        latency=result.latency if texts_known else source.latency,
    )
    return Rebuilt(rebuilt, [*_ALWAYS_UNPROVEN, *inputs.unproven], texts_known)


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


def _add_texts(report: BenchmarkReport, old: BenchmarkReport) -> BenchmarkReport:
    """Add the texts of queries of an earlier report where the topics are not available."""
    described = [*old.failing_queries, *(old.near_misses or ())]
    texts = {query.query_id: query.text for query in described}
    changes = {
        "failing_queries": [_add_text(query, texts) for query in report.failing_queries],
        "near_misses": report.near_misses and [_add_text(one, texts) for one in report.near_misses],
    }
    return report.model_copy(update=changes)


def _add_text(query: _Entry, texts: dict[str, str | None]) -> _Entry:
    return query.model_copy(update={"text": query.text or texts.get(query.query_id)})


def _has_file(source: ReportFolder, name: str) -> bool:
    return source.files.find(name) is not None


def _load_original(source: ReportFolder) -> tuple[Dataset | None, str]:
    """Load the data from their source; if it is not available or changed, return the reason."""
    info, config = source.report.manifest.dataset, source.config
    if config.runs is None and (info.documents or 0) > _MOST_DOCUMENTS:
        return None, "the collection is too large to read it again"
    dataset, reason = source.load_original()
    if dataset is None:
        return None, reason
    # The installed ontology can have another version; everything else is identified by hashes.
    installed = config.dataset == "hpo" and config.ontology is None
    changed = dataset.version != info.version and dataset.hash_contents() != info.contents
    if installed and changed:
        return None, f"the available data are {dataset.version}"
    return dataset, ""


def _restore_report(
    inputs: _StoredInputs, made: BenchmarkReport, dataset: Dataset
) -> BenchmarkReport:
    """Take from the report what cannot be made again."""
    old = inputs.source.report
    report = made.model_copy(update={"manifest": _restore_manifest(inputs, made, dataset)})
    if inputs.source.terms is None:
        inputs.unproven["near misses, without the ontology"] = None
        report = report.model_copy(update={"near_misses": old.near_misses})
    report = report.model_copy(update={"components": _restore_components(inputs, report)})
    if not inputs.knows_texts(dataset):
        report = _add_texts(report, old).model_copy(update={"strata": old.strata})
    return report


def _restore_components(inputs: _StoredInputs, made: BenchmarkReport) -> list[ComponentResult]:
    """Return the components; of measures that are not computed, with the figures of the report."""
    names = {one.requested_name for one in inputs.source.stored_measures.values()}
    old = {(one.mode, one.component): one.measures for one in inputs.source.report.components}
    restored = []
    for component in made.components:
        stored = old.get((component.mode, component.component), {})
        measures = {
            name: stored.get(name, figures) if name in names else figures
            for name, figures in component.measures.items()
        }
        restored.append(component.model_copy(update={"measures": measures}))
    return restored


def _restore_manifest(inputs: _StoredInputs, made: BenchmarkReport, dataset: Dataset) -> Manifest:
    """Return the manifest; date, command, machine, versions and models are those of the report."""
    old = inputs.source.report.manifest
    try:
        moment = datetime.fromisoformat(old.created_at)
    except ValueError:
        moment = datetime.fromtimestamp(0, UTC)
    settings = inputs.describe_settings()
    experiment_id = make_experiment_id(moment, hash_config(settings))
    if re.fullmatch(rf"{experiment_id}(-\d+)?", old.experiment_id):
        experiment_id = old.experiment_id
    queries = made.manifest.dataset.queries
    claimed = (
        *("command", "packages", "python", "platform", "blas_threads", "models"),
        *("cache_key", "cached_from", "other_reports"),
    )
    changes = {name: getattr(old, name) for name in claimed} | {
        "created_at": format_time(moment),
        "experiment_id": experiment_id,
        "config": settings,
        "config_hash": hash_config(settings),
    }
    if not inputs.is_original:
        changes["dataset"] = _describe_stored(old.dataset, dataset, queries)
    return made.manifest.model_copy(update=changes)


def _describe_stored(old: DatasetInfo, dataset: Dataset, queries: int) -> DatasetInfo:
    """Describe data that cannot be read from their source: the hashes of the stored parts."""
    known = {"qrels": hash_qrels(dataset.qrels)}
    if dataset.topics is not None:
        fields = hash_query_fields(dataset.topics)
        known |= {"topics": hash_topics(dataset.topics), "query_fields": fields or ""}
    contents = {kind: known.get(kind, digest) for kind, digest in old.contents.items()}
    described = dataset.describe(queries, contents)
    return described.model_copy(update={"documents": old.documents})
