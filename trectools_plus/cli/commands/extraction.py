"""``extraction run``, ``compare`` and ``sweep``: extraction of ontology terms from documents."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from trectools_plus import choices, extraction, reporting, statistics
from trectools_plus.choices import MODES, STRATEGIES, ChunkLevel, ExtractionMethod, Matching
from trectools_plus.cli import completion
from trectools_plus.cli.options.common import (
    FIGURES,
    Confidence,
    Interval,
    Seed,
    TextMarkdownJson,
    TextOrJson,
    output_dir_option,
)
from trectools_plus.cli.printing import write_json
from trectools_plus.cli.verbosity import note, show_progress
from trectools_plus.errors import UsageError
from trectools_plus.provenance import format_command
from trectools_plus.text import split_list

_SEARCH = "Retrieval"
_NAMES = "Dictionary"

Folder = Annotated[
    Path,
    typer.Argument(
        metavar="DIR", help="Folder with <dataset>/annotations/*.json, or one of the sub-folders."
    ),
]
Dataset = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Use this sub-folder only.  [default: all of DIR together]"),
]
OntologyFile = Annotated[
    Path | None,
    typer.Option(
        "--ontology",
        metavar="FILE",
        help="OBO file with the terms to extract.  [default: the installed HPO]",
    ),
]
Method = Annotated[
    ExtractionMethod | None,
    typer.Option(
        help="Find terms with a dictionary of their names, with retrieval, or with both.  "
        "[default: both]"
    ),
]
RetrieverName = Annotated[
    str | None,
    typer.Option(
        "--retriever",
        metavar="NAME",
        help="Search that finds terms for a chunk: lexical, vector or hybrid over the names of "
        "terms, or an aggregation strategy of multi-vector search over whole terms, for example "
        "label_synonyms_max.  [default: vector]",
        rich_help_panel=_SEARCH,
        autocompletion=completion.complete_words((*MODES, *STRATEGIES)),
    ),
]
Level = Annotated[
    ChunkLevel | None,
    typer.Option("--chunks", help="Size of a chunk.  [default: phrase]", rich_help_panel=_SEARCH),
]
NumResults = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Number of names to retrieve per chunk.  [default: 10]",
        rich_help_panel=_SEARCH,
    ),
]
ChunkThreshold = Annotated[
    float | None,
    typer.Option(
        metavar="SCORE",
        help="Drop names with a lower retrieval score.  [default: 0.5 (cosine); 0 for lexical "
        "and hybrid]",
        rich_help_panel=_SEARCH,
    ),
]
MinConfidence = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER",
        help="Drop mentions with a lower confidence, between 0 and 1.  [default: 0.5]",
    ),
]
TopTermOnly = Annotated[
    bool,
    typer.Option(
        "--top-term-only",
        help="Keep only the first retrieved term of each chunk.",
        rich_help_panel=_SEARCH,
    ),
]
Unverified = Annotated[
    bool,
    typer.Option(
        "--unverified",
        help="Accept every retrieved name without checking it word by word.",
        rich_help_panel=_SEARCH,
    ),
]
NoAssertions = Annotated[
    bool,
    typer.Option(
        "--no-assertions", help="Do not detect assertions: every term counts as affirmed."
    ),
]
MaxGap = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Number of words of a part of a coordination that another part may replace: 1 finds "
        "'parathyroid hyperplasia' in 'parathyroid adenoma or hyperplasia'.  [default: 2]",
        rich_help_panel=_NAMES,
    ),
]
NoVariations = Annotated[
    bool,
    typer.Option(
        "--no-variations",
        help="Search for the words of the names only, without replacing words and endings as "
        "learnt from the names.",
        rich_help_panel=_NAMES,
    ),
]
NoInexactSynonyms = Annotated[
    bool,
    typer.Option(
        "--no-inexact-synonyms",
        help="Ignore broad, narrow and related synonyms.",
        rich_help_panel=_NAMES,
    ),
]
ShortestAbbreviation = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Ignore abbreviations with fewer letters.  [default: 3]",
        rich_help_panel=_NAMES,
    ),
]
Root = Annotated[
    str | None,
    typer.Option(
        metavar="ID",
        help="Extract and score only terms below this term, in predictions and gold.  [default: "
        "HP:0000118, Phenotypic abnormality, if the ontology has it]",
    ),
]
MinDepth = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Extract only terms with at least N edges to the root of the ontology.  [default: 0]",
    ),
]
View = Annotated[
    choices.View,
    typer.Option(
        "--view",
        help="Terms to score: present (affirmed and uncertain terms), any (assertions ignored), or "
        "strict (term and assertion must agree).",
    ),
]
Resamples = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Number of bootstrap resamples of the documents.",
        rich_help_panel=FIGURES,
    ),
]

_OTHER_REPORT_FILE = "extraction_results.json"
"""The report of Phentrieve."""
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
    "max_gap": "--max-gap",
    "variations": "--no-variations",
    "inexact_synonyms": "--no-inexact-synonyms",
    "shortest_abbreviation": "--shortest-abbreviation",
    "root": "--root",
    "min_depth": "--min-depth",
}
"""The option of each setting."""
_OF_RETRIEVAL = ("retriever", "level", "num_results", "chunk_threshold", "top_term_only", "verify")
"""Settings that the method dictionary does not use."""
_OF_DICTIONARY = ("max_gap", "variations", "shortest_abbreviation")
"""Settings that the method retrieval does not use."""


def extraction_run(
    folder: Folder,
    dataset: Dataset = None,
    ontology: OntologyFile = None,
    predictions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Score these predictions instead of extracting: JSONL with doc_id, hpo_id, "
            "assertion and score.",
        ),
    ] = None,
    output_dir: Annotated[
        Path | None, output_dir_option("Folder for the report and the predictions.")
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
    root: Root = None,
    min_depth: MinDepth = None,
    max_gap: MaxGap = None,
    no_variations: NoVariations = False,
    no_inexact_synonyms: NoInexactSynonyms = False,
    shortest_abbreviation: ShortestAbbreviation = None,
    similarity: Annotated[
        str,
        typer.Option(
            metavar="FORMULA", help="Formula of term similarity for ontology-aware scores."
        ),
    ] = "hybrid",
    no_bootstrap_ci: Annotated[
        bool,
        typer.Option("--no-bootstrap-ci", help="Compute no intervals.", rich_help_panel=FIGURES),
    ] = False,
    interval: Interval = None,
    confidence: Confidence = 0.95,
    resamples: Resamples = 10_000,
    seed: Seed = 42,
    output_format: TextMarkdownJson = "text",
) -> None:
    """Each document is a JSON file with doc_id, full_text and annotations (hpo_id,
    assertion_status). The report contains precision, recall and F1 (micro, macro, and weighted by
    the number of gold terms; exact and ontology-aware) with intervals over documents, and lists of
    missed, spurious and near terms. With --output-dir, the command writes ExtractionReport.json,
    ExtractionReport.md and predictions.jsonl.

    \b
    Examples:
      trectools-plus extraction run data --dataset GeneReviews
      trectools-plus extraction run data --method dictionary --output-dir results/names
      trectools-plus extraction run data --predictions mine.jsonl --format json
    """
    values: dict[str, object] = dict(  # noqa: C408 - options by name
        method=method,
        retriever=retriever,
        level=chunks,
        num_results=num_results,
        chunk_threshold=chunk_threshold,
        min_confidence=min_confidence,
        top_term_only=top_term_only or None,
        verify=False if unverified else None,
        assertions=False if no_assertions else None,
        max_gap=max_gap,
        variations=False if no_variations else None,
        inexact_synonyms=False if no_inexact_synonyms else None,
        shortest_abbreviation=shortest_abbreviation,
        root=root,
        min_depth=min_depth,
    )
    _check_effect(values, predictions is not None)
    with show_progress() as progress:
        result = extraction.run_extraction(
            folder,
            dataset=dataset,
            ontology=ontology,
            settings=extraction.make_extraction_settings(values, _OPTIONS),
            options=extraction.ExtractionOptions(
                predictions=predictions,
                similarity=similarity,
                intervals=not no_bootstrap_ci,
                resampling=statistics.Resampling(resamples, seed, confidence, interval or "auto"),
                command=format_command(sys.argv),
            ),
            progress=progress,
        )
    files = {} if output_dir is None else reporting.write_extraction(result, output_dir)
    if output_format == "json":
        typer.echo(reporting.render_json(result.report), nl=False)
    elif output_format == "markdown":
        typer.echo(reporting.render_extraction_markdown(result.report), nl=False)
    else:
        reporting.print_extraction(result.report, sys.stdout)
        for file in files.values():
            typer.echo(f"written  {file}")


def extraction_compare(
    first: Annotated[
        Path, typer.Argument(metavar="A", help="An ExtractionReport.json, or its folder.")
    ],
    second: Annotated[
        Path, typer.Argument(metavar="B", help="The report that is compared with A.")
    ],
    view: View = "present",
    matching: Annotated[
        Matching,
        typer.Option(help="Matching of terms: exact, or soft (ontology-aware, partial credit)."),
    ] = "exact",
    interval: Interval = None,
    confidence: Confidence = 0.95,
    resamples: Resamples = 10_000,
    seed: Seed = 42,
    output_format: TextMarkdownJson = "text",
) -> None:
    """Every difference has an interval over documents and the p-value of an approximate
    randomisation test; five paired tests compare the F1 of the documents. Exit code 3: the reports
    use different documents or gold terms.

    \b
    Examples:
      trectools-plus extraction compare results/names results/both
      trectools-plus extraction compare results/names results/both --matching soft --format markdown
    """
    comparison = extraction.compare_extractions(
        extraction.load_extraction_report(_find_report(first)),
        extraction.load_extraction_report(_find_report(second)),
        view=view,
        matching=matching,
        resampling=statistics.Resampling(resamples, seed, confidence, interval or "auto"),
    )
    if output_format == "json":
        write_json(reporting.comparison_document(comparison))
    elif output_format == "markdown":
        typer.echo(reporting.render_comparison_markdown(comparison), nl=False)
    else:
        reporting.print_comparison(comparison, sys.stdout)


def extraction_sweep(
    folder: Folder,
    dataset: Dataset = None,
    ontology: OntologyFile = None,
    output_dir: Annotated[
        Path | None, output_dir_option("Folder for sweep.json and the plot.")
    ] = None,
    root: Root = None,
    systems: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Systems, comma-separated: both, dictionary, retrieval, unverified.",
            autocompletion=completion.complete_list(
                ("both", "dictionary", "retrieval", "unverified")
            ),
        ),
    ] = "both,dictionary,retrieval,unverified",
    parameter: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Setting to vary, for example min_confidence or num_results."
        ),
    ] = "min_confidence",
    values: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS",
            help="Values of the setting, comma-separated.  [default: 0, 0.1, … 0.9, 0.95]",
        ),
    ] = None,
    view: View = "present",
    interval: Interval = None,
    resamples: Resamples = 10_000,
    seed: Seed = 42,
    output_format: TextOrJson = "text",
) -> None:
    """Each system is scored with each value (micro average, exact matching). The best of several
    values is an optimistic estimate; therefore every document is also scored with the value that
    is best on the other documents.

    \b
    Examples:
      trectools-plus extraction sweep data --dataset GeneReviews --output-dir results/sweep
      trectools-plus extraction sweep data --systems both --parameter num_results --values 1,5,10,30
    """
    with show_progress() as progress:
        found = extraction.sweep_extraction(
            folder,
            dataset=dataset,
            ontology=ontology,
            settings=extraction.make_extraction_settings({"root": root}, _OPTIONS),
            options=extraction.SweepOptions(
                systems=split_list(systems),
                parameter=parameter.replace("-", "_"),
                values=extraction.DEFAULT_VALUES if values is None else _numbers(values),
                view=view,
                resampling=statistics.Resampling(resamples, seed, interval=interval or "auto"),
            ),
            progress=progress,
        )
    files = [] if output_dir is None else reporting.write_sweep(found, output_dir)
    if output_format == "json":
        write_json(reporting.sweep_document(found))
    else:
        reporting.print_sweep(found, sys.stdout)
        for file in files:
            typer.echo(f"written  {file}")


def _check_effect(values: dict[str, object], has_predictions: bool) -> None:
    """Refuse settings without effect on the chosen method or on given predictions."""
    given = [name for name, value in values.items() if value is not None]
    of_extraction = [name for name in given if name != "root"]
    if has_predictions and of_extraction:
        raise UsageError(
            f"{_OPTIONS[of_extraction[0]]} is a setting of the built-in extraction",
            where="--predictions",
            remedy="leave one of the two out",
        )
    for method, other, unused in (
        ("dictionary", "retrieval", _OF_RETRIEVAL),
        ("retrieval", "the dictionary", _OF_DICTIONARY),
    ):
        without_effect = [name for name in given if name in unused]
        if values.get("method") == method and without_effect:
            raise UsageError(
                f"{_OPTIONS[without_effect[0]]} is a setting of {other}",
                where=f"--method {method}",
                remedy="leave one of the two out",
            )


def _find_report(path: Path) -> Path:
    """Return the report that a path names, also by Phentrieve's name of the file."""
    report = path.with_name(extraction.REPORT_FILE)
    if path.name == _OTHER_REPORT_FILE and not path.exists() and report.exists():
        note(f"reading {report}, the file that extraction run writes here")
        return report
    return path


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in split_list(text)]
    except ValueError as error:
        raise UsageError(
            f"expected numbers but got '{text}'", where="--values", remedy="write 0.3,0.5,0.7"
        ) from error
