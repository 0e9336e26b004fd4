"""``extraction run``, ``compare`` and ``sweep``: ontology terms found in documents."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from trectools_plus.errors import UsageError

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Holds <dataset>/annotations/*.json, or is one.")
]
Dataset = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Only this sub-folder [default: all of DIR together]."),
]
OntologyFile = Annotated[
    Path | None,
    typer.Option(
        "--ontology",
        metavar="FILE",
        help="An OBO file [default: the Human Phenotype Ontology of the extra hpo].",
    ),
]
Method = Annotated[
    Literal["dictionary", "retrieval", "both"] | None,
    typer.Option(help="The dictionary of names, retrieval, or both [default: both]."),
]
RetrieverName = Annotated[
    str | None,
    typer.Option(
        "--retriever",
        metavar="NAME",
        help="What is asked about chunks: lexical, vector or hybrid over the names of terms, or an "
        "aggregation strategy of multi-vector search over whole terms, such as "
        "label_synonyms_max [default: vector].",
    ),
]
Level = Annotated[
    Literal["sentence", "clause", "phrase"] | None,
    typer.Option("--chunks", help="What a chunk is [default: phrase]."),
]
NumResults = Annotated[
    int | None, typer.Option(help="Names retrieved for each chunk [default: 10].")
]
ChunkThreshold = Annotated[
    float | None,
    typer.Option(
        help="Drop names with a lower retrieval score [default: 0.5, a cosine; 0 for lexical "
        "and hybrid]."
    ),
]
MinConfidence = Annotated[
    float | None,
    typer.Option(help="Drop mentions with a lower confidence, 0 to 1 [default: 0.5]."),
]
TopTermOnly = Annotated[
    bool, typer.Option("--top-term-only", help="Keep only the first retrieved term of each chunk.")
]
Unverified = Annotated[
    bool,
    typer.Option(
        "--unverified", help="Take every retrieved name, without checking it word by word."
    ),
]
NoAssertions = Annotated[
    bool, typer.Option("--no-assertions", help="Detect no assertions: every term is affirmed.")
]
View = Annotated[
    Literal["present", "any", "strict"],
    typer.Option(
        "--view",
        help="present: affirmed and uncertain terms; any: assertions ignored; strict: term and "
        "assertion must agree.",
    ),
]
Confidence = Annotated[float, typer.Option(help="Level of the intervals.")]
Resamples = Annotated[int, typer.Option(help="Bootstrap resamples of the documents.")]
Seed = Annotated[int, typer.Option(help="Seed of the resamples.")]

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
    from trectools_plus.extraction.runner import ExtractionOptions, run_extraction
    from trectools_plus.extraction.settings import make_extraction_settings
    from trectools_plus.progress import progress_bar
    from trectools_plus.provenance import format_command
    from trectools_plus.reporting.results.extraction import (
        print_extraction,
        render_extraction_json,
        render_extraction_markdown,
        write_extraction,
    )
    from trectools_plus.statistics.resamples import Resampling

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
            options=ExtractionOptions(
                predictions=predictions,
                similarity=similarity,
                intervals=not no_bootstrap_ci,
                resampling=Resampling(resamples, seed, confidence),
                command=format_command(sys.argv),
            ),
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
    from trectools_plus.extraction.report import load_extraction_report
    from trectools_plus.reporting.results.extraction import (
        comparison_document,
        print_comparison,
        render_comparison_markdown,
    )
    from trectools_plus.statistics.resamples import Resampling

    comparison = compare_extractions(
        load_extraction_report(first),
        load_extraction_report(second),
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
    from trectools_plus.extraction.sweep import DEFAULT_VALUES, SweepOptions, sweep_extraction
    from trectools_plus.progress import progress_bar
    from trectools_plus.reporting.results.extraction import print_sweep, sweep_document, write_sweep
    from trectools_plus.statistics.resamples import Resampling
    from trectools_plus.text import split_list

    with progress_bar() as progress:
        found = sweep_extraction(
            folder,
            dataset=dataset,
            ontology=ontology,
            options=SweepOptions(
                systems=split_list(systems),
                parameter=parameter.replace("-", "_"),
                values=DEFAULT_VALUES if values is None else _numbers(values),
                view=view,
                resampling=Resampling(resamples, seed),
            ),
            progress=progress,
        )
    files = [] if output_dir is None else write_sweep(found, output_dir)
    if output_format == "json":
        write_json(sweep_document(found))
    else:
        print_sweep(found, sys.stdout)
        for file in files:
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


def _numbers(text: str) -> list[float]:
    from trectools_plus.text import split_list

    try:
        return [float(part) for part in split_list(text)]
    except ValueError as error:
        raise UsageError(
            f"expected numbers but got '{text}'", where="--values", remedy="write 0.3,0.5,0.7"
        ) from error
