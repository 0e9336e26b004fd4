"""All files of a report, in the benchmark's folder."""

from __future__ import annotations

from pathlib import Path

from trectools_plus.benchmark.runner import BenchmarkResult
from trectools_plus.formats.atomic import atomic_write
from trectools_plus.reporting.json_report import write_json
from trectools_plus.reporting.markdown import write_markdown

JSON_FILE = "BenchmarkReport.json"
MARKDOWN_FILE = "BenchmarkComparison.md"
PER_QUERY_FILE = "per_query.parquet"


def write_reports(result: BenchmarkResult) -> dict[str, Path]:
    """Write every rendering of a benchmark's report, each whole or not at all.

    Returns:
        The files: ``json``, ``markdown``, ``per_query``.

    Raises:
        InputError: If a file cannot be written.
    """
    folder = result.output_dir
    paths = {
        "per_query": folder / PER_QUERY_FILE,
        "markdown": folder / MARKDOWN_FILE,
        "json": folder / JSON_FILE,
    }
    with atomic_write(paths["per_query"], "wb") as stream:
        result.per_query.write_parquet(stream)
    write_markdown(result.report, paths["markdown"])
    # Last, so that a report is there only when everything it speaks of is.
    write_json(result.report, paths["json"])
    return paths
