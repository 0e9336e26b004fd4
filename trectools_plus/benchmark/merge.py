"""One more run for a report that is there already."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from trectools_plus.benchmark.arms import Arm, Arms, read_arm
from trectools_plus.benchmark.assemble import make_report, score_arms
from trectools_plus.benchmark.config import RUN_NAME, BenchmarkConfig
from trectools_plus.benchmark.dataset import Dataset
from trectools_plus.benchmark.output_folder import OutputFolder
from trectools_plus.benchmark.report import BenchmarkReport, MergedRun, ModeResult
from trectools_plus.benchmark.report_folder import ReportFolder, copy_files
from trectools_plus.benchmark.report_topics import read_report_topics
from trectools_plus.benchmark.runner import BenchmarkResult
from trectools_plus.errors import IncomparableError, UsageError
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.formats.tables import Qrels, Run

STRATA_LOST = (
    "There are no groups of queries: the topics that the report was made with were not there, or "
    "had changed, when a run was merged."
)


def merge_run(path: str | Path, name: str, run_path: str) -> BenchmarkResult:
    """Add a run to a report: score it against the same judgments and compare it with every mode.

    Nothing is written yet: :func:`trectools_plus.reporting.files.write_reports` renders the report
    again, all files or none. The other modes keep their runs, latencies and diagnostics.
    Strata are computed again, or left out with a note where the topics cannot be read any more.

    Args:
        path: The report's JSON, or its folder, with the runs and judgments beside it.
        name: What the run is called in the report.
        run_path: Its file.

    Raises:
        InputError: If a file cannot be read, or is not the one that the report speaks of.
        UsageError: If the name is taken or cannot be a file name.
        FindingsError: If the run holds what scoring refuses.
        IncomparableError: If the run answers queries that the report does not know, or, where
            missing queries are dropped, others than the report's runs.
    """
    source = ReportFolder(path)
    config = source.config
    _check_name(name, source.report)
    qrels = source.read_qrels()
    runs = {mode: source.read_run(mode) for mode in source.report.modes}
    _refuse_other_queries(run_path, qrels, runs)
    dataset = _dataset_of(source, qrels)
    folder = OutputFolder(source.folder)
    try:
        copy_files(source, folder)
        arms = {mode: _old_arm(source, mode, run) for mode, run in runs.items()}
        arms[name] = read_arm(name, run_path, dataset, folder)
        report, result = _make(source, config, dataset, arms, name, run_path)
    except BaseException:
        folder.discard()
        raise
    return BenchmarkResult(
        report,
        result,
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


def _refuse_other_queries(path: str, qrels: Qrels, runs: dict[str, Run]) -> None:
    """See that a run is one of the report's queries; those it leaves out count as missing."""
    from trectools_plus.validation.loading import load_run

    known = set(qrels.query_ids).union(*(run.query_ids for run in runs.values()))
    strange = [query_id for query_id in load_run(path).query_ids if query_id not in known]
    if strange:
        raise IncomparableError(
            f"the run answers other queries than the report: {len(strange)} of them are neither "
            f"judged nor answered by another run, such as {strange[0]}",
            where=path,
            remedy="add a run of the same topics",
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
    return Arm(run, result.run, result.diagnostics.findings)


def _make(
    source: ReportFolder,
    config: BenchmarkConfig,
    dataset: Dataset,
    arms: dict[str, Arm],
    name: str,
    run_path: str,
) -> tuple[BenchmarkReport, pl.DataFrame]:
    old = source.report
    evaluation = score_arms(config, dataset, arms)
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
    texts = {query.query_id: query.text for query in old.failing_queries}
    failing = [
        query.model_copy(update={"text": query.text or texts.get(query.query_id)})
        for query in new.failing_queries
    ]
    # Once lost, strata stay so, and with them the note, until the topics are there again.
    lost = dataset.topics is None and (old.strata or STRATA_LOST in old.notes)
    kept = {"modes": modes, "failing_queries": failing, "notes": [STRATA_LOST] if lost else []}
    report = new.model_copy(update=kept)
    return report, evaluation.per_query


def _keep(result: ModeResult, old: ModeResult | None) -> ModeResult:
    """A mode's figures with what cannot be had again: its label, latency and diagnostics."""
    if old is None:
        return result
    kept = {"label": old.label, "latency_ms": old.latency_ms, "diagnostics": old.diagnostics}
    return result.model_copy(update=kept)
