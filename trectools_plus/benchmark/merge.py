"""Adding a run to an existing report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from trectools_plus.benchmark.rebuild import STRATA_LOST, StoredInputs, add_texts
from trectools_plus.benchmark.report import BenchmarkReport, MergedRun, ModeResult
from trectools_plus.benchmark.report.folder import ReportFolder
from trectools_plus.benchmark.report.verdict import add_result
from trectools_plus.benchmark.run.config import RUN_NAME
from trectools_plus.benchmark.run.dataset import TERM_FILES, Dataset
from trectools_plus.benchmark.run.runner import BenchmarkResult, run_on_inputs
from trectools_plus.errors import IncomparableError, UsageError
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.progress import Progress, no_progress


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
    _check_name(name, source.report)
    _refuse_changed_terms(source.report)
    digest = "" if run_path == "-" else sha256_file(run_path)
    added = MergedRun(name=name, path=run_path, sha256=digest)
    inputs = StoredInputs(source, source.folder, added)
    result = run_on_inputs(inputs, progress or no_progress)
    dataset = result.dataset
    assert dataset is not None
    return replace(
        result,
        report=_keep_old(source.report, result.report, dataset, added),
        dataset=replace(dataset, corpus=None),
        latency=source.latency,
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


def _keep_old(
    old: BenchmarkReport, made: BenchmarkReport, dataset: Dataset, added: MergedRun
) -> BenchmarkReport:
    """Return the new report with everything that the added run does not change.

    Args:
        old: The report without the run.
        made: The report with it.
        dataset: The judgments, and the topics if they are unchanged.
        added: The run.
    """
    manifest = old.manifest.model_copy(
        update={"merged": [*old.manifest.merged, added], "cache_key": None}
    )
    # The note on lost strata stays until the topics can be read again.
    lost = dataset.topics is None and (old.strata or STRATA_LOST in old.notes)
    notes = [note for note in old.notes if note != STRATA_LOST]
    changes = {
        "manifest": manifest,
        "unscored": old.unscored,
        "modes": {
            mode: _keep_old_parts(result, old.modes.get(mode))
            for mode, result in made.modes.items()
        },
        "notes": [*notes, STRATA_LOST] if lost else notes,
    }
    # The verdict has the old labels.
    return add_result(add_texts(made, old).model_copy(update=changes))


def _keep_old_parts(result: ModeResult, old: ModeResult | None) -> ModeResult:
    """Return a mode's figures with the label, latency and diagnostics of the old report."""
    if old is None:
        return result
    latency = result.latency_ms or old.latency_ms
    parts = {"label": old.label, "latency_ms": latency, "diagnostics": old.diagnostics}
    return result.model_copy(update=parts)
