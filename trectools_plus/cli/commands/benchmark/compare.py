"""``benchmark compare`` and ``benchmark reproduce``: two reports, or two runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from trectools_plus import benchmark, measures, reporting
from trectools_plus.choices import TestName
from trectools_plus.cli import completion
from trectools_plus.cli.options.common import Everything, measure_option
from trectools_plus.cli.options.runs import name_files, parse_runs
from trectools_plus.cli.printing import write_json
from trectools_plus.cli.verbosity import inform, show_progress
from trectools_plus.errors import UsageError
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
            autocompletion=completion.complete_words(list(get_args(TestName))),
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
    elif output_format == "markdown":
        typer.echo(reporting.render_contrast_markdown(contrast), nl=False)
    else:
        reporting.print_contrast(contrast, sys.stdout, full=everything)


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


def benchmark_reproduce(
    original: Annotated[
        str,
        typer.Argument(
            metavar="A", help="The original: a BenchmarkReport.json, its folder, or a run file."
        ),
    ],
    reproduction: Annotated[
        str,
        typer.Argument(
            metavar="B", help="The reproduction, in the same forms; NAME=FILE names a run."
        ),
    ],
    qrels: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Judgments of run files; twice if those of A and B differ.  [default: those of "
            "the report]",
        ),
    ] = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|FILE",
            help="Mode of the reports, or run file, for effect ratio and delta relative "
            "improvement; twice if those of A and B differ.  [default: the baseline of the report]",
        ),
    ] = None,
    measure: Annotated[
        list[str] | None, measure_option("the headline measures of the report")
    ] = None,
    replication: Annotated[
        bool,
        typer.Option(
            "--replication",
            help="B has other queries or judgments: compare means and improvements only.",
        ),
    ] = False,
    show_all: Annotated[bool, typer.Option("--all", help="Print all modes and measures.")] = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a heatmap of the similarity of each two runs, ending in .png or .svg.",
        ),
    ] = None,
    output_format: Annotated[
        Literal["table", "markdown", "json"],
        typer.Option(
            "--format", help="Output format: table to read, markdown for a page, json for programs."
        ),
    ] = "table",
) -> None:
    """Modes with the same name are compared, or the only mode of A with the only one of B: their
    rankings (rank-biased overlap, Kendall's tau), their scores (RMSE, t-test) and, with a baseline,
    their improvement over it. Exit code 3: A and B have different queries or judgments.

    \b
    Examples:
      benchmark reproduce results/original results/again
      benchmark reproduce theirs.run mine.run --qrels qrels.txt
      benchmark reproduce a.run b.run --qrels q.txt --baseline bm25-a.run --baseline bm25-b.run
      benchmark reproduce results/robust04 results/core17 --replication --baseline bm25
      benchmark reproduce results/original results/again --plot similarity.png
    """
    found = benchmark.compare_reproduction(
        _open(original),
        _open(reproduction),
        qrels=_one_or_two(qrels, "--qrels"),
        measures=None if measure is None else measures.split_names(",".join(measure)),
        baseline=_one_or_two(baseline, "--baseline"),
        replication=replication,
    )
    if plot is not None:
        reporting.write_similarity(found, plot)
        inform(f"heatmap  {plot}")
    if output_format == "json":
        write_json(reporting.reproduction_document(found))
    elif output_format == "markdown":
        typer.echo(reporting.render_reproduction_markdown(found), nl=False)
    else:
        reporting.print_reproduction(found, sys.stdout, everything=show_all)


def _open(source: str) -> str | dict[str, str]:
    """Return a report's path, or a run by its name."""
    path = Path(source)
    if path.is_dir() or (path.suffix == ".json" and "=" not in source):
        return source
    return name_files(parse_runs([source], "--runs"))


def _one_or_two(values: list[str] | None, option: str) -> str | tuple[str, str] | None:
    if not values:
        return None
    if len(values) > 2:
        raise UsageError(
            f"expected at most two values but got {len(values)}",
            where=option,
            remedy="give one for A and B, or one for each",
        )
    return values[0] if len(values) == 1 else (values[0], values[1])
