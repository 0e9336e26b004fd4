"""Run the benchmark of a report again, on the files beside the report.

Original files and datasets are read again if they are available and unchanged. What else only the
writer of the report knows is taken from it, and listed as unproven.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt

from trectools_plus.benchmark.report import BenchmarkReport, ModeResult, RunFile
from trectools_plus.benchmark.report.folder import (
    ReportFolder,
    StoredDocuments,
    read_report_topics,
    refuse_changed,
)
from trectools_plus.benchmark.run.dataset import Dataset, name_dataset
from trectools_plus.benchmark.run.modes import ModeRun, Modes, read_mode_run, write_mode_run
from trectools_plus.benchmark.run.output_folder import (
    COMPONENTS_FOLDER,
    DOCUMENTS_FILE,
    QRELS_FILE,
    RUNS_FOLDER,
    TOPICS_FILE,
    OutputFolder,
)
from trectools_plus.benchmark.run.runner import BenchmarkInputs, BenchmarkResult, run_on_inputs
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats.files.closed import is_unchanged
from trectools_plus.formats.tables import Topics
from trectools_plus.formats.trec_files import write_qrels
from trectools_plus.measures.scoring.scores import accept_unjudged
from trectools_plus.plugins import without_user_code
from trectools_plus.progress import Progress, no_progress
from trectools_plus.provenance import package_versions
from trectools_plus.retrieval.backends.embedded.modes import (
    kind_of,
    merged_modes,
    model_of,
    puts_exact_first,
)
from trectools_plus.retrieval.index.models import ModelRecord

_MOST_DOCUMENTS = 1_000_000
"""Larger collections are not read again."""
_ALWAYS_UNPROVEN = ("date", "command", "machine", "package versions")
_OF_WRITER = (
    *("packages", "python", "platform", "blas_threads", "models"),
    *("cache_key", "cached_from"),
)
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


@dataclass(frozen=True, eq=False)
class _StoredDataset(Dataset):
    """Data whose source is not available.

    Attributes:
        contents: The hashes in the report, of which those of the stored parts are not used.
    """

    contents: Mapping[str, str] = field(default_factory=dict)

    def hash_contents(self, progress: Progress = no_progress) -> dict[str, str]:
        known = {kind: sha256 for kind, sha256 in super().hash_contents(progress).items() if sha256}
        return {**self.contents, **known}


class _StoredInputs(BenchmarkInputs):
    """The data and the runs of a benchmark, from the folder of its report.

    Args:
        source: The report with the files beside it.
        output_dir: The output folder.

    Attributes:
        unproven: Parts that were taken from the report.
    """

    def __init__(self, source: ReportFolder, output_dir: str | Path) -> None:
        self.source = source
        self.unproven = dict.fromkeys(_ALWAYS_UNPROVEN)
        super().__init__(source.config.model_copy(update={"output_dir": str(output_dir)}))

    def cache_key(self, contents: Mapping[str, str]) -> None:
        """Return nothing: the results are computed again, and are not reused."""

    def load_dataset(self) -> Dataset:
        """Read the data from their source if they are unchanged, else from the folder."""
        source, info = self.source, self.source.report.manifest.dataset
        for name in (QRELS_FILE, *(run.path for run in source.report.runs if run.path)):
            source.files.file(name)
        source.bind_measures(self.config.measure_names)
        if self.config.over_terms:
            files = (self.config.ontology, self.config.annotations)
            refuse_changed(files, source.originals.values(), source.path)
        original, reason = self._load_original()
        if original is not None:
            return original
        what = "texts of queries and documents, " if self.config.runs is None else ""
        self.unproven[f"{what}findings on the judgments and notes on the data ({reason})"] = None
        documents = info.documents
        return _StoredDataset(
            id=name_dataset(self.config),
            corpus=None if documents is None else StoredDocuments(source.titles, documents),
            topics=read_report_topics(source),
            qrels=source.read_qrels(allow_changed=True),
            version=info.version,
            files=info.files,
            findings=info.findings,
            contents=info.contents,
        )

    def _load_original(self) -> tuple[Dataset | None, str]:
        """Load the data from their source; if it is not available or changed, say why."""
        info, config = self.source.report.manifest.dataset, self.source.config
        if config.runs is None and (info.documents or 0) > _MOST_DOCUMENTS:
            return None, "the collection is too large to read it again"
        dataset, reason = self.source.load_original()
        # The installed ontology can have another version; everything else is identified by hashes.
        is_installed = config.dataset == "hpo" and config.ontology is None
        if dataset is None or not is_installed or dataset.version == info.version:
            return dataset, reason
        is_same = dataset.hash_contents() == info.contents
        return (dataset, "") if is_same else (None, f"the available data are {dataset.version}")

    def prepare_modes(self, dataset: Dataset, folder: OutputFolder, progress: Progress) -> Modes:
        """Read the runs of the folder."""
        write_qrels(dataset.qrels, folder.partial / QRELS_FILE)
        report, config = self.source.report, self.source.config
        names = [name for name in config.mode_keys if self._has_run(name)]
        modes = {}
        for done, name in enumerate(names):
            progress("reading runs", done, len(names))
            modes[name] = self._read_mode(name, dataset, folder)
        progress("reading runs", len(names), len(names))
        return Modes(
            modes,
            {
                name: report.unscored[name].model_copy(update={"label": config.label(name)})
                for name in config.mode_keys
                if name in report.unscored
            },
        )

    def _has_run(self, name: str) -> bool:
        report, is_stored = self.source.report, self._has_file(f"{RUNS_FOLDER}/{name}.run")
        return name in report.modes or (is_stored and name not in report.unscored)

    def _has_file(self, name: str) -> bool:
        return self.source.files.find(name) is not None

    def _read_mode(self, name: str, dataset: Dataset, folder: OutputFolder) -> ModeRun:
        reported = self.source.report.modes.get(name)
        path = (self.source.config.runs or {}).get(name)
        if path is not None:
            return self._read_given((name, path), reported, dataset, folder)
        self.unproven["tied scores of fetched runs, and the settings of the search"] = None
        mode = self._rewrite(name, None if reported is None else reported.run, dataset, folder)
        known = {*mode.run.query_ids}
        cut_short = (reported.diagnostics.cut_short if reported else None) or []
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
            cut_short=[query_id for query_id in cut_short if query_id in known],
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
        origin = None if reported is None else reported.run.source
        reason = f"{path} is not available, or changed"
        if self.config.exclude is not None and dataset.excluded is None:
            reason = "the documents to leave out are not available"
        elif origin is not None and is_unchanged(path, [origin.sha256]):
            try:
                return read_mode_run(name, path, dataset, folder)
            except TrectoolsPlusError as error:
                reason = str(error)
        self.unproven[f"ties and findings of the run {name} ({reason})"] = None
        info = None if reported is None else reported.run
        mode = replace(self._rewrite(name, info, dataset, folder), given=True)
        if reported is not None:
            info = mode.info.model_copy(update={"source": origin})
            mode = replace(mode, info=info, findings=reported.diagnostics.findings)
        return mode

    def _rewrite(
        self,
        name: str,
        info: RunFile | None,
        dataset: Dataset,
        folder: OutputFolder,
        subfolder: str = RUNS_FOLDER,
    ) -> ModeRun:
        """Read a run of the report and write it again. Its ties are those of the report."""
        place = f"{subfolder}/{name}.run"
        exists = self._has_file(place) or (info is not None and info.path)
        run = self.source.read_run_at(place if exists else None, name)
        accepts = accept_unjudged(self.config.bind_measures(self.config.measure_names))
        mode = write_mode_run(dataset, folder, run, subfolder, accepts_unjudged=accepts)
        if info is None:
            return mode
        counted = {
            cutoff: info.ties.straddling.get(cutoff, 0) for cutoff in mode.info.ties.straddling
        }
        ties = info.ties.model_copy(update={"straddling": counted})
        return replace(mode, info=mode.info.model_copy(update={"ties": ties}))

    def _read_latency(self, name: str, topics: Topics | None) -> npt.NDArray[np.float64] | None:
        """Return a mode's latencies in the order of the topics."""
        latency = self.source.latency
        timed = None if latency is None else latency.filter(run=name)
        if timed is None or topics is None or not timed.height:
            return None
        self.unproven["latencies"] = None
        ids = topics.frame.select("query_id")
        values = ids.join(timed, on="query_id", how="left", maintain_order="left")["latency_ms"]
        return values.fill_null(np.nan).to_numpy()

    def _list_components(self, mode: str) -> dict[str, RunFile | None]:
        """List the components of a fusion by report, configuration and files."""
        reported = {one.component: one.run for one in self.source.report.components
                    if one.mode == mode}  # fmt: skip
        config = self.source.config
        if not config.is_embedded or kind_of(mode) != "hybrid" or puts_exact_first(mode):
            return {**reported}
        named = merged_modes(config.mode_keys, config.retrieval, model_of(mode)).values()
        # Without one of two components, the other is left: a mode, or an entry of the report.
        # Of more components, those without which a fusion equals a mode have no entry.
        modes = {*config.mode_keys}
        return {
            name: reported.get(name)
            for name in named
            if name in reported
            or (len(named) == 2 and not {*named} - {name} <= modes)
            or self._has_file(f"{COMPONENTS_FOLDER}/{mode}-without-{name}.run")
        }

    def list_models(self) -> dict[str, ModelRecord]:
        """Return no models: nothing is searched again."""
        return {}


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
    manifest = source.report.manifest
    try:
        moment = datetime.fromisoformat(manifest.created_at)
    except ValueError:
        moment = datetime.fromtimestamp(0, UTC)
    with without_user_code():
        inputs = _StoredInputs(source, output_dir)
        result = run_on_inputs(inputs, progress, manifest.command, lambda: moment)
    dataset = result.dataset
    assert dataset is not None
    lacks_topics = dataset.topics is None and "topics" in manifest.dataset.contents
    shows_titles = source.files.find(DOCUMENTS_FILE) is not None
    rebuilt = replace(
        result,
        report=_restore_report(inputs, result.report),
        dataset=replace(dataset, corpus=dataset.corpus if shows_titles else None),
    )
    problems = [f"{TOPICS_FILE}: the queries are missing, or changed"] if lacks_topics else []
    return Rebuilt(rebuilt, [*inputs.unproven], problems)


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


def _restore_report(inputs: _StoredInputs, made: BenchmarkReport) -> BenchmarkReport:
    """Take from the report what only its writer knows."""
    old, manifest = inputs.source.report.manifest, made.manifest
    changes = {name: getattr(old, name) for name in _OF_WRITER}
    if re.fullmatch(rf"{manifest.experiment_id}(-\d+)?", old.experiment_id):
        changes["experiment_id"] = old.experiment_id
    return made.model_copy(update={"manifest": manifest.model_copy(update=changes)})
