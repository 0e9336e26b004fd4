"""``benchmark list``, ``show`` and ``verify``: commands on existing reports."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from trectools_plus import benchmark, reporting
from trectools_plus.cli.options.common import (
    Everything,
    Report,
    TableOptions,
    TextMarkdownJson,
    TextOrJson,
    measure_names,
    measure_option,
)
from trectools_plus.cli.printing import write_document
from trectools_plus.cli.verbosity import Verbosity, inform, note, show_progress
from trectools_plus.text import plural

_MOST_PROBLEMS = 30
"""Maximum number of problems of a report in text."""


def benchmark_list(
    folder: Annotated[
        Path, Argument(metavar="FOLDER", help="Folder that contains the report folders.")
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
    if not listing.reports:
        inform(f"no report in {folder}")
    write_document({"reports": [asdict(report) for report in listing.reports]}, output_format)


def benchmark_show(
    report: Report,
    paper: TableOptions,
    output_format: TextMarkdownJson = "text",
    table: Annotated[
        list[Path] | None,
        Option(
            help="Write the comparison table to a file ending in .tex, .md, .html, .csv, .json or "
            ".parquet, instead of printing the report; repeatable.",
        ),
    ] = None,
    everything: Everything = False,
    measure: Annotated[
        list[str] | None,
        measure_option(
            "in a table, the headline measures in .tex, .md and .html, all in other files"
        ),
    ] = None,
) -> None:
    """\b
    Examples:
      benchmark show results/20250131-120000-0f3a9c21
      benchmark show results/today/BenchmarkReport.json --format markdown
      benchmark show results/today --table paper/table.tex --table figures.csv
      benchmark show results/today --table t.tex -m nDCG@10,RR --systems rows --label tab:main
    """
    shown = benchmark.ReportFolder(report).report
    if table:
        chosen = reporting.report_table(shown, measure_names(measure) or None)
        reporting.write_table(chosen, *table, layout=paper.layout())
    elif output_format == "json":
        typer.echo(reporting.render_json(shown), nl=False)
    elif output_format == "markdown":
        typer.echo(reporting.render_markdown(shown), nl=False)
    else:
        notes = not Verbosity.current.quiet
        reporting.print_report(shown, sys.stdout, full=everything, notes=notes)


def benchmark_verify(report: Report, output_format: TextOrJson = "text") -> None:
    """The whole report is made again from the run files, the qrels, the topics and the
    configuration, and every file is compared with the one in the folder. Problems are listed with
    their location, and parts that cannot be made again as unproven. Exit code: 1 if there is a
    problem or another version wrote the report, 2 if a file is missing or cannot be read.

    Of a plan of judgments, the order in which people judged and the estimate are verified.

    \b
    Examples:
      benchmark verify results/20250131-120000-0f3a9c21
      benchmark verify results/today --format json
    """
    with show_progress() as progress:
        verified = benchmark.verify_report(report, progress)
    count, document = len(verified.problems), verified.as_dict()
    if output_format == "text":
        result = plural(count, "problem") if count else "all hold"
        document = {"result": result, **document, "problems": verified.problems[:_MOST_PROBLEMS]}
    write_document(document, output_format)
    if count:
        raise typer.Exit(1)
