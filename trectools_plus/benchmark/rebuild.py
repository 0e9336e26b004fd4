"""Rebuild the result of a benchmark from the files beside its report.

The same functions that made the report make it again: from the run files, the judgments, the topics
and the configuration. Original files and datasets are read again if they are available and
unchanged. Everything else is taken from the report, and listed as unproven.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.benchmark.compare.compare import detectable_per_deviation
from trectools_plus.benchmark.compare.differences import (
    find_differences_of_1_0,
    find_joint_differences,
)
from trectools_plus.benchmark.compare.method import alpha_of
from trectools_plus.benchmark.compare.significance import (
    find_best,
    find_groups,
    is_best_significant,
)
from trectools_plus.benchmark.merge import STRATA_LOST, extend_report
from trectools_plus.benchmark.report import (
    SCHEMA_VERSION,
    BenchmarkReport,
    DatasetInfo,
    Manifest,
    ModeResult,
    RunInfo,
    UnscoredMode,
)
from trectools_plus.benchmark.report.folder import ReportFolder, StoredDocuments, read_report_topics
from trectools_plus.benchmark.report.manifest import hash_config
from trectools_plus.benchmark.report.verdict import add_result
from trectools_plus.benchmark.run.assemble import (
    list_components,
    make_manifest,
    make_report,
    score_modes,
)
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.dataset import (
    Dataset,
    hash_qrels,
    hash_query_fields,
    load_dataset,
)
from trectools_plus.benchmark.run.mode_runs import ModeRun, read_mode_run, write_mode_run
from trectools_plus.benchmark.run.modes import Modes
from trectools_plus.benchmark.run.output_folder import (
    COMPONENTS_FOLDER,
    DOCUMENTS_FILE,
    QRELS_FILE,
    RUNS_FOLDER,
    TOPICS_FILE,
    OutputFolder,
)
from trectools_plus.benchmark.run.runner import BenchmarkResult, make_latency_table
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.formats.ir_datasets import is_catalogue_name, is_downloaded
from trectools_plus.formats.qrels import write_qrels
from trectools_plus.formats.tables import Topics
from trectools_plus.measures.evaluation import Evaluation
from trectools_plus.progress import Progress, no_progress
from trectools_plus.provenance import package_versions
from trectools_plus.retrieval.backends.embedded.modes import (
    kind_of,
    merged_modes,
    model_of,
    puts_exact_first,
)
from trectools_plus.retrieval.fetch.topics import hash_topics
from trectools_plus.statistics.intervals import OF_1_0

_MOST_DOCUMENTS = 1_000_000
"""Larger collections are not read again."""
_ALWAYS_UNPROVEN = ("date", "command", "machine", "package versions")


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


@dataclass(frozen=True, slots=True, eq=False)
class _Data:
    """The data of a report.

    Attributes:
        dataset: The data.
        is_original: True if they were read again from their source.
        unproven: Parts that were taken from the report.
    """

    dataset: Dataset
    is_original: bool
    unproven: dict[str, None] = field(default_factory=dict)


def rebuild_result(
    source: ReportFolder, folder: OutputFolder, progress: Progress = no_progress
) -> Rebuilt:
    """Make the result of a benchmark again.

    Args:
        source: The report with the files beside it.
        folder: A folder for the run files and the judgments of the new result.
        progress: Called as ``progress(description, done, total)``.

    Raises:
        InputError: If a run or the judgments are missing or cannot be read.
    """
    old = source.report
    source.refuse_missing_files()
    progress("reading the data", 0, 1)
    data = _restore_data(source)
    dataset = data.dataset
    texts_known = dataset.topics is not None or "topics" not in old.manifest.dataset.contents
    progress("reading the data", 1, 1)
    write_qrels(dataset.qrels, folder.partial / QRELS_FILE)
    modes = {}
    names = _name_modes(source)
    for done, name in enumerate(names):
        progress("reading runs", done, len(names))
        modes[name] = _restore_mode(source, name, data, folder)
    progress("reading runs", len(names), len(names))
    report, evaluation = _remake(source, data, modes, progress)
    if not texts_known:
        data.unproven["texts and groups of the queries"] = None
        report = report.model_copy(update={"strata": old.strata})
    if any(mode.latency_ms is not None for mode in modes.values()):
        data.unproven["latencies"] = None
    page_corpus = dataset.corpus if (source.folder / DOCUMENTS_FILE).is_file() else None
    result = BenchmarkResult(
        report,
        evaluation.per_query(),
        {name: mode.run for name, mode in modes.items()},
        folder,
        replace(dataset, corpus=page_corpus),
        make_latency_table(dataset.topics, modes) if texts_known else source.latency,
    )
    return Rebuilt(result, [*_ALWAYS_UNPROVEN, *data.unproven], texts_known)


def is_by_this_version(source: ReportFolder) -> bool:
    """Return whether the running version wrote the report."""
    report = source.report
    running = package_versions(["trectools-plus"])["trectools-plus"]
    writer = report.manifest.packages.get("trectools-plus")
    return writer == running and report.schema_version == SCHEMA_VERSION


def _config_of(source: ReportFolder) -> BenchmarkConfig:
    """Return the configuration, with the method of intervals of the report's schema version."""
    if source.report.schema_version == "1.0":
        return source.config.model_copy(update={"interval": OF_1_0})
    return source.config


def _restore_data(source: ReportFolder) -> _Data:
    """Read the data from their source if they are unchanged, else from the folder."""
    info = source.report.manifest.dataset
    original, reason = _load_original(source)
    if original is not None:
        if STRATA_LOST in source.report.notes and not (source.folder / TOPICS_FILE).is_file():
            original = replace(original, topics=None)
        return _Data(original, True)
    fetched = source.config.runs is None
    dataset = Dataset(
        id=info.id,
        corpus=None if info.documents is None else StoredDocuments(source.titles, info.documents),
        topics=read_report_topics(source),
        qrels=source.read_qrels(allow_changed=True),
        version=info.version,
        files=info.files,
        findings=info.findings,
    )
    what = "texts of queries and documents, " if fetched else ""
    what += "findings on the judgments and notes on the data"
    return _Data(dataset, False, {f"{what} ({reason})": None})


def _load_original(source: ReportFolder) -> tuple[Dataset | None, str]:
    """Load the data from their source; if it is not available or changed, return the reason."""
    info, config = source.report.manifest.dataset, source.config
    if "-" in (config.qrels, config.topics, config.corpus):
        return None, "they were read from standard input"
    for file in info.files.values():
        if not Path(file.path).is_file():
            return None, f"{file.path} is not available"
        if sha256_file(file.path) != file.sha256:
            return None, f"{file.path} changed"
    for name in (config.dataset, config.qrels):
        if is_catalogue_name(name) and not is_downloaded(str(name)):
            return None, f"{name} is not downloaded"
    if config.runs is None and (info.documents or 0) > _MOST_DOCUMENTS:
        return None, "the collection is too large to read it again"
    try:
        dataset = load_dataset(config)
    except TrectoolsPlusError as error:
        return None, str(error)
    # The installed ontology can have another version; everything else is identified by hashes.
    installed = config.dataset == "hpo" and config.ontology is None
    changed = dataset.version != info.version and dataset.hash_contents() != info.contents
    if installed and changed:
        return None, f"the available data are {dataset.version}"
    return dataset, ""


def _name_modes(source: ReportFolder) -> list[str]:
    """Return the modes of the configuration and the merged runs that should be in the report."""
    report = source.report
    names = [*source.config.mode_keys, *(one.name for one in report.manifest.merged)]
    return [name for name in dict.fromkeys(names) if _has_run(source, name)]


def _has_run(source: ReportFolder, name: str) -> bool:
    return name in source.report.modes or (
        name not in source.report.unscored
        and (source.folder / RUNS_FOLDER / f"{name}.run").is_file()
    )


def _restore_mode(source: ReportFolder, name: str, data: _Data, folder: OutputFolder) -> ModeRun:
    reported = source.report.modes.get(name)
    info = None if reported is None else reported.run
    paths = {one.name: one.path for one in source.report.manifest.merged}
    path = {**(source.config.runs or {}), **paths}.get(name)
    if path is not None:
        return _restore_given(source, (name, path), reported, data, folder)
    data.unproven["tied scores of fetched runs, and the settings of the search"] = None
    mode = _rewrite(source, name, info, data.dataset, folder)
    # A run that was scored against topics has further findings.
    if reported is not None and not _knows_topics(source, data):
        mode = replace(mode, findings=reported.diagnostics.findings)
    return replace(
        mode,
        latency_ms=_restore_latency(source, name, data.dataset.topics),
        index_key=source.report.manifest.index_snapshots.get(name),
        without={
            component: _rewrite(
                source, f"{name}-without-{component}", one, data.dataset, folder, COMPONENTS_FOLDER
            )
            for component, one in _list_components(source, name).items()
        },
        cut_short=[] if reported is None else reported.diagnostics.cut_short or [],
    )


def _restore_latency(
    source: ReportFolder, name: str, topics: Topics | None
) -> npt.NDArray[np.float64] | None:
    """Return a mode's latencies in the order of the topics, or of the table without topics."""
    timed = None if source.latency is None else source.latency.filter(run=name)
    if timed is None or not timed.height:
        return None
    values = timed.select("query_id", pl.col("latency_ms").cast(pl.Float64).fill_null(np.nan))
    if topics is not None:
        ids = topics.frame.select("query_id")
        values = ids.join(values, on="query_id", how="left", maintain_order="left")
    return values["latency_ms"].fill_null(np.nan).to_numpy()


def _knows_topics(source: ReportFolder, data: _Data) -> bool:
    contents = source.report.manifest.dataset.contents
    return data.dataset.topics is not None or "topics" not in contents


def _restore_given(
    source: ReportFolder,
    given: tuple[str, str],
    reported: ModeResult | None,
    data: _Data,
    folder: OutputFolder,
) -> ModeRun:
    """Read a given run again, or its copy in the folder if the original changed."""
    name, path = given
    info = None if reported is None else reported.run
    origin = None if info is None else info.source
    if path == "-":
        reason = "read from standard input"
    elif not Path(path).is_file():
        reason = f"{path} is not available"
    elif origin is not None and sha256_file(path) != origin.sha256:
        reason = f"{path} changed"
    elif not _knows_topics(source, data):
        reason = "the topics are not available"
    else:
        try:
            return read_mode_run(name, path, data.dataset, folder)
        except TrectoolsPlusError as error:
            reason = str(error)
    data.unproven[f"ties and findings of the run {name} ({reason})"] = None
    mode = _rewrite(source, name, info, data.dataset, folder)
    if reported is None:
        return mode
    kept = mode.info.model_copy(update={"source": origin})
    return replace(mode, info=kept, findings=reported.diagnostics.findings)


def _rewrite(
    source: ReportFolder,
    name: str,
    info: RunInfo | None,
    dataset: Dataset,
    folder: OutputFolder,
    subfolder: str = RUNS_FOLDER,
) -> ModeRun:
    """Read a run of the report and write it again. Its ties are those of the report."""
    place = f"{subfolder}/{name}.run"
    exists = (source.folder / place).is_file()
    run = source.read_run_at(place if exists or (info is not None and info.path) else None, name)
    mode = write_mode_run(dataset, folder, run, subfolder)
    if info is None:
        return mode
    return replace(mode, info=mode.info.model_copy(update={"ties": info.ties}))


def _list_components(source: ReportFolder, mode: str) -> dict[str, RunInfo | None]:
    """List the components of a fusion by report, configuration and files."""
    found: dict[str, RunInfo | None] = {
        one.component: one.run for one in source.report.components if one.mode == mode
    }
    config = source.config
    if config.is_embedded and kind_of(mode) == "hybrid" and not puts_exact_first(mode):
        named = merged_modes(config.mode_keys, config.retrieval, model_of(mode)).values()
        # Without one of two components, the other is left: a mode, or an entry of the report.
        implied = len(named) == 2 and source.report.schema_version != "1.0"
        found = {
            name: found.get(name)
            for name in named
            if name in found or not (implied and {*named} - {name} <= {*config.mode_keys})
        }
    return found


def _remake(
    source: ReportFolder, data: _Data, modes: Mapping[str, ModeRun], progress: Progress
) -> tuple[BenchmarkReport, Evaluation]:
    """Make the report again, and extend it by each merged run in turn."""
    old, config, dataset = source.report, _config_of(source), data.dataset
    merged = {one.name: one for one in old.manifest.merged}
    first = {name: mode for name, mode in modes.items() if name not in merged}
    evaluation = score_modes(config, dataset, first, progress)
    progress("comparing", 0, 1)
    manifest = _remake_manifest(source, data, first, evaluation)
    unscored = _relabel(config, old.unscored)
    report = make_report(config, dataset, Modes(first, unscored), evaluation, manifest)
    if old.schema_version == "1.0" or _has_joint_family(old):
        report = _as_earlier(config, dataset, evaluation, first, (old, report))
    if not data.is_original:
        report = _adopt_notes(old, report)
    for name, one in merged.items():
        if name in modes:
            first[name] = modes[name]
            evaluation = score_modes(config, dataset, first)
            report = extend_report(
                report, config, replace(dataset, corpus=None), first, evaluation, one
            )
    progress("comparing", 1, 1)
    if not is_by_this_version(source):
        report = _adopt_detectable(old, report)
    return _adopt_counts(old, report), evaluation


def _adopt_detectable(old: BenchmarkReport, report: BenchmarkReport) -> BenchmarkReport:
    """Keep the detectable differences of one uncorrected t-test of versions before 0.2."""
    pairs = {(one.baseline, one.contrast, one.measure): one for one in old.comparisons}
    level = alpha_of(report.confidence)
    entries = []
    for entry in report.comparisons:
        reported = pairs.get((entry.baseline, entry.contrast, entry.measure))
        stated = single = reported and reported.detectable_difference
        if entry.difference and entry.effect_size:
            spread = entry.difference / entry.effect_size
            single = spread * detectable_per_deviation(entry.n, level)
        # Without a mean difference, the report does not contain the spread.
        if stated and single and math.isclose(stated, single, rel_tol=1e-6):
            entry = entry.model_copy(update={"detectable_difference": single})
        entries.append(entry)
    return report.model_copy(update={"comparisons": entries})


def _adopt_counts(old: BenchmarkReport, report: BenchmarkReport) -> BenchmarkReport:
    """Leave out the numbers of timed queries that an earlier version did not report."""
    modes = dict(report.modes)
    for name, mode in old.modes.items():
        remade = modes[name].latency_ms if name in modes else None
        if mode.latency_ms is not None and mode.latency_ms.queries is None and remade is not None:
            latency = remade.model_copy(update={"queries": None})
            modes[name] = modes[name].model_copy(update={"latency_ms": latency})
    return report.model_copy(update={"modes": modes})


def _relabel(
    config: BenchmarkConfig, unscored: Mapping[str, UnscoredMode]
) -> dict[str, UnscoredMode]:
    """Return the modes without figures that the configuration has, in its order."""
    return {
        name: unscored[name].model_copy(update={"label": config.label(name)})
        for name in config.mode_keys
        if name in unscored
    }


def _remake_manifest(
    source: ReportFolder, data: _Data, modes: Mapping[str, ModeRun], evaluation: Evaluation
) -> Manifest:
    """Return the manifest; date, command, machine, versions and models are those of the report."""
    old, config = source.report.manifest, source.config
    queries = len(evaluation.query_ids[next(iter(modes))])
    described = (
        data.dataset.describe(queries, data.dataset.hash_contents())
        if data.is_original
        else _describe_stored(old.dataset, data.dataset, queries)
    )
    try:
        moment = datetime.fromisoformat(old.created_at)
    except ValueError:
        moment = datetime.fromtimestamp(0, UTC)
    manifest = make_manifest(config, moment, "", described, modes, old.command)
    if not is_by_this_version(source):  # it had other settings
        changes = {"config": old.config, "config_hash": hash_config(old.config)}
        manifest = manifest.model_copy(update=changes)
    expected = f"{moment.astimezone(UTC):%Y%m%d-%H%M%S}-{manifest.config_hash[:8]}"
    named = re.fullmatch(rf"{expected}(-\d+)?", old.experiment_id)
    kept = (
        *("packages", "python", "platform", "blas_threads", "models"),
        *("cache_key", "cached_from", "other_reports"),
    )
    claimed = {name: getattr(old, name) for name in kept}
    claimed["experiment_id"] = old.experiment_id if named else expected
    return manifest.model_copy(update=claimed)


def _describe_stored(old: DatasetInfo, dataset: Dataset, queries: int) -> DatasetInfo:
    """Describe data that cannot be read from their source: the hashes of the stored parts."""
    known = {"qrels": hash_qrels(dataset.qrels)}
    if dataset.topics is not None:
        fields = hash_query_fields(dataset.topics)
        known |= {"topics": hash_topics(dataset.topics), "query_fields": fields or ""}
    contents = {kind: known.get(kind, digest) for kind, digest in old.contents.items()}
    described = dataset.describe(queries, contents)
    return described.model_copy(update={"documents": old.documents})


def _has_joint_family(report: BenchmarkReport) -> bool:
    """Return whether the family has every pair of modes despite baselines, or also components.

    Versions before 0.2 write such reports.
    """
    baselines = report.manifest.config.get("baseline")
    families = {entry.family for entry in report.comparisons} if baselines else set()
    families |= {one.family for part in report.components for one in part.measures.values()}
    return any("every pair of" in family and "mode" in family for family in families)


def _as_earlier(
    config: BenchmarkConfig,
    dataset: Dataset,
    evaluation: Evaluation,
    modes: Mapping[str, ModeRun],
    reports: tuple[BenchmarkReport, BenchmarkReport],
) -> BenchmarkReport:
    """Return the report with the families of tests of the version that wrote it.

    Args:
        config: The settings.
        dataset: The data.
        evaluation: The scores.
        modes: The modes.
        reports: The report that was read, and the one of this version.
    """
    old, report = reports
    without = {
        name: {component: one.run for component, one in mode.without.items()}
        for name, mode in modes.items()
        if mode.without
    }
    is_1_0 = old.schema_version == "1.0"
    find = find_differences_of_1_0 if is_1_0 else find_joint_differences
    found = find(config, dataset.qrels, evaluation, without)
    best = find_best(evaluation, report.unranked)
    groups = find_groups(evaluation, found.every_pair, report.unranked)
    earlier = report.model_copy(
        update={
            "schema_version": old.schema_version,
            "comparisons": found.comparisons,
            "best_mode": best,
            "best_mode_significant": is_best_significant(best, found.every_pair),
            "groups": {} if config.baseline else groups,
            "components": list_components(modes, found),
        }
    )
    return earlier if is_1_0 else add_result(earlier, found.every_pair)


def _adopt_notes(old: BenchmarkReport, report: BenchmarkReport) -> BenchmarkReport:
    """Accept further notes of a report whose data cannot be read again."""
    modes = {
        name: result.model_copy(
            update={
                "diagnostics": result.diagnostics.model_copy(
                    update={
                        "notes": _longer(
                            old.modes[name].diagnostics.notes, result.diagnostics.notes
                        )
                    }
                )
            }
        )
        if name in old.modes
        else result
        for name, result in report.modes.items()
    }
    return report.model_copy(update={"modes": modes, "notes": _longer(old.notes, report.notes)})


def _longer(reported: list[str], rebuilt: list[str]) -> list[str]:
    return reported if set(rebuilt) <= set(reported) else rebuilt
