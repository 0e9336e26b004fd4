"""``extraction sweep``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from trectools_plus.cli.extraction_options import (
    Dataset,
    Folder,
    OntologyFile,
    Resamples,
    Seed,
    View,
)
from trectools_plus.errors import UsageError


def extraction_sweep(
    folder: Folder,
    dataset: Dataset = None,
    ontology: OntologyFile = None,
    output_dir: Annotated[
        Path | None, typer.Option(help="Write sweep.json and the plot into this folder.")
    ] = None,
    systems: Annotated[
        str,
        typer.Option(help="With commas: both, dictionary, retrieval, unverified."),
    ] = "both,dictionary,retrieval,unverified",
    parameter: Annotated[
        str, typer.Option(help="The setting to vary, such as min_confidence or num_results.")
    ] = "min_confidence",
    values: Annotated[
        str | None, typer.Option(help="Its values, with commas [default: 0, 0.1, … 0.9, 0.95].")
    ] = None,
    view: View = "present",
    resamples: Resamples = 10_000,
    seed: Seed = 42,
    output_format: Annotated[
        Literal["text", "json"],
        typer.Option("--format", help="text to read, json for programs."),
    ] = "text",
) -> None:
    """Vary one setting, and show how precision and recall trade off.

    Each system is scored with each value (micro, exact). Since the best of several values looks
    better than it is, every document is also scored with the value that was best on the others.

    \b
    Examples:
      extraction sweep data --dataset GeneReviews --output-dir results/sweep
      extraction sweep data --systems both --parameter num_results --values 1,5,10,30
    """
    from trectools_plus.cli.printing import write_json
    from trectools_plus.extraction.scores import Resampling
    from trectools_plus.extraction.sweep import DEFAULT_VALUES, sweep
    from trectools_plus.progress import progress_bar
    from trectools_plus.reporting.extraction import print_sweep, sweep_document, write_sweep
    from trectools_plus.text import split_list

    with progress_bar() as progress:
        found = sweep(
            folder,
            dataset=dataset,
            ontology=ontology,
            systems=split_list(systems),
            parameter=parameter.replace("-", "_"),
            values=DEFAULT_VALUES if values is None else _numbers(values),
            view=view,
            resampling=Resampling(resamples, seed),
            progress=progress,
        )
    files = [] if output_dir is None else write_sweep(found, output_dir)
    if output_format == "json":
        write_json(sweep_document(found))
    else:
        print_sweep(found, sys.stdout)
        for file in files:
            typer.echo(f"written  {file}")


def _numbers(text: str) -> list[float]:
    from trectools_plus.text import split_list

    try:
        return [float(part) for part in split_list(text)]
    except ValueError as error:
        raise UsageError(
            f"expected numbers but got '{text}'", where="--values", remedy="write 0.3,0.5,0.7"
        ) from error
