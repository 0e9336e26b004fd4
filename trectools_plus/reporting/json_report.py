"""``BenchmarkReport.json``."""

from __future__ import annotations

from pathlib import Path

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.formats.atomic import atomic_write


def render_json(report: BenchmarkReport) -> str:
    """The report as JSON: two blanks of indent, floats by their shortest exact spelling."""
    return report.model_dump_json(indent=2) + "\n"


def write_json(report: BenchmarkReport, path: str | Path) -> None:
    """Write the report as JSON, whole or not at all.

    Raises:
        InputError: If the file cannot be written.
    """
    with atomic_write(path) as stream:
        stream.write(render_json(report))
