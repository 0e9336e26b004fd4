"""Options of several commands of the group ``extraction``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

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
