"""Options that commands of several groups share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from trectools_plus.choices import (
    ANNOTATIONS_HELP,
    DEFAULT_MEASURES,
    INTERVAL_HELP,
    MEASURE_HELP,
    ONTOLOGY_HELP,
    IntervalMethod,
    Panel,
)
from trectools_plus.cli import completion

_FIRST = ("Arguments", "Options", *Panel)


def sort_panels(names: Iterable[str]) -> list[str]:
    """Sort panels: shared ones first, those of a single command, and how the work is done."""
    order = {**dict.fromkeys(_FIRST), **dict.fromkeys(names)}
    order[Panel.WORK] = order.pop(Panel.WORK)
    return [name for name in order if name in names]


TextOrJson = Annotated[
    Literal["text", "json"],
    typer.Option("--format", help="Output format: text to read, json for programs."),
]
TextMarkdownJson = Annotated[
    Literal["text", "markdown", "json"],
    typer.Option(
        "--format", help="Output format: text to read, markdown for a page, json for programs."
    ),
]
Report = Annotated[
    Path, typer.Argument(metavar="REPORT", help="A BenchmarkReport.json, or its folder.")
]
Host = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS",
        help="Address to listen on; other addresses than loopback need --key-from-env.",
    ),
]
Port = Annotated[
    int, typer.Option(min=0, max=65535, metavar="N", help="Port to listen on; 0 for a free one.")
]
DatasetOrHpo = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        metavar="NAME",
        help="Documents to search: hpo or sample (built in), irds:<ir_datasets id>, or a folder in "
        "BEIR or TREC layout.  [default: hpo]",
        autocompletion=completion.complete_dataset,
    ),
]
OntologyFile = Annotated[
    str | None,
    typer.Option(
        "--ontology",
        metavar="FILE",
        help=f"{ONTOLOGY_HELP}  [default: the installed HPO]",
        rich_help_panel=Panel.DATA,
    ),
]
AnnotationsFile = Annotated[
    str | None,
    typer.Option(
        "--annotations",
        metavar="FILE",
        help=f"{ANNOTATIONS_HELP}  [default: the ontology's graph]",
        rich_help_panel=Panel.DATA,
    ),
]
Confidence = Annotated[
    float,
    typer.Option(
        metavar="LEVEL",
        help="Confidence level of the intervals, between 0 and 1.",
        rich_help_panel=Panel.FIGURES,
    ),
]
Interval = Annotated[
    IntervalMethod | None,
    typer.Option(
        "--interval",
        metavar="NAME",
        help=f"{INTERVAL_HELP}  [default: auto]",
        rich_help_panel=Panel.FIGURES,
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        metavar="FIELD=COLUMN",
        help="Columns of a table with unusual names, or their numbers: "
        "query=q,doc_id=_id,score=_score. Fields: query, doc_id, score, rank, system; in qrels "
        "relevance.",
        rich_help_panel=Panel.DATA,
    ),
]
StrictInput = Annotated[
    bool,
    typer.Option(
        "--strict-input",
        help="Refuse every error of the files (exit code 1), also those that change no figure.",
        rich_help_panel=Panel.WORK,
    ),
]
LowMemory = Annotated[
    bool,
    typer.Option(
        "--low-memory",
        help="Read runs in chunks, for runs larger than memory; the results are the same.",
        rich_help_panel=Panel.WORK,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        min=0, metavar="N", help="Seed of the random numbers.", rich_help_panel=Panel.FIGURES
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="tcp://HOST:PORT",
        help="Distribute the work over the workers of this Dask scheduler; the results are the "
        "same.  [default: this machine]",
        rich_help_panel=Panel.WORK,
    ),
]


def measure_option(default: str, noun: str = "Measure") -> Any:
    """Return the option ``--measure``, which may be repeated and takes comma-separated lists.

    Args:
        default: The default measures, for the help.
        noun: The beginning of the help.
    """
    return typer.Option(
        "--measure",
        "--measures",
        "-m",
        metavar="NAME",
        help=f"{noun}{MEASURE_HELP.removeprefix('Measure')}  [default: {default}]",
        autocompletion=completion.complete_measures,
    )


USUAL_MEASURES = ", ".join(DEFAULT_MEASURES)


def output_dir_option(help_text: str) -> Any:
    """Return the option ``--output-dir``."""
    return typer.Option("--output-dir", "-o", metavar="DIR", help=help_text)
