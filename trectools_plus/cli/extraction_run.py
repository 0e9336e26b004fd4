"""``extraction run``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from trectools_plus.cli.extraction_options import (
    ChunkThreshold,
    Confidence,
    Dataset,
    Folder,
    Level,
    Method,
    MinConfidence,
    NoAssertions,
    NumResults,
    OntologyFile,
    Resamples,
    RetrieverName,
    Seed,
    TopTermOnly,
    Unverified,
)
from trectools_plus.errors import UsageError

_OPTIONS = {
    "method": "--method",
    "retriever": "--retriever",
    "level": "--chunks",
    "num_results": "--num-results",
    "chunk_threshold": "--chunk-threshold",
    "min_confidence": "--min-confidence",
    "top_term_only": "--top-term-only",
    "verify": "--unverified",
    "assertions": "--no-assertions",
}
"""What settings are called on the command line."""
_OF_RETRIEVAL = ("retriever", "level", "num_results", "chunk_threshold", "top_term_only", "verify")
"""Settings without effect on the dictionary."""


def extraction_run(
    folder: Folder,
    dataset: Dataset = None,
    ontology: OntologyFile = None,
    predictions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Score these instead of extracting: JSONL with doc_id, hpo_id, assertion, score.",
        ),
    ] = None,
    output_dir: Annotated[
        Path | None, typer.Option(help="Write the report and the predictions into this folder.")
    ] = None,
    method: Method = None,
    retriever: RetrieverName = None,
    chunks: Level = None,
    num_results: NumResults = None,
    chunk_threshold: ChunkThreshold = None,
    min_confidence: MinConfidence = None,
    top_term_only: TopTermOnly = False,
    unverified: Unverified = False,
    no_assertions: NoAssertions = False,
    similarity: Annotated[
        str,
        typer.Option(metavar="FORMULA", help="Similarity of terms for the ontology-aware figures."),
    ] = "hybrid",
    no_bootstrap_ci: Annotated[
        bool, typer.Option("--no-bootstrap-ci", help="Make no intervals.")
    ] = False,
    confidence: Confidence = 0.95,
    resamples: Resamples = 10_000,
    seed: Seed = 42,
    output_format: Annotated[
        Literal["text", "markdown", "json"],
        typer.Option("--format", help="text to read, markdown for a page, json for programs."),
    ] = "text",
) -> None:
    """Extract terms from annotated documents, and score them.

    Each document is a JSON file with doc_id, full_text and annotations (hpo_id,
    assertion_status). Reported are precision, recall and F1: micro, macro and weighted by the
    number of gold terms, exact and ontology-aware, with intervals over documents, and lists of
    missed, spurious and near terms. With --output-dir: ExtractionReport.json,
    ExtractionReport.md and predictions.jsonl.

    \b
    Examples:
      extraction run data --dataset GeneReviews
      extraction run data --dataset GeneReviews --method dictionary --output-dir results/names
      extraction run data --dataset GeneReviews --predictions mine.jsonl --format json
    """
    from trectools_plus.extraction.runner import run_extraction
    from trectools_plus.extraction.scores import Resampling
    from trectools_plus.extraction.settings import make_extraction_settings
    from trectools_plus.progress import progress_bar
    from trectools_plus.provenance import format_command
    from trectools_plus.reporting.extraction import (
        print_extraction,
        render_extraction_json,
        render_extraction_markdown,
        write_extraction,
    )

    values: dict[str, Any] = {
        "method": method,
        "retriever": retriever,
        "level": chunks,
        "num_results": num_results,
        "chunk_threshold": chunk_threshold,
        "min_confidence": min_confidence,
        "top_term_only": top_term_only or None,
        "verify": False if unverified else None,
        "assertions": False if no_assertions else None,
    }
    _check_effect(values, predictions is not None)
    with progress_bar() as progress:
        result = run_extraction(
            folder,
            dataset=dataset,
            ontology=ontology,
            settings=make_extraction_settings(values, _OPTIONS),
            predictions=predictions,
            similarity=similarity,
            intervals=not no_bootstrap_ci,
            resampling=Resampling(resamples, seed, confidence),
            command=format_command(sys.argv),
            progress=progress,
        )
    files = {} if output_dir is None else write_extraction(result, output_dir)
    if output_format == "json":
        typer.echo(render_extraction_json(result.report), nl=False)
    elif output_format == "markdown":
        typer.echo(render_extraction_markdown(result.report), nl=False)
    else:
        print_extraction(result.report, sys.stdout)
        for file in files.values():
            typer.echo(f"written  {file}")


def _check_effect(values: dict[str, Any], has_predictions: bool) -> None:
    """Refuse settings that the method chosen, or another system's predictions, have no use for."""
    given = [name for name, value in values.items() if value is not None]
    if has_predictions and given:
        raise UsageError(
            f"{_OPTIONS[given[0]]} is a setting of our own extraction",
            where="--predictions",
            remedy="leave one of the two out",
        )
    unused = [name for name in given if name in _OF_RETRIEVAL]
    if values["method"] == "dictionary" and unused:
        raise UsageError(
            f"{_OPTIONS[unused[0]]} is a setting of retrieval",
            where="--method dictionary",
            remedy="leave one of the two out",
        )
