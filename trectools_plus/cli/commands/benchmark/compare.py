"""``benchmark compare``: two reports, or two configurations."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from trectools_plus import benchmark, reporting
from trectools_plus.cli.options.common import Everything
from trectools_plus.cli.printing import write_json
from trectools_plus.cli.verbosity import inform, show_progress
from trectools_plus.provenance import format_command


def benchmark_compare(
    first: Annotated[
        Path,
        typer.Argument(
            metavar="A", help="A BenchmarkReport.json, its folder, or a benchmark.yaml to run."
        ),
    ],
    second: Annotated[
        Path, typer.Argument(metavar="B", help="The report or configuration to compare with A.")
    ],
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
    latency, and the queries that changed most. A file ending in .yaml is a configuration: its
    benchmark runs first, and writes its report to the folder that the configuration names. Exit
    code 3: the reports use different qrels, queries or documents.

    \b
    Examples:
      benchmark compare results/monday results/tuesday
      benchmark compare k1-0.9.yaml k1-1.2.yaml --format markdown
      benchmark compare a.yaml b.yaml --test wilcoxon
    """
    contrast = benchmark.compare_reports(_report_of(first), _report_of(second), test=test)
    if output_format == "json":
        write_json(reporting.contrast_document(contrast))
    else:
        blocks = reporting.contrast_blocks(contrast, full=everything or output_format == "markdown")
        reporting.print_blocks(blocks, folds=everything, kind=output_format)


def _report_of(path: Path) -> Path:
    """Return the report itself, or the folder of the benchmark that a configuration describes."""
    if path.suffix not in (".yaml", ".yml"):
        return path
    command = format_command([sys.argv[0], "benchmark", "run", "--config", str(path)])
    config = benchmark.load_config(path)
    with show_progress() as progress:
        result = benchmark.run_benchmark(config, progress, command=command, cached=True)
    reporting.write_reports(result)
    inform(f"{path}: {result.output_dir}")
    return result.output_dir
