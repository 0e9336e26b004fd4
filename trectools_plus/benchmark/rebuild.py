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

from trectools_plus.benchmark.report.folder import (
    ReportFolder,
    StoredDocuments,
    read_report_topics,
)
from trectools_plus.benchmark.run.dataset import Dataset, name_dataset
from trectools_plus.benchmark.run.modes import Modes, read_mode_run, write_mode_run
from trectools_plus.benchmark.run.output_folder import (
    DOCUMENTS_FILE,
    QRELS_FILE,
    REPORT_FILE,
    TOPICS_FILE,
    OutputFolder,
)
from trectools_plus.benchmark.run.runner import (
    BenchmarkResult,
    make_manifest,
    make_result,
    score_modes,
)
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats.files.guards import is_unchanged
from trectools_plus.formats.tables import Topics
from trectools_plus.formats.trec_files import write_qrels
from trectools_plus.measures.scoring.scores import accept_unjudged
from trectools_plus.plugins import without_user_code
from trectools_plus.progress import Progress, no_progress
from trectools_plus.provenance import package_versions
from trectools_plus.validation.views.qrels import QrelsView

_ALWAYS_UNPROVEN = ("date", "command", "machine", "package versions")
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


@dataclass(frozen=True, eq=False)
class _StoredDataset(Dataset):
    """Data whose source is not available.

    Attributes:
        contents: The hashes in the report, of which those of the stored parts are not used.
    """

    contents: Mapping[str, str] = field(default_factory=dict)

    def hash_contents(self) -> dict[str, str]:
        return {**self.contents, **super().hash_contents()}


_Unproven = dict[str, None]
"""Parts that were taken from the report, in order."""


def _load_dataset(source: ReportFolder, unproven: _Unproven) -> Dataset:
    """Read the data from their source if they are unchanged, else from the folder."""
    config, info = source.config, source.report.manifest.dataset
    for name in (QRELS_FILE, *(run.path for run in source.report.runs if run.path)):
        source.files.file(name)
    source.bind_measures(config.measure_names)
    if config.over_terms:
        source.find_term_files()
    original, reason = source.load_original()
    if original is not None:
        return original
    what = "texts of queries and documents, " if config.runs is None else ""
    unproven[f"{what}findings on the judgments and notes on the data ({reason})"] = None
    documents = info.documents
    return _StoredDataset(
        id=name_dataset(config),
        corpus=None if documents is None else StoredDocuments(source.titles, documents),
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
    unproven: _Unproven,
    progress: Progress,
) -> Modes:
    """Read the runs of the folder, and write them to the output folder."""
    write_qrels(dataset.qrels, folder.partial / QRELS_FILE)
    report, config, read = source.report, source.config, Modes({})
    measures = config.bind_measures(config.measure_names)
    judged = QrelsView.of_table(dataset.qrels)
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
                read.scored[name] = read_mode_run(name, path, dataset, folder, judged)
                continue
            except TrectoolsPlusError as error:
                reason = str(error)
        # The run of the report is read and written again. Its ties are those of the report.
        run = source.read_run_at(reported.run.path, name)
        accepts = accept_unjudged(measures)
        mode = write_mode_run(dataset, folder, run, accepts_unjudged=accepts)
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
    source: ReportFolder, name: str, topics: Topics | None, unproven: _Unproven
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
    stored, unproven = source.report.manifest, dict.fromkeys(_ALWAYS_UNPROVEN)
    try:
        moment = datetime.fromisoformat(stored.created_at)
    except ValueError:
        moment = datetime.fromtimestamp(0, UTC)
    folder = OutputFolder(output_dir)
    with folder.discarded_on_errors(), without_user_code():
        progress("reading the data", 0, 1)
        config, dataset = source.config, _load_dataset(source, unproven)
        modes = _read_modes(source, dataset, folder, unproven, progress)
        evaluation = score_modes(config, dataset, modes, progress)
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
