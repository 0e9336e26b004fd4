"""``benchmark compare``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer


def benchmark_compare(
    first: Annotated[
        Path, typer.Argument(metavar="A", help="A report, its folder, or a benchmark.yaml to run.")
    ],
    second: Annotated[Path, typer.Argument(metavar="B", help="What A is compared with.")],
    output_format: Annotated[
        Literal["table", "markdown", "json"],
        typer.Option("--format", help="table to read, markdown for a page, json for programs."),
    ] = "table",
) -> None:
    """Compare two reports, or two configurations, query by query: B minus A.

    Every mode that both hold is compared on every measure that both hold, with intervals, tests,
    latency, and the queries that changed most. Reports over other qrels, queries or documents are
    refused with exit code 3. A file ending in .yaml is a configuration: it is run first, and its
    report is written where the configuration says.

    \b
    Examples:
      benchmark compare results/monday results/tuesday
      benchmark compare k1-0.9.yaml k1-1.2.yaml --format markdown
    """
    from trectools_plus.benchmark.compare.compare_reports import compare_reports
    from trectools_plus.cli.printing import write_json
    from trectools_plus.reporting.results.compare_reports import (
        contrast_document,
        print_contrast,
        render_contrast_markdown,
    )

    contrast = compare_reports(_report_of(first), _report_of(second))
    if output_format == "json":
        write_json(contrast_document(contrast))
    elif output_format == "markdown":
        typer.echo(render_contrast_markdown(contrast), nl=False)
    else:
        print_contrast(contrast, sys.stdout)


def _report_of(path: Path) -> Path:
    """The report itself, or the folder of the benchmark that a configuration asks for."""
    if path.suffix not in (".yaml", ".yml"):
        return path
    from trectools_plus.benchmark.run.config_file import load_config
    from trectools_plus.benchmark.run.runner import run_benchmark
    from trectools_plus.progress import progress_bar
    from trectools_plus.provenance import format_command
    from trectools_plus.reporting.files import write_reports

    settings = load_config(path)
    command = format_command([sys.argv[0], "benchmark", "run", "--config", str(path)])
    with progress_bar() as progress:
        result = run_benchmark(settings, progress, command=command, cached=True)
    write_reports(result)
    typer.echo(f"{path}: {result.output_dir}", err=True)
    return result.output_dir
