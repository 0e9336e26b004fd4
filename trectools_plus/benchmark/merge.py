"""Adding a run to an existing report."""

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
from trectools_plus.benchmark.report.verdict import make_verdict
from trectools_plus.benchmark.run.assemble import make_report, score_modes
from trectools_plus.benchmark.run.config import RUN_NAME, BenchmarkConfig
from trectools_plus.benchmark.run.dataset import TERM_FILES, Dataset
from trectools_plus.benchmark.run.modes import ModeRun, Modes, read_mode_run
from trectools_plus.benchmark.run.output_folder import OutputFolder
from trectools_plus.benchmark.run.runner import BenchmarkResult
from trectools_plus.errors import IncomparableError, UsageError
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.evaluation import Evaluation
from trectools_plus.progress import Progress, no_progress
from trectools_plus.text import plural

_Entry = TypeVar("_Entry", FailingQuery, NearMiss)

STRATA_LOST = (
    "There are no groups of queries: the topics that the report was made with were not there, or "
    "had changed, when a run was merged."
)


def merge_run(
    path: str | Path, name: str, run_path: str, progress: Progress | None = None
) -> BenchmarkResult:
    """Add a run to a report: score it against the same judgments and compare it with every mode.

    Nothing is written yet: :func:`trectools_plus.reporting.files.write_reports` writes all files
    of the report again. The other modes keep their runs, latencies and diagnostics. Strata are
    computed again, or replaced by a note if the topics can no longer be read unchanged.

    Args:
        path: The report's JSON, or its folder, with the runs and judgments beside it.
        name: The name of the run in the report.
        run_path: Its file; ``-`` is standard input.
        progress: Called as ``progress(description, done, total)``.

    Returns:
        The result with the run; :func:`write_reports` writes its files.

    Raises:
        InputError: If a file cannot be read, or changed since the report was written.
        UsageError: If the name is in use or is not a valid file name.
        FindingsError: If the run breaks a rule that scoring depends on.
        IncomparableError: If the run answers queries that are not in the report, or, with
            ``missing=drop``, different queries from the report's runs; or if the ontology or the
            annotations changed.
    """
    source = ReportFolder(path)
    config = source.config
    _check_name(name, source.report)
    progress = progress or no_progress
    qrels = source.read_qrels()
    _refuse_changed_terms(source.report)
    runs = source.read_runs(progress)
    dataset = _dataset_of(source, qrels)
    folder = OutputFolder(source.folder)
    try:
        copy_files(source, folder)
        modes = {mode: _read_old_mode(source, mode, run) for mode, run in runs.items()}
        check = partial(_refuse_unknown_queries, run_path, qrels, runs)
        progress("adding the run", 0, 1)
        modes[name] = read_mode_run(name, run_path, dataset, folder, check=check)
        progress("adding the run", 1, 1)
        evaluation = score_modes(config, dataset, modes, progress)
        progress("comparing", 0, 1)
        digest = "" if run_path == "-" else sha256_file(run_path)
        added = MergedRun(name=name, path=run_path, sha256=digest)
        report = extend_report(source.report, config, dataset, modes, evaluation, added)
        folder.keep_components([one.run.path or "" for one in report.components])
        progress("comparing", 1, 1)
    except BaseException:
        folder.discard()
        raise
    return BenchmarkResult(
        report,
        evaluation.per_query(),
        {mode: one.run for mode, one in modes.items()},
        folder,
        dataset,
        source.latency,
    )


def _check_name(name: str, report: BenchmarkReport) -> None:
    if not RUN_NAME.fullmatch(name):
        raise UsageError(
            f"run name '{name}' cannot be a file name",
            where="--run",
            remedy="use letters, digits, spaces, . + - _",
        )
    if name.casefold() in {mode.casefold() for mode in report.modes}:
        raise UsageError(
            f"the report already has a mode '{name}'",
            where="--run",
            remedy="use another name for the run",
        )


def _refuse_unknown_queries(
    path: str, qrels: Qrels, runs: dict[str, Run], query_ids: list[str]
) -> None:
    """Check that the report has all queries of a run. A run may omit queries of the report."""
    known = set(qrels.query_ids).union(*(run.query_ids for run in runs.values()))
    unknown = [query_id for query_id in query_ids if query_id not in known]
    if unknown:
        raise IncomparableError(
            f"the run has {plural(len(unknown), 'query', 'queries')} that the report does not "
            f"have (neither judged nor in another run), for example {unknown[0]}",
            where=path,
            remedy="add a run of the same topics",
        )


def _refuse_changed_terms(report: BenchmarkReport) -> None:
    """Check that the files of measures over an ontology are unchanged."""
    files = report.manifest.dataset.files
    for kind in TERM_FILES:
        if kind in files and sha256_file(files[kind].path) != files[kind].sha256:
            raise IncomparableError(
                f"the {kind} of the report changed (its hash differs)",
                where=files[kind].path,
                remedy="restore the original file, or run the benchmark again",
            )


def _dataset_of(source: ReportFolder, qrels: Qrels) -> Dataset:
    """Return the dataset of the report; with topics only if they are unchanged."""
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


def _read_old_mode(source: ReportFolder, mode: str, run: Run) -> ModeRun:
    result = source.report.modes[mode]
    without = {
        one.component: ModeRun(source.read_run_file(one.run, one.component), one.run, [])
        for one in source.report.components
        if one.mode == mode
    }
    return ModeRun(run, result.run, result.diagnostics.findings, without=without)


def extend_report(
    old: BenchmarkReport,
    config: BenchmarkConfig,
    dataset: Dataset,
    modes: dict[str, ModeRun],
    evaluation: Evaluation,
    added: MergedRun,
) -> BenchmarkReport:
    """Make a report again with one more run.

    Args:
        old: The report without the run.
        config: Its configuration.
        dataset: Its judgments, and its topics if they are unchanged.
        modes: Its modes, and the added run.
        evaluation: The scores of all of them.
        added: The added run.
    """
    manifest = old.manifest.model_copy(
        update={"merged": [*old.manifest.merged, added], "cache_key": None}
    )
    # Also in a report of fetched modes, the added run gets the diagnostics of a given run.
    config = config.model_copy(update={"runs": {**(config.runs or {}), added.name: added.path}})
    new = make_report(config, dataset, Modes(modes, old.unscored), evaluation, manifest)
    described = [*old.failing_queries, *(old.near_misses or ())]
    texts = {query.query_id: query.text for query in described}
    # The note on lost strata stays until the topics can be read again.
    lost = dataset.topics is None and (old.strata or STRATA_LOST in old.notes)
    notes = [note for note in old.notes if note != STRATA_LOST]
    changes = {
        "modes": {
            mode: _keep_old_parts(result, old.modes.get(mode)) for mode, result in new.modes.items()
        },
        "failing_queries": [_add_text(query, texts) for query in new.failing_queries],
        "near_misses": new.near_misses and [_add_text(one, texts) for one in new.near_misses],
        "notes": [*notes, STRATA_LOST] if lost else notes,
    }
    made = new.model_copy(update=changes)
    verdict = make_verdict(made, made.primary_measure, made.best_overall)  # with the old labels
    return made.model_copy(update={"verdict": verdict})


def _add_text(query: _Entry, texts: dict[str, str | None]) -> _Entry:
    """Return a query with its text, from the old report if the topics are not available."""
    return query.model_copy(update={"text": query.text or texts.get(query.query_id)})


def _keep_old_parts(result: ModeResult, old: ModeResult | None) -> ModeResult:
    """Return a mode's figures with the label, latency and diagnostics of the old report."""
    if old is None:
        return result
    parts = {"label": old.label, "latency_ms": old.latency_ms, "diagnostics": old.diagnostics}
    return result.model_copy(update=parts)
