"""``benchmark list``, ``show`` and ``verify``: commands on existing reports."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from trectools_plus import benchmark, reporting
from trectools_plus.cli.options.common import (
    Everything,
    Report,
    TableOptions,
    TextOrJson,
    measure_option,
)
from trectools_plus.cli.options.groups import with_groups
from trectools_plus.cli.options.runs import split_measures
from trectools_plus.cli.printing import write_as, write_document
from trectools_plus.cli.verbosity import inform, is_quiet, note, show_progress

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
    if not listing.reports:
        inform(f"no report in {folder}")
    write_document({"reports": [asdict(report) for report in listing.reports]}, output_format)


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
    shown, layout = benchmark.ReportFolder(report).report, paper.layout()

    def chosen() -> Any:
        return reporting.report_table(shown, split_measures([], measure)[1] or None)

    if table:
        reporting.write_table(chosen(), *table, layout=layout)
        return
    write_as(
        output_format,
        latex=lambda: reporting.table_as_latex(chosen(), layout),
        csv=lambda: reporting.table_as_csv(chosen()),
        json=lambda: reporting.render_json(shown),
        markdown=lambda: reporting.render_markdown(shown),
        text=lambda: reporting.print_report(
            shown, sys.stdout, full=everything, notes=not is_quiet(), lines_after=0
        ),
    )


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
    document = found.as_dict()
    if output_format == "text" and not every:
        document["problems"] = found.problems[:_MOST_PROBLEMS]
        document["further problems"] = max(0, len(found.problems) - _MOST_PROBLEMS) or None
    write_document(document, output_format)
    if found.problems:
        raise typer.Exit(1)
