"""Options that commands of several groups share, each with one spelling."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from trectools_plus.choices import DEFAULT_MEASURES
from trectools_plus.cli import completion

SEARCH = "Search"
MODELS = "Models and rerankers"
BACKENDS = "Backends"
DATA = "Data"
FIGURES = "Measures and statistics"
WORK = "Execution and files"
"""Panels of the help."""

TextOrJson = Annotated[
    Literal["text", "json"], typer.Option("--format", help="text to read, json for programs.")
]
TextMarkdownJson = Annotated[
    Literal["text", "markdown", "json"],
    typer.Option("--format", help="text to read, markdown for a page, json for programs."),
]
Report = Annotated[
    Path, typer.Argument(metavar="REPORT", help="BenchmarkReport.json, or its folder.")
]
Dataset = Annotated[
    str | None,
    typer.Option(
        help="hpo (built in), irds:<ir_datasets id>, or a folder in BEIR or TREC layout.",
        autocompletion=completion.complete_dataset,
    ),
]
DatasetOrHpo = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        help="hpo (built in; the default), irds:<ir_datasets id>, or a folder in BEIR or TREC "
        "layout.",
        autocompletion=completion.complete_dataset,
    ),
]
CorpusFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Documents: JSONL with doc_id (or _id), title, text.",
        rich_help_panel=DATA,
    ),
]
TopicsFile = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Queries: TSV, JSONL or TREC.", rich_help_panel=DATA),
]
HpoTestSet = Annotated[
    str | None,
    typer.Option(
        "--test-file",
        metavar="SET",
        help="Test cases for --dataset hpo: a file, or a shipped set [default: hpo-en-standard].",
        rich_help_panel=DATA,
        autocompletion=completion.complete_test_set,
    ),
]
OntologyFile = Annotated[
    str | None,
    typer.Option(
        "--ontology",
        metavar="FILE",
        help="An OBO file with the terms that are the documents of hpo and that MaxOntSim compares "
        "[default: the installed HPO].",
        rich_help_panel=DATA,
    ),
]
AnnotationsFile = Annotated[
    str | None,
    typer.Option(
        "--annotations",
        metavar="FILE",
        help="The source of information content for the formulas resnik, lin and jiang_conrath of "
        "MaxOntSim, in the format of phenotype.hpoa [default: the ontology's graph].",
        rich_help_panel=DATA,
    ),
]
Depth = Annotated[
    int | None,
    typer.Option(
        "--depth",
        min=1,
        metavar="N",
        help="Results fetched for each query, at most [default: 100].",
        rich_help_panel=SEARCH,
    ),
]
Confidence = Annotated[
    float, typer.Option(metavar="LEVEL", help="Level of the intervals, between 0 and 1.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the random numbers.")]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="tcp://HOST:PORT",
        help="Distribute the work over the workers of this Dask scheduler; the figures are the "
        "same [default: this machine].",
        rich_help_panel=WORK,
    ),
]


def measure_option(default: str) -> Any:
    """Return the option ``--measure``, which may be repeated and takes lists with commas.

    Args:
        default: The measures without the option, for the help.
    """
    return typer.Option(
        "--measure",
        "--measures",
        "-m",
        metavar="NAME",
        help=f"Measure such as nDCG@10, AP(rel=2)@100, MRR@10 or ndcg_cut.10; several with commas, "
        f"or repeat the option [default: {default}].",
        autocompletion=completion.complete_measures,
    )


USUAL_MEASURES = ", ".join(DEFAULT_MEASURES)


def output_dir_option(help_text: str) -> Any:
    """Return the option ``--output-dir``."""
    return typer.Option("--output-dir", "-o", metavar="DIR", help=help_text)
