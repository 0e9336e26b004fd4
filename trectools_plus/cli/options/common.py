"""Options that commands of several groups share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from trectools_plus.choices import DEFAULT_MEASURES, IntervalMethod, UnknownTerms
from trectools_plus.cli import completion

SEARCH = "Search"
MODELS = "Models and rerankers"
BACKENDS = "Backends"
DATA = "Data"
FIGURES = "Measures and statistics"
WORK = "Execution and files"
"""Panels of the help."""
_FIRST = ("Arguments", "Options", DATA, FIGURES, SEARCH, MODELS, BACKENDS)


def sort_panels(names: Iterable[str]) -> list[str]:
    """Sort panels: shared ones first, those of a single command, and how the work is done."""
    order = {**dict.fromkeys(_FIRST), **dict.fromkeys(names), WORK: None}
    order[WORK] = order.pop(WORK)
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
Dataset = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Documents, queries and judgments: hpo or sample (built in), irds:<ir_datasets id>, "
        "or a folder in BEIR or TREC layout.",
        autocompletion=completion.complete_dataset,
    ),
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
CorpusFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Documents: JSONL with doc_id (or _id), title and text.",
        rich_help_panel=DATA,
    ),
]
TopicsFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Queries: TSV, CSV, JSONL, JSON, TREC SGML or XML, or irds:<ir_datasets id>.",
        rich_help_panel=DATA,
    ),
]
HpoTestSet = Annotated[
    str | None,
    typer.Option(
        "--test-file",
        metavar="SET",
        help="Test set, a file or a shipped name; without --dataset, the documents are those of "
        "hpo.  [default: hpo-en-standard]",
        rich_help_panel=DATA,
        autocompletion=completion.complete_test_set,
    ),
]
UnknownTermsChoice = Annotated[
    UnknownTerms | None,
    typer.Option(
        "--unknown-terms",
        help="Ids expected by the test set that are not terms of the ontology: refuse the set "
        "(error), or drop these judgments. Alternative ids, and obsolete ids with one replacement, "
        "are always read as their terms.  [default: error]",
        rich_help_panel=DATA,
    ),
]
OntologyFile = Annotated[
    str | None,
    typer.Option(
        "--ontology",
        metavar="FILE",
        help="OBO file with the terms that are the documents of hpo and that MaxOntSim compares.  "
        "[default: the installed HPO]",
        rich_help_panel=DATA,
    ),
]
AnnotationsFile = Annotated[
    str | None,
    typer.Option(
        "--annotations",
        metavar="FILE",
        help="Annotations in the format of phenotype.hpoa, from which the formulas resnik, lin "
        "and jiang_conrath of MaxOntSim take information content.  [default: the ontology's graph]",
        rich_help_panel=DATA,
    ),
]
Depth = Annotated[
    int | None,
    typer.Option(
        "--depth",
        min=1,
        metavar="N",
        help="Maximum number of results per query.  [default: 100]",
        rich_help_panel=SEARCH,
    ),
]
Confidence = Annotated[
    float,
    typer.Option(
        metavar="LEVEL",
        help="Confidence level of the intervals, between 0 and 1.",
        rich_help_panel=FIGURES,
    ),
]
INTERVAL_HELP = (
    "Method of the intervals: percentile or bca (bootstrap), t, wilson (measures of 0 and 1), or "
    "auto: wilson with fewer than ten hits or misses, otherwise bca."
)
Interval = Annotated[
    IntervalMethod | None,
    typer.Option(
        "--interval",
        metavar="NAME",
        help=f"{INTERVAL_HELP}  [default: auto]",
        rich_help_panel=FIGURES,
    ),
]
MISSING_HELP = (
    "Judged queries without results: zero counts them as 0 (trec_eval -c), drop leaves them out of "
    "the means."
)
NO_RELEVANT_HELP = (
    "Judged queries without a relevant document: zero counts them as 0 (as trec_eval), drop leaves "
    "them out of the means."
)
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        metavar="FIELD=COLUMN",
        help="Columns of a table with unusual names, or their numbers: "
        "query=q,doc_id=_id,score=_score. Fields: query, doc_id, score, rank, system; in qrels "
        "relevance.",
        rich_help_panel=DATA,
    ),
]
StrictInput = Annotated[
    bool,
    typer.Option(
        "--strict-input",
        help="Refuse every error of the files (exit code 1), also those that change no figure.",
        rich_help_panel=WORK,
    ),
]
LowMemory = Annotated[
    bool,
    typer.Option(
        "--low-memory",
        help="Read runs in chunks, for runs larger than memory; the results are the same.",
        rich_help_panel=WORK,
    ),
]
Seed = Annotated[
    int,
    typer.Option(min=0, metavar="N", help="Seed of the random numbers.", rich_help_panel=FIGURES),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="tcp://HOST:PORT",
        help="Distribute the work over the workers of this Dask scheduler; the results are the "
        "same.  [default: this machine]",
        rich_help_panel=WORK,
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
        help=f"{noun}, for example nDCG@10, AP(rel=2)@100, MRR@10 or ndcg_cut.10; several "
        f"comma-separated, or repeat the option.  [default: {default}]",
        autocompletion=completion.complete_measures,
    )


USUAL_MEASURES = ", ".join(DEFAULT_MEASURES)


def output_dir_option(help_text: str) -> Any:
    """Return the option ``--output-dir``."""
    return typer.Option("--output-dir", "-o", metavar="DIR", help=help_text)
