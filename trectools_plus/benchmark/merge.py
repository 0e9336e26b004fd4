"""One more run for a report that is there already."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TypeVar

from trectools_plus.benchmark.report import (
    BenchmarkReport,
    FailingQuery,
    MergedRun,
    ModeResult,
    NearMiss,
)
from trectools_plus.benchmark.report.folder import ReportFolder, copy_files, read_report_topics
from trectools_plus.benchmark.run.assemble import make_report, score_arms
from trectools_plus.benchmark.run.config import RUN_NAME, BenchmarkConfig
from trectools_plus.benchmark.run.dataset import TERM_FILES, Dataset
from trectools_plus.benchmark.run.mode_runs import Arm, read_arm
from trectools_plus.benchmark.run.modes import Arms
from trectools_plus.benchmark.run.output_folder import OutputFolder
from trectools_plus.benchmark.run.runner import BenchmarkResult
from trectools_plus.errors import IncomparableError, UsageError
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.evaluation import Evaluation
from trectools_plus.progress import Progress, no_progress

_Entry = TypeVar("_Entry", FailingQuery, NearMiss)

STRATA_LOST = (
    "There are no groups of queries: the topics that the report was made with were not there, or "
    "had changed, when a run was merged."
)


def merge_run(
    path: str | Path, name: str, run_path: str, progress: Progress | None = None
) -> BenchmarkResult:
    """Add a run to a report: score it against the same judgments and compare it with every mode.

    Nothing is written yet: :func:`trectools_plus.reporting.files.write_reports` renders the report
    again, all files or none. The other modes keep their runs, latencies and diagnostics.
    Strata are computed again, or left out with a note where the topics cannot be read any more.

    Args:
        path: The report's JSON, or its folder, with the runs and judgments beside it.
        name: What the run is called in the report.
        run_path: Its file; ``-`` is standard input.
        progress: Called as ``progress(description, done, total)``.

    Raises:
        InputError: If a file cannot be read, or is not the one that the report speaks of.
        UsageError: If the name is taken or cannot be a file name.
        FindingsError: If the run holds what scoring refuses.
        IncomparableError: If the run answers queries that the report does not know, or, where
            missing queries are dropped, others than the report's runs; or if the ontology or the
            annotations changed.
    """
    source = ReportFolder(path)
    config = source.config
    _check_name(name, source.report)
    tell = progress or no_progress
    qrels = source.read_qrels()
    _refuse_changed_terms(source.report)
    runs = source.read_runs(tell)
    dataset = _dataset_of(source, qrels)
    folder = OutputFolder(source.folder)
    try:
        copy_files(source, folder)
        arms = {mode: _old_arm(source, mode, run) for mode, run in runs.items()}
        look = partial(_refuse_other_queries, run_path, qrels, runs)
        tell("adding the run", 0, 1)
        arms[name] = read_arm(name, run_path, dataset, folder, look)
        tell("adding the run", 1, 1)
        evaluation = score_arms(config, dataset, arms, tell)
        tell("comparing", 0, 1)
        report = _make(source, config, dataset, arms, evaluation, (name, run_path))
        tell("comparing", 1, 1)
    except BaseException:
        folder.discard()
        raise
    return BenchmarkResult(
        report,
        evaluation.per_query,
        {mode: arm.run for mode, arm in arms.items()},
        folder,
        dataset,
        source.latency,
    )


def _check_name(name: str, report: BenchmarkReport) -> None:
    if not RUN_NAME.fullmatch(name):
        raise UsageError(
            f"run name '{name}' cannot be a file name",
            where="--run",
            remedy="use letters, digits, blanks, . + - _",
        )
    if name.casefold() in {mode.casefold() for mode in report.modes}:
        raise UsageError(
            f"the report has a mode '{name}' already",
            where="--run",
            remedy="give the run another name",
        )


def _refuse_other_queries(path: str, qrels: Qrels, runs: dict[str, Run], run: Run) -> None:
    """See that a run is one of the report's queries; those it leaves out count as missing."""
    known = set(qrels.query_ids).union(*(run.query_ids for run in runs.values()))
    strange = [query_id for query_id in run.query_ids if query_id not in known]
    if strange:
        raise IncomparableError(
            f"the run answers other queries than the report: {len(strange)} of them are neither "
            f"judged nor answered by another run, such as {strange[0]}",
            where=path,
            remedy="add a run of the same topics",
        )


def _refuse_changed_terms(report: BenchmarkReport) -> None:
    """See that figures over an ontology would come out as they did."""
    files = report.manifest.dataset.files
    for kind in TERM_FILES:
        if kind in files and sha256_file(files[kind].path) != files[kind].sha256:
            raise IncomparableError(
                f"the {kind} of the report changed (its hash is another)",
                where=files[kind].path,
                remedy="put back the file that the report was made with, or run it again",
            )


def _dataset_of(source: ReportFolder, qrels: Qrels) -> Dataset:
    """What the report says of its data; the topics too where they are still the same."""
    info = source.report.manifest.dataset
    return Dataset(
        id=info.id,
        corpus=None,
        topics=read_report_topics(source),
        qrels=qrels,
        version=info.version,
        files=info.files,
        findings=info.findings,
    )


def _old_arm(source: ReportFolder, mode: str, run: Run) -> Arm:
    result = source.report.modes[mode]
    without = {
        one.component: Arm(source.read_run_file(one.run, one.component), one.run, [])
        for one in source.report.components
        if one.mode == mode
    }
    return Arm(run, result.run, result.diagnostics.findings, without=without)


def _make(
    source: ReportFolder,
    config: BenchmarkConfig,
    dataset: Dataset,
    arms: dict[str, Arm],
    evaluation: Evaluation,
    merged: tuple[str, str],
) -> BenchmarkReport:
    """The report anew; ``merged`` is what the added run is called, and its file."""
    old = source.report
    name, run_path = merged
    added = MergedRun(
        name=name, path=run_path, sha256="" if run_path == "-" else sha256_file(run_path)
    )
    manifest = old.manifest.model_copy(
        update={"merged": [*old.manifest.merged, added], "cache_key": None}
    )
    # A run that is given is judged as one, whatever the other modes are.
    as_given = config.model_copy(update={"runs": {name: run_path}})
    new = make_report(as_given, dataset, Arms(arms, old.unscored), evaluation, manifest)
    modes = {mode: _keep(result, old.modes.get(mode)) for mode, result in new.modes.items()}
    told = [*old.failing_queries, *(old.near_misses or ())]
    texts = {query.query_id: query.text for query in told}
    failing = [_tell(query, texts) for query in new.failing_queries]
    near = new.near_misses and [_tell(query, texts) for query in new.near_misses]
    # Once lost, strata stay so, and with them the note, until the topics are there again.
    lost = dataset.topics is None and (old.strata or STRATA_LOST in old.notes)
    notes = [note for note in old.notes if note != STRATA_LOST]
    kept = {
        "modes": modes,
        "failing_queries": failing,
        "near_misses": near,
        "notes": [*notes, STRATA_LOST] if lost else notes,
    }
    return new.model_copy(update=kept)


def _tell(query: _Entry, texts: dict[str, str | None]) -> _Entry:
    """A query with its text, if only the old report had it."""
    return query.model_copy(update={"text": query.text or texts.get(query.query_id)})


def _keep(result: ModeResult, old: ModeResult | None) -> ModeResult:
    """A mode's figures with what cannot be had again: its label, latency and diagnostics."""
    if old is None:
        return result
    kept = {"label": old.label, "latency_ms": old.latency_ms, "diagnostics": old.diagnostics}
    return result.model_copy(update=kept)
