"""``extraction run``, ``compare`` and ``sweep``: extraction of ontology terms from documents."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from trectools_plus import extraction, reporting, statistics
from trectools_plus.cli.options import (
    Confidence,
    OntologyFile,
    Seed,
    TextMarkdownJson,
    TextOrJson,
    numbers,
    output_dir_option,
)
from trectools_plus.cli.printing import print_result, show_progress, write_document
from trectools_plus.cli.settings import Given, SettingOptions
from trectools_plus.formats.files.atomic import make_folder
from trectools_plus.models import format_command
from trectools_plus.text import split_list

Folder = Annotated[
    Path,
    Argument(
        metavar="DIR",
        help="Folder with <dataset>/annotations/*.json, or one of the sub-folders; for run also a "
        "text file, a folder of them, or - for standard input, which are not scored.",
    ),
]
Dataset = Annotated[
    str | None,
    Option(help="Use this sub-folder only.  [default: all of DIR together]"),
]


def extraction_run(
    folder: Folder,
    settings: Annotated[Given, SettingOptions(extraction.ExtractionSettings, assigns=False)],
    dataset: Dataset = None,
    ontology: OntologyFile = None,
    predictions: Annotated[
        Path | None,
        Option(
            help="Score these predictions instead of extracting: JSON Lines, JSON or CSV with "
            "doc_id, hpo_id, assertion and score; or a folder with a file per document, for "
            "example phenopackets.",
        ),
    ] = None,
    output_dir: Annotated[
        Path | None, output_dir_option("Folder for the report and the predictions.")
    ] = None,
    no_bootstrap_ci: Annotated[
        bool, Option("--no-bootstrap-ci", help="Compute no intervals.")
    ] = False,
    confidence: Confidence = 0.95,
    seed: Seed = 42,
    output_format: TextMarkdownJson = "text",
) -> None:
    """Each document is a JSON file with doc_id, full_text and annotations (hpo_id,
    assertion_status). The report contains precision, recall and F1 (micro, macro, and weighted by
    the number of gold terms; exact and ontology-aware) with intervals over documents, and lists of
    missed and spurious terms. With --output-dir, the command writes ExtractionReport.json,
    ExtractionReport.md, predictions.jsonl and gold.json. Texts without annotations (.txt, a folder
    of them, or standard input) are extracted and not scored.

    \b
    Examples:
      trectools-plus extraction run data --dataset GeneReviews
      trectools-plus extraction run data --method dictionary --output-dir results/names
      trectools-plus extraction run data --predictions mine.jsonl --format json
      trectools-plus extraction run letter.txt --style notes
    """
    if output_dir is not None:
        reporting.check_extraction_folder(output_dir)
    made = extraction.make_extraction_settings(settings)
    texts = None
    with show_progress() as progress:
        if predictions is None:
            texts = extraction.extract_texts(
                folder, ontology=ontology, settings=made, progress=progress
            )
        if texts is None:
            result = extraction.run_extraction(
                folder,
                dataset=dataset,
                ontology=ontology,
                settings=made,
                options=extraction.ExtractionOptions(
                    predictions=predictions,
                    intervals=not no_bootstrap_ci,
                    resampling=statistics.Resampling(seed=seed, confidence=confidence),
                    command=format_command(sys.argv),
                ),
                progress=progress,
            )
    if texts is not None:
        _print_texts(texts, made, output_dir, output_format)
        return
    files = {} if output_dir is None else reporting.write_extraction(result, output_dir)
    blocks = reporting.extraction_blocks(result.report)
    if output_format == "text":
        blocks = [*blocks, reporting.Bullets(result.report.reported)]
    print_result(output_format, result.report, blocks, files=files)


def _print_texts(
    texts: extraction.Extracted,
    settings: extraction.ExtractionSettings,
    output_dir: Path | None,
    output_format: str,
) -> None:
    """Print and write the terms of texts that are not scored."""
    if output_dir is not None:
        make_folder(output_dir)
        extraction.write_predictions(texts[0], output_dir / reporting.PREDICTIONS_FILE)
    rows = [
        {
            "doc_id": doc_id,
            "hpo_id": term.term_id,
            "label": term.label,
            "assertion": term.assertion,
            "score": term.score,
        }
        for doc_id, terms in texts[0].items()
        for term in terms
    ]
    facts = {"settings": settings.model_dump()} if output_format == "json" else {}
    document = {**facts, "predictions": rows, "notes": texts[1]}
    write_document(document, output_format)


def extraction_compare(
    first: Annotated[Path, Argument(metavar="A", help="An ExtractionReport.json, or its folder.")],
    second: Annotated[Path, Argument(metavar="B", help="The report that is compared with A.")],
    output_format: TextMarkdownJson = "text",
) -> None:
    """Every difference has an interval over documents; a paired t-test compares the F1 of the
    documents. Exit code 3: the reports use different documents or gold terms.

    \b
    Examples:
      trectools-plus extraction compare results/names results/both
      trectools-plus extraction compare results/names results/both --format markdown
    """
    folders = (
        # The name of the report in Phentrieve.
        path.parent if path.name == "extraction_results.json" and not path.exists() else path
        for path in (first, second)
    )
    comparison = extraction.compare_extractions(*map(extraction.load_extraction_report, folders))
    document = reporting.comparison_document(comparison)
    print_result(output_format, document, reporting.comparison_blocks(comparison))


def extraction_sweep(
    folder: Folder,
    settings: Annotated[
        Given, SettingOptions(extraction.ExtractionSettings, "root", assigns=False)
    ],
    dataset: Dataset = None,
    ontology: OntologyFile = None,
    output_dir: Annotated[
        Path | None, output_dir_option("Folder for sweep.json and the plot.")
    ] = None,
    systems: Annotated[
        str,
        Option(help="Systems, comma-separated: both, dictionary, retrieval, unverified."),
    ] = "both,dictionary,retrieval,unverified",
    values: Annotated[
        str | None,
        Option(
            help="Values of --min-confidence, comma-separated.  [default: 0, 0.1, … 0.9, 0.95]",
        ),
    ] = None,
    seed: Seed = 42,
    output_format: TextOrJson = "text",
) -> None:
    """Each system is scored with each value of --min-confidence (micro average, exact matching).
    The best of several values is an optimistic estimate for other documents.

    \b
    Examples:
      trectools-plus extraction sweep data --dataset GeneReviews --output-dir results/sweep
      trectools-plus extraction sweep data --values 0.3,0.5,0.7
    """
    if output_dir is not None:
        reporting.check_sweep_folder(output_dir)
    options = extraction.SweepOptions(
        systems=split_list(systems),
        values=extraction.DEFAULT_VALUES if values is None else numbers(values, "--values"),
        resampling=statistics.Resampling(seed=seed),
    )
    with show_progress() as progress:
        sweep = extraction.sweep_extraction(
            folder,
            dataset=dataset,
            ontology=ontology,
            settings=extraction.make_extraction_settings(settings),
            options=options,
            progress=progress,
        )
    files = [] if output_dir is None else reporting.write_sweep(sweep, output_dir)
    blocks, named = reporting.extraction_sweep_blocks(sweep), {file.name: file for file in files}
    print_result(output_format, asdict(sweep), blocks, files=named)
