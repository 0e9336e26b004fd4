"""What a command that makes a benchmark does with its result: reports, a table, an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from trectools_plus.errors import CheckFailedError

if TYPE_CHECKING:
    from trectools_plus.benchmark.config import BenchmarkConfig
    from trectools_plus.benchmark.runner import BenchmarkResult


def report_benchmark(
    config: BenchmarkConfig,
    argv: Sequence[str],
    *,
    cached: bool,
    ir_metadata: bool = False,
    as_json: bool = False,
    scheduler: str | None = None,
) -> None:
    """Run a benchmark with a progress bar, write its report and print it.

    Args:
        config: What to do.
        argv: The command line, for the manifest.
        cached: Whether earlier results of the same may come back.
        ir_metadata: Write the runs once more with a header.
        as_json: Print the report instead of the table.
        scheduler: Spread the work over the workers of this scheduler.
    """
    from trectools_plus.benchmark.runner import run_benchmark
    from trectools_plus.distributed import use_scheduler
    from trectools_plus.progress import progress_bar
    from trectools_plus.provenance import format_command
    from trectools_plus.reporting.files import write_reports

    with use_scheduler(scheduler), progress_bar() as progress:
        result = run_benchmark(config, progress, command=format_command(argv), cached=cached)
    files = write_reports(result, ir_metadata=ir_metadata)
    if as_json:
        from trectools_plus.reporting.files import render_json

        typer.echo(render_json(result.report), nl=False)
    else:
        _print_result(result, files)
    _refuse_unscored(result)


def _refuse_unscored(result: BenchmarkResult) -> None:
    """A report without some of the modes is written all the same, and is no success."""
    unscored = result.report.unscored
    if unscored:
        all_modes = len(unscored) + len(result.report.modes)
        reasons = "; ".join(f"{one.label} is {one.status}" for one in unscored.values())
        raise CheckFailedError(
            f"{len(unscored)} of {all_modes} modes could not be scored: {reasons}",
            where=str(result.output_dir),
            remedy="the report says why",
        )


def _print_result(result: BenchmarkResult, files: dict[str, Path]) -> None:
    from trectools_plus.reporting.terminal import print_report

    print_report(result.report, sys.stdout)
    typer.echo(
        f"\nreport   {files['html']}\n         {files['markdown']}\n         {files['json']}"
    )
    typer.echo(f"runs     {result.output_dir / 'runs'}")
