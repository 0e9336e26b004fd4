"""``benchmark multilingual``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from trectools_plus.cli.benchmark_options import (
    Depth,
    MeasureOptions,
    NoCache,
    OntologyFile,
    ResamplingOptions,
)
from trectools_plus.cli.option_groups import AnnotationsFile, with_groups
from trectools_plus.cli.retrieval_options import RetrievalOptions


@with_groups
def benchmark_multilingual(
    *,
    sets: Annotated[
        list[str],
        typer.Argument(metavar="SET...", help="Test sets, one a language: shipped names or files."),
    ],
    modes: Annotated[
        str | None,
        typer.Option(
            help="Modes to fetch, with commas: lexical,vector,hybrid (the default); others as in "
            "benchmark run."
        ),
    ] = None,
    output_dir: Annotated[
        Path, typer.Option(help="Folder for all reports, one in it for each language.")
    ] = Path("results/multilingual"),
    retrieval: RetrievalOptions,
    ontology: OntologyFile = None,
    depth: Depth = None,
    measures: MeasureOptions,
    annotations: AnnotationsFile = None,
    resampling: ResamplingOptions,
    no_cache: NoCache = False,
    output_format: Annotated[
        Literal["text", "markdown", "json"],
        typer.Option("--format", help="text to read, markdown for a page, json for programs."),
    ] = "text",
) -> None:
    """Evaluate test sets of several languages over the HPO, each language apart.

    Each language gets a report of its own, in a folder named after it. Over their means: the
    unweighted mean, the variance across languages and the gap between best and worst. No figure
    pools queries of two languages; two sets of one language, or a set in several, are refused.
    Written besides: MultilingualReport.json and MultilingualComparison.md.

    \b
    Examples:
      benchmark multilingual hpo-en-tiny hpo-de-tiny hpo-fr-tiny
      benchmark multilingual hpo-en-standard mine-de.json --modes lexical,vector -m RR@10
      benchmark multilingual hpo-en-tiny hpo-de-tiny --multi-vector --embedding-model models/e5
    """
    from trectools_plus.benchmark.multilingual import run_multilingual
    from trectools_plus.progress import progress_bar
    from trectools_plus.provenance import format_command
    from trectools_plus.reporting.results.multilingual import (
        print_multilingual,
        render_multilingual_json,
        render_multilingual_markdown,
        write_multilingual,
    )
    from trectools_plus.text import split_list

    values = retrieval.values()
    options: dict[str, Any] = {
        "output_dir": output_dir,
        "modes": split_list(modes) if modes is not None else None,
        "depth": depth,
        **measures.values(),
        "ontology": ontology,
        "annotations": annotations,
        **vars(resampling),
        "retrieval": values or None,
    }
    with progress_bar() as progress:
        result = run_multilingual(
            sets,
            options,
            progress,
            command=format_command(sys.argv),
            cached=not no_cache,
        )
    files = write_multilingual(result)
    if output_format == "json":
        typer.echo(render_multilingual_json(result.report), nl=False)
    elif output_format == "markdown":
        typer.echo(render_multilingual_markdown(result.report), nl=False)
    else:
        print_multilingual(result.report, sys.stdout)
        typer.echo(f"\nreport   {files['markdown']}\n         {files['json']}")
        for language in result.results:
            typer.echo(f"{language:<8} {files[language]}")
