"""All files of a report, in the benchmark's folder."""

from __future__ import annotations

from pathlib import Path

from trectools_plus.benchmark.output_folder import REPORT_FILE
from trectools_plus.benchmark.report import read_report
from trectools_plus.benchmark.runner import BenchmarkResult
from trectools_plus.errors import UsageError
from trectools_plus.formats.atomic import atomic_write
from trectools_plus.reporting.json_report import write_json
from trectools_plus.reporting.markdown import write_markdown

MARKDOWN_FILE = "BenchmarkComparison.md"
PER_QUERY_FILE = "per_query.parquet"


def write_reports(result: BenchmarkResult) -> dict[str, Path]:
    """Put a benchmark's files into its output folder: all of them, or none.

    The run files, the qrels and every rendering of the report are written beside each other
    first, the JSON is read back, and then all are moved. Files of an earlier benchmark in the
    folder are replaced, its run files removed; if anything fails they stay as they were.

    Returns:
        The files: ``json``, ``markdown``, ``per_query``.

    Raises:
        InputError: If a file cannot be written.
        UsageError: If this result was written already.
    """
    folder = result.folder
    if not folder.discard.alive:
        raise UsageError(
            "this result was written, or given up, already",
            where=str(folder.path),
            remedy="run the benchmark again",
        )
    try:
        with folder.naming():
            with atomic_write(folder.partial / PER_QUERY_FILE, "wb") as stream:
                result.per_query.write_parquet(stream)
            write_markdown(result.report, folder.partial / MARKDOWN_FILE)
            write_json(result.report, folder.partial / REPORT_FILE)
            read_report(folder.partial / REPORT_FILE)
        folder.publish(keep=_given_files(result))
    except BaseException:
        folder.discard()
        raise
    return {
        "json": folder.path / REPORT_FILE,
        "markdown": folder.path / MARKDOWN_FILE,
        "per_query": folder.path / PER_QUERY_FILE,
    }


def _given_files(result: BenchmarkResult) -> frozenset[Path]:
    """The run files that were compared: they may lie in the output folder."""
    sources = (mode.run.source for mode in result.report.modes.values())
    return frozenset(Path(source.path).resolve() for source in sources if source is not None)
