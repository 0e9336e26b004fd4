"""``extraction run``, ``compare`` and ``sweep``: extraction of ontology terms from documents."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from trectools_plus import choices, extraction, reporting, statistics
from trectools_plus.choices import Matching, Panel
from trectools_plus.cli.options.common import (
    Confidence,
    Interval,
    Seed,
    TextMarkdownJson,
    TextOrJson,
    numbers,
    output_dir_option,
    refuse_options,
)
from trectools_plus.cli.options.from_models import Given, SettingOptions
from trectools_plus.cli.options.groups import with_groups
from trectools_plus.cli.options.phenopackets import Phenopackets, write_packets
from trectools_plus.cli.printing import write_as, write_document, write_files
from trectools_plus.cli.verbosity import note, show_progress
from trectools_plus.extraction.settings import OF_RETRIEVAL
from trectools_plus.formats.files.atomic import make_folder
from trectools_plus.provenance import format_command
from trectools_plus.text import split_list

Folder = Annotated[
    Path,
    typer.Argument(
        metavar="DIR",
        help="Folder with <dataset>/annotations/*.json, or one of the sub-folders; for run also a "
        "text file, a folder of them, or - for standard input, which are not scored.",
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
        rich_help_panel=Panel.FIGURES,
    ),
]

_SETTINGS = SettingOptions(extraction.ExtractionSettings)
_OPTIONS = _SETTINGS.name_options()
"""The option of each setting."""


@with_groups
def extraction_run(
    *,
    folder: Folder,
    dataset: Dataset = None,
    ontology: OntologyFile = None,
    predictions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Score these predictions instead of extracting: JSON Lines, JSON or CSV with "
            "doc_id, hpo_id, assertion and score; or a folder with a file per document, for "
            "example phenopackets.",
        ),
    ] = None,
    output_dir: Annotated[
        Path | None, output_dir_option("Folder for the report and the predictions.")
    ] = None,
    phenopackets: Phenopackets = None,
    settings: Annotated[Given, _SETTINGS],
    no_bootstrap_ci: Annotated[
        bool,
        typer.Option(
            "--no-bootstrap-ci", help="Compute no intervals.", rich_help_panel=Panel.FIGURES
        ),
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
    _check_effect(settings, predictions is not None)
    if output_dir is not None:
        reporting.check_extraction_folder(output_dir)
    made = extraction.make_extraction_settings(settings, _OPTIONS)
    if predictions is None:
        with show_progress() as progress:
            texts = extraction.extract_texts(
                folder, ontology=ontology, settings=made, progress=progress
            )
        if texts is not None:
            _print_texts(texts, made, output_dir, phenopackets, ontology, output_format)
            return
    with show_progress() as progress:
        result = extraction.run_extraction(
            folder,
            dataset=dataset,
            ontology=ontology,
            settings=made,
            options=extraction.ExtractionOptions(
                predictions=predictions,
                intervals=not no_bootstrap_ci,
                resampling=statistics.Resampling(resamples, seed, confidence, interval or "auto"),
                command=format_command(sys.argv),
            ),
            progress=progress,
        )
    files = {} if output_dir is None else reporting.write_extraction(result, output_dir)
    if phenopackets is not None:
        write_packets(_findings(result.predictions), phenopackets, ontology)
    blocks = reporting.extraction_blocks(result.report)
    write_as(
        output_format,
        json=lambda: reporting.render_json(result.report),
        markdown=lambda: reporting.markdown(blocks),
        text=lambda: reporting.print_blocks(
            [*blocks, reporting.Bullets(result.report.reported)], sys.stdout
        ),
    )
    if output_format == "text":
        write_files(files)


def _print_texts(
    texts: extraction.ExtractedTexts,
    settings: extraction.ExtractionSettings,
    output_dir: Path | None,
    phenopackets: Path | None,
    ontology: Path | None,
    output_format: str,
) -> None:
    """Print and write the terms of texts that are not scored."""
    if output_dir is not None:
        make_folder(output_dir)
        extraction.write_predictions(texts.predictions, output_dir / reporting.PREDICTIONS_FILE)
    if phenopackets is not None:
        write_packets(_findings(texts.predictions), phenopackets, ontology)
    rows = [
        {"doc_id": doc_id, "hpo_id": one.term_id, "label": one.label, "assertion": one.assertion}
        | {"score": round(one.score, 6)}
        for doc_id, found in texts.predictions.items()
        for one in found
    ]
    facts = {"settings": settings.model_dump()} if output_format == "json" else {}
    write_document({**facts, "predictions": rows, "notes": texts.notes}, output_format)
    note(f"style {settings.style}; the texts have no gold terms, so nothing is scored")


def _findings(predictions: extraction.Predictions) -> dict[str, list[tuple[str, str]]]:
    return {
        doc_id: [(one.term_id, one.assertion) for one in found]
        for doc_id, found in predictions.items()
    }


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
    """Every difference has an interval over documents; a paired t-test compares the F1 of the
    documents. Exit code 3: the reports use different documents or gold terms.

    \b
    Examples:
      trectools-plus extraction compare results/names results/both
      trectools-plus extraction compare results/names results/both --matching soft --format markdown
    """
    comparison = extraction.compare_extractions(
        extraction.load_extraction_report(_report_of(first)),
        extraction.load_extraction_report(_report_of(second)),
        view=view,
        matching=matching,
        resampling=statistics.Resampling(resamples, seed, confidence, interval or "auto"),
    )
    blocks = reporting.comparison_blocks(comparison)
    write_as(
        output_format,
        json=lambda: write_document(reporting.comparison_document(comparison)),
        markdown=lambda: reporting.markdown(blocks),
        text=lambda: reporting.print_blocks(blocks, sys.stdout),
    )


@with_groups
def extraction_sweep(
    *,
    folder: Folder,
    dataset: Dataset = None,
    ontology: OntologyFile = None,
    output_dir: Annotated[
        Path | None, output_dir_option("Folder for sweep.json and the plot.")
    ] = None,
    settings: Annotated[Given, SettingOptions(extraction.ExtractionSettings, "root")],
    systems: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Systems, comma-separated: both, dictionary, retrieval, unverified.",
        ),
    ] = "both,dictionary,retrieval,unverified",
    values: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS",
            help="Values of --min-confidence, comma-separated.  [default: 0, 0.1, … 0.9, 0.95]",
        ),
    ] = None,
    resamples: Resamples = 10_000,
    seed: Seed = 42,
    output_format: TextOrJson = "text",
) -> None:
    """Each system is scored with each value of --min-confidence (micro average, exact matching).
    The best of several values is an optimistic estimate for other documents.

    \b
    Examples:
      trectools-plus extraction sweep data --dataset GeneReviews --output-dir results/sweep
      trectools-plus extraction sweep data --systems both --values 0.3,0.5,0.7
    """
    if output_dir is not None:
        reporting.check_sweep_folder(output_dir)
    with show_progress() as progress:
        found = extraction.sweep_extraction(
            folder,
            dataset=dataset,
            ontology=ontology,
            settings=extraction.make_extraction_settings(settings, _OPTIONS),
            options=extraction.SweepOptions(
                systems=split_list(systems),
                values=extraction.DEFAULT_VALUES if values is None else numbers(values, "--values"),
                resampling=statistics.Resampling(resamples, seed),
            ),
            progress=progress,
        )
    files = [] if output_dir is None else reporting.write_sweep(found, output_dir)
    write_as(
        output_format,
        json=lambda: write_document(asdict(found)),
        text=lambda: reporting.print_blocks(reporting.extraction_sweep_blocks(found), sys.stdout),
    )
    if output_format == "text":
        write_files({str(file): file for file in files})


def _check_effect(given: Given, has_predictions: bool) -> None:
    """Refuse settings without effect on the chosen method or on given predictions."""
    options = {_OPTIONS[name]: value for name, value in given.items() if name != "root"}
    of_retrieval = {_OPTIONS[name]: given.get(name) for name in OF_RETRIEVAL}
    if has_predictions:
        refuse_options(options, "is a setting of the built-in extraction, not of --predictions")
    if given.get("method") == "dictionary":
        refuse_options(of_retrieval, "is a setting of retrieval, not of --method dictionary")


def _report_of(path: Path) -> Path:
    """Return the report that a path names, also by Phentrieve's name of the file."""
    is_other = path.name == "extraction_results.json" and not path.exists()
    return path.parent if is_other else path
