"""``index build``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from trectools_plus.cli.printing import write_json
from trectools_plus.cli.retrieval_options import (
    DeviceName,
    EmbeddingModel,
    MultiVector,
    Setting,
    SpladeModel,
    open_documents,
    retrieval_values,
)

if TYPE_CHECKING:
    from trectools_plus.retrieval.backends.embedded.backend import BuiltIndex

Dataset = Annotated[
    str | None,
    typer.Option(
        help="hpo (built in; the default), irds:<ir_datasets id>, or a folder in BEIR or TREC "
        "layout."
    ),
]
CorpusFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="Documents (JSONL), instead of --dataset.")
]
OntologyFile = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="An OBO file for --dataset hpo, instead of the built-in."),
]


def index_build(
    dataset: Dataset = None,
    corpus: CorpusFile = None,
    ontology: OntologyFile = None,
    modes: Annotated[
        str,
        typer.Option(metavar="NAMES", help="Modes to build for, with commas; splade is another."),
    ] = "lexical,vector",
    multi_vector: MultiVector = False,
    embedding_model: EmbeddingModel = None,
    splade_model: SpladeModel = None,
    device: DeviceName = None,
    setting: Setting = None,
    output_format: Annotated[
        Literal["text", "json"], typer.Option("--format", help="text to read, json for programs.")
    ] = "text",
) -> None:
    """Build the indexes that searching needs, so that the first search does not wait.

    Indexes are kept in the user's cache folder (TRECTOOLS_PLUS_CACHE names another), under a key
    made of documents, settings and versions; one that is there already stays. Single-vector and
    multi-vector indexes stand beside each other.

    \b
    Examples:
      trectools-plus index build --dataset hpo
      trectools-plus index build --dataset hpo --multi-vector
      trectools-plus index build --corpus corpus.jsonl --modes lexical --set stemmer=german
    """
    from trectools_plus.progress import progress_bar
    from trectools_plus.retrieval.backends.embedded.backend import build_indexes
    from trectools_plus.retrieval.backends.embedded.modes import check_modes
    from trectools_plus.retrieval.settings import make_settings
    from trectools_plus.text import split_list

    names = split_list(modes)
    check_modes(names)
    values = retrieval_values(
        setting,
        multi_vector=multi_vector,
        embedding_model=embedding_model,
        splade_model=splade_model,
        device=device,
    )
    settings = make_settings(values)
    documents = open_documents(dataset, corpus, ontology)
    with progress_bar() as progress:
        built = build_indexes(documents, names, settings, progress)
    if output_format == "json":
        write_json({"documents": len(documents), "indexes": [one.as_dict() for one in built]})
    else:
        _print_built(built, len(documents))


def _print_built(built: list[BuiltIndex], documents: int) -> None:
    typer.echo(f"{documents:,} documents")
    for one in built:
        state = "there already" if one.reused else "built"
        typer.echo(f"{one.kind:<14}{one.bytes / 1e6:>9,.1f} MB  {state}")
        typer.echo(f"  {one.folder}")
