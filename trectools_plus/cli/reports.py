"""``benchmark list``, ``show``, ``verify`` and ``merge``: what to do with reports later."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from trectools_plus.cli.printing import write_json
from trectools_plus.errors import UsageError

if TYPE_CHECKING:
    from trectools_plus.benchmark.report.listing import ListedReport

Report = Annotated[
    Path, typer.Argument(metavar="REPORT", help="BenchmarkReport.json, or its folder.")
]


def benchmark_list(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where the output folders are.")
    ] = Path("results"),
    output_format: Annotated[
        Literal["text", "json"],
        typer.Option("--format", help="text to read, json for programs."),
    ] = "text",
) -> None:
    """List the reports of a folder, the newest first.

    \b
    Examples:
      benchmark list
      benchmark list results --format json
    """
    from trectools_plus.benchmark.report.listing import list_reports

    listing = list_reports(folder)
    for problem in listing.problems:
        typer.echo(f"note: {problem}", err=True)
    if output_format == "json":
        write_json({"reports": [one.as_dict() for one in listing.reports]})
    elif listing.reports:
        _print_list(listing.reports)
    else:
        typer.echo(f"no report in {folder}", err=True)


def benchmark_show(
    report: Report,
    output_format: Annotated[
        Literal["text", "markdown", "json", "latex", "csv"],
        typer.Option(
            "--format",
            help="text to read, markdown and json for the whole report; latex and csv for its "
            "comparison table alone.",
        ),
    ] = "text",
    table: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Write the comparison table to a file ending in .tex, .md, .csv, .json or "
            ".parquet, and show nothing; may be repeated.",
        ),
    ] = None,
) -> None:
    """Show a report again, or write its table for a paper.

    \b
    Examples:
      benchmark show results/20250131-120000-0f3a9c21
      benchmark show results/today/BenchmarkReport.json --format markdown
      benchmark show results/today --table paper/table.tex --table figures.csv
    """
    from trectools_plus.benchmark.report.folder import ReportFolder
    from trectools_plus.reporting.comparison import report_table
    from trectools_plus.reporting.export import table_as_csv, table_as_latex, write_table
    from trectools_plus.reporting.files import render_json
    from trectools_plus.reporting.markdown.report import render_markdown
    from trectools_plus.reporting.terminal import print_report

    found = ReportFolder(report).report
    if table:
        write_table(report_table(found), *table)
    elif output_format == "latex":
        typer.echo(table_as_latex(report_table(found)), nl=False)
    elif output_format == "csv":
        typer.echo(table_as_csv(report_table(found)), nl=False)
    elif output_format == "json":
        typer.echo(render_json(found), nl=False)
    elif output_format == "markdown":
        typer.echo(render_markdown(found), nl=False)
    else:
        manifest = found.manifest
        typer.echo(f"{manifest.experiment_id}, {manifest.created_at}")
        print_report(found, sys.stdout)


def benchmark_verify(report: Report) -> None:
    """Score the runs of a report again, and see that its figures hold.

    Every mean, interval, difference and p-value, and every value per query, is computed from the
    run files and the qrels beside the report. Exit code 1: a figure differs or a file changed;
    each is named. 2: a file is missing or cannot be read.

    \b
    Examples:
      benchmark verify results/20250131-120000-0f3a9c21
      benchmark verify results/today/BenchmarkReport.json
    """
    from trectools_plus.benchmark.verify import verify_report
    from trectools_plus.progress import progress_bar
    from trectools_plus.text import plural

    with progress_bar() as progress:
        found = verify_report(report, progress)
    for problem in found.problems:
        typer.echo(problem)
    checked = f"{plural(found.figures, 'figure')} and {plural(found.files, 'file')} checked"
    if found.problems:
        typer.echo(f"{checked}: {plural(len(found.problems), 'problem')}")
        raise typer.Exit(1)
    typer.echo(f"{checked}: all hold")


def benchmark_merge(
    report: Report,
    run: Annotated[
        str,
        typer.Option(
            metavar="NAME=FILE",
            help="The run to add, and what to call it; FILE may be - for standard input.",
        ),
    ],
) -> None:
    """Add a run to a report, and render the report again.

    The run is scored against the report's own judgments, and compared with every mode in it. A run
    of other queries is refused with exit code 3.

    \b
    Examples:
      benchmark merge results/today --run mine=mine.run
    """
    from trectools_plus.benchmark.merge import merge_run
    from trectools_plus.progress import progress_bar
    from trectools_plus.reporting.files import write_reports
    from trectools_plus.reporting.terminal import print_report

    name, equals, path = run.partition("=")
    if not (name and equals and path):
        raise UsageError(
            f"expected NAME=FILE but got '{run}'", where="--run", remedy="write --run mine=mine.run"
        )
    with progress_bar() as progress:
        result = merge_run(report, name, path, progress)
    files = write_reports(result)
    print_report(result.report, sys.stdout)
    typer.echo(f"\nreport   {files['json']}")


def _print_list(reports: list[ListedReport]) -> None:
    from trectools_plus.reporting.table import Table
    from trectools_plus.reporting.terminal import print_table
    from trectools_plus.text import make_console

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
    print_table(make_console(sys.stdout), Table.of(header, rows))
