"""``benchmark list``, ``show`` and ``verify``: commands on existing reports."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from trectools_plus import benchmark, measures, reporting
from trectools_plus.cli.options.common import (
    Everything,
    Report,
    TableOptions,
    TextOrJson,
    measure_option,
)
from trectools_plus.cli.options.groups import with_groups
from trectools_plus.cli.printing import print_table, write_json
from trectools_plus.cli.verbosity import inform, is_quiet, note, show_progress
from trectools_plus.text import plural

_MOST_PROBLEMS = 30
"""Maximum number of printed problems of a report."""


def benchmark_list(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder that contains the report folders.")
    ] = Path("results"),
    output_format: TextOrJson = "text",
) -> None:
    """\b
    Examples:
      benchmark list
      benchmark list results --format json
    """
    listing = benchmark.list_reports(folder)
    for problem in listing.problems:
        note(problem)
    if output_format == "json":
        write_json({"reports": [asdict(one) for one in listing.reports]})
    elif listing.reports:
        _print_list(listing.reports)
    else:
        inform(f"no report in {folder}")


@with_groups
def benchmark_show(
    *,
    report: Report,
    output_format: Annotated[
        Literal["text", "markdown", "json", "latex", "csv"],
        typer.Option(
            "--format",
            help="Output format: text, markdown or json for the whole report; latex or csv for "
            "its comparison table only.",
        ),
    ] = "text",
    table: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Write the comparison table to a file ending in .tex, .md, .html, .csv, .json or "
            ".parquet, instead of printing the report; repeatable.",
        ),
    ] = None,
    everything: Everything = False,
    measure: Annotated[
        list[str] | None,
        measure_option(
            "the headline measures in .tex, .md and .html, all in other files",
            "Measures of the table",
        ),
    ] = None,
    paper: TableOptions,
) -> None:
    """\b
    Examples:
      benchmark show results/20250131-120000-0f3a9c21
      benchmark show results/today/BenchmarkReport.json --format markdown
      benchmark show results/today --table paper/table.tex --table figures.csv
      benchmark show results/today --table t.tex -m nDCG@10,RR --systems rows --label tab:main
    """
    found = benchmark.ReportFolder(report).report
    names = measures.split_names(",".join(measure)) if measure else None
    if table:
        reporting.write_table(reporting.report_table(found, names), *table, layout=paper.layout())
    elif output_format == "latex":
        shown = reporting.report_table(found, names)
        typer.echo(reporting.table_as_latex(shown, paper.layout()), nl=False)
    elif output_format == "csv":
        typer.echo(reporting.table_as_csv(reporting.report_table(found, names)), nl=False)
    elif output_format == "json":
        typer.echo(reporting.render_json(found), nl=False)
    elif output_format == "markdown":
        typer.echo(reporting.render_markdown(found), nl=False)
    else:
        manifest = found.manifest
        reporting.print_report(
            found, sys.stdout, full=everything, notes=not is_quiet(), lines_after=1
        )
        typer.echo(f"{manifest.experiment_id}, {manifest.created_at}")


def benchmark_verify(
    report: Report,
    output_format: TextOrJson = "text",
    every: Annotated[bool, typer.Option("--all", help="Print every problem.")] = False,
) -> None:
    """The whole report is made again from the run files, the qrels, the topics and the
    configuration, and every file is compared with the one in the folder. Problems are listed with
    their location, and parts that cannot be made again as unproven. Exit code: 1 if there is a
    problem or another version wrote the report, 2 if a file is missing or cannot be read.

    Of a plan of judgments, the order in which people judged and the estimate are verified.

    \b
    Examples:
      benchmark verify results/20250131-120000-0f3a9c21
      benchmark verify results/today --all
    """
    with show_progress() as progress:
        found = benchmark.verify_report(report, progress)
    if output_format == "json":
        write_json(found.as_dict())
    else:
        _print_verification(found, every=every)
    if found.problems:
        raise typer.Exit(1)


def _print_verification(found: reporting.Verification, *, every: bool) -> None:
    checked = f"{plural(found.figures, 'figure')} and {plural(found.files, 'file')} checked"
    if found.problems:
        typer.echo(f"{checked}: {plural(len(found.problems), 'problem')}")
    else:
        typer.echo(f"{checked}: all hold")
    shown = found.problems if every else found.problems[:_MOST_PROBLEMS]
    for problem in shown:
        typer.echo(f"  {problem}")
    if len(shown) < len(found.problems):
        typer.echo(f"  … and {len(found.problems) - len(shown)} more: --all lists them")
    for warning in found.warnings:
        typer.echo(f"warning: {warning}")
    if found.unproven:
        typer.echo(f"unproven: {'; '.join(found.unproven)}")


def _print_list(reports: list[benchmark.ListedReport]) -> None:
    rows = [
        [
            one.folder,
            one.created_at[:16],
            one.dataset,
            f"{one.queries:,}",
            ", ".join(one.modes) if len(one.modes) < 4 else f"{len(one.modes)} modes",
            one.best,
        ]
        for one in reports
    ]
    header = ["Folder", "Made", "Dataset", "Queries", "Modes", "Best"]
    print_table(header, rows)
