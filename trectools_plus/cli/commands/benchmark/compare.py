"""``benchmark compare``: two reports, or two configurations."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from trectools_plus import benchmark, reporting
from trectools_plus.cli.options.common import Everything
from trectools_plus.cli.printing import write_as, write_document


def benchmark_compare(
    first: Annotated[
        Path,
        typer.Argument(metavar="A", help="A BenchmarkReport.json, or its folder."),
    ],
    second: Annotated[Path, typer.Argument(metavar="B", help="The report to compare with A.")],
    test: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Paired test that decides on significance, adjusted by Holm: t_test, "
            "paired_bootstrap, randomisation or wilcoxon.",
        ),
    ] = "t_test",
    output_format: Annotated[
        Literal["table", "markdown", "json"],
        typer.Option(
            "--format", help="Output format: table to read, markdown for a page, json for programs."
        ),
    ] = "table",
    everything: Everything = False,
) -> None:
    """The modes and measures that both reports contain are compared, with intervals, tests,
    latency, and the queries that changed most. Exit code 3: the reports use different qrels,
    queries or documents.

    \b
    Examples:
      benchmark compare results/monday results/tuesday
      benchmark compare results/monday results/tuesday --test wilcoxon --format markdown
    """
    contrast = benchmark.compare_reports(first, second, test=test)
    write_as(
        output_format,
        json=lambda: write_document(reporting.contrast_document(contrast)),
        markdown=lambda: reporting.markdown(reporting.contrast_blocks(contrast)),
        table=lambda: reporting.print_blocks(
            reporting.contrast_blocks(contrast, full=everything), sys.stdout, folds=everything
        ),
    )
