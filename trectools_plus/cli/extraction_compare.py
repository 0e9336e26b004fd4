"""``extraction compare``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from trectools_plus.cli.extraction_options import (
    Confidence,
    Resamples,
    Seed,
    View,
)


def extraction_compare(
    first: Annotated[
        Path, typer.Argument(metavar="A", help="ExtractionReport.json, or its folder.")
    ],
    second: Annotated[Path, typer.Argument(metavar="B", help="What A is compared with.")],
    view: View = "present",
    matching: Annotated[
        Literal["exact", "soft"],
        typer.Option(help="exact, or soft: ontology-aware with partial credit."),
    ] = "exact",
    confidence: Confidence = 0.95,
    resamples: Resamples = 10_000,
    seed: Seed = 42,
    output_format: Annotated[
        Literal["text", "markdown", "json"],
        typer.Option("--format", help="text to read, markdown for a page, json for programs."),
    ] = "text",
) -> None:
    """Compare two extractions, document by document: B minus A.

    Every difference has a bootstrap interval over documents and the p-value of an approximate
    randomisation test; the documents' F1 is also put to five paired tests. Reports over other
    documents or gold terms are refused with exit code 3.

    \b
    Examples:
      extraction compare results/names results/both
      extraction compare results/names results/both --matching soft --format markdown
    """
    from trectools_plus.cli.printing import write_json
    from trectools_plus.extraction.comparison import compare_extractions
    from trectools_plus.extraction.report import read_extraction_report
    from trectools_plus.extraction.scores import Resampling
    from trectools_plus.reporting.extraction import (
        comparison_document,
        print_comparison,
        render_comparison_markdown,
    )

    comparison = compare_extractions(
        read_extraction_report(first),
        read_extraction_report(second),
        view=view,
        matching=matching,
        resampling=Resampling(resamples, seed, confidence),
    )
    if output_format == "json":
        write_json(comparison_document(comparison))
    elif output_format == "markdown":
        typer.echo(render_comparison_markdown(comparison), nl=False)
    else:
        print_comparison(comparison, sys.stdout)
