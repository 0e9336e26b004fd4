"""``benchmark compare``: two reports, or two configurations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from trectools_plus import benchmark, reporting
from trectools_plus.cli.options.common import Everything, TextMarkdownJson
from trectools_plus.cli.printing import print_result


def benchmark_compare(
    first: Annotated[
        Path,
        Argument(metavar="A", help="A BenchmarkReport.json, or its folder."),
    ],
    second: Annotated[Path, Argument(metavar="B", help="The report to compare with A.")],
    test: Annotated[
        str,
        Option(
            metavar="NAME",
            help="Paired test that decides on significance, adjusted by Holm: t_test, "
            "paired_bootstrap, randomisation or wilcoxon.",
        ),
    ] = "t_test",
    output_format: TextMarkdownJson = "text",
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
    full = everything or output_format == "markdown"
    print_result(
        output_format,
        reporting.contrast_document(contrast),
        reporting.contrast_blocks(contrast, full=full),
        folds=everything,
    )
