"""Options of several commands that make a benchmark: data, measures, statistics, files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

Dataset = Annotated[
    str | None,
    typer.Option(help="hpo (built in), irds:<ir_datasets id>, or a folder in BEIR or TREC layout."),
]
SetOfHpo = Annotated[
    str | None,
    typer.Option(
        metavar="SET",
        help="Test cases for --dataset hpo: a file, or a shipped set [default: hpo-en-standard].",
    ),
]
CorpusFile = Annotated[
    str | None, typer.Option(help="Documents: JSONL with doc_id (or _id), title, text.")
]
TopicsFile = Annotated[str | None, typer.Option(help="Queries: TSV, JSONL or TREC.")]
QrelsFile = Annotated[str | None, typer.Option(help="Judgments: TREC qrels or BEIR's TSV.")]
OutputDir = Annotated[
    Path | None,
    typer.Option(help="Folder for reports and runs [default: results/<experiment id>]."),
]
Depth = Annotated[
    int | None, typer.Option(help="Results fetched per query; not with --runs [default: 100].")
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measures",
        "-m",
        help="Measures with commas, such as nDCG@10,AP@100 [default: nDCG@10, AP@100, "
        "RR@10, R@50, R@100, HitRate@10; for hpo RR, and HitRate, nDCG, R, P, APcap and "
        "MaxOntSim at 1, 3, 5, 10].",
    ),
]
Cutoffs = Annotated[
    str | None,
    typer.Option(
        metavar="K,K",
        help="Other cutoffs for the default measures, such as 1,5,20; not with --measures.",
    ),
]
OntologyFile = Annotated[
    str | None,
    typer.Option(
        "--ontology",
        metavar="FILE",
        help="The OBO file that documents are terms of: what --dataset hpo searches, and what "
        "MaxOntSim and the list of near misses look at [default: the installed HPO].",
    ),
]
Confidence = Annotated[float | None, typer.Option(help="Level of the intervals [default: 0.95].")]
Resamples = Annotated[int | None, typer.Option(help="Bootstrap resamples [default: 10000].")]
Seed = Annotated[int | None, typer.Option(help="Seed of the resamples [default: 42].")]
NoCache = Annotated[
    bool,
    typer.Option(
        "--no-cache",
        help="Compute everything, even where the output folder, or one beside it, holds the "
        "results of the same configuration, data and code.",
    ),
]
ReportFormat = Annotated[
    Literal["text", "json"],
    typer.Option("--format", help="text to read, json (the report) for programs."),
]


@dataclass(frozen=True)
class MeasureOptions:
    """Which measures, for :func:`~trectools_plus.cli.option_groups.with_groups`."""

    measures: Measures = None
    cutoffs: Cutoffs = None

    def values(self) -> dict[str, Any]:
        """The options as settings; ``None`` where nothing was said."""
        from trectools_plus.measures.parser import split_names

        named = None if self.measures is None else split_names(",".join(self.measures))
        return {"measures": named, "cutoffs": self.cutoffs}


@dataclass(frozen=True)
class ResamplingOptions:
    """How intervals are made; the fields are settings, ``None`` where nothing was said."""

    confidence: Confidence = None
    resamples: Resamples = None
    seed: Seed = None
