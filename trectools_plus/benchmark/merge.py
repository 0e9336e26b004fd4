"""Adding a run to an existing report."""

from __future__ import annotations

from pathlib import Path

from trectools_plus.benchmark.rebuild import rebuild_result
from trectools_plus.benchmark.report import BenchmarkReport, MergedRun
from trectools_plus.benchmark.report.folder import ReportFolder
from trectools_plus.benchmark.run.config import RUN_NAME
from trectools_plus.benchmark.run.dataset import TERM_FILES
from trectools_plus.benchmark.run.runner import BenchmarkResult
from trectools_plus.errors import IncomparableError, UsageError
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.progress import Progress, no_progress


def merge_run(
    path: str | Path, name: str, run_path: str, progress: Progress | None = None
) -> BenchmarkResult:
    """Add a run to a report: score it against the same judgments and compare it with every mode.

    Nothing is written yet: :func:`trectools_plus.reporting.files.write_reports` writes all files
    of the report again. The other modes keep their runs and latencies. Strata are computed again,
    or replaced by a note if the topics can no longer be read unchanged.

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
    return rebuild_result(source, source.folder, progress or no_progress, added).result


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
