"""``index build``."""

from __future__ import annotations

from typing import Annotated

import typer

from trectools_plus import retrieval
from trectools_plus.cli import completion
from trectools_plus.cli.options.common import DatasetOrHpo, TextOrJson
from trectools_plus.cli.options.groups import with_groups
from trectools_plus.cli.options.retrieval import (
    DocumentFiles,
    IndexSettings,
    SearchOptions,
    Setting,
    open_documents,
)
from trectools_plus.cli.printing import write_json
from trectools_plus.cli.verbosity import show_progress
from trectools_plus.text import split_list


@with_groups
def index_build(
    *,
    dataset: DatasetOrHpo = None,
    documents: DocumentFiles,
    modes: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Modes to build indexes for, comma-separated: lexical, vector, ngram, splade, "
            "or hybrid for all that it merges.",
            autocompletion=completion.complete_modes,
        ),
    ] = "lexical,vector",
    given: IndexSettings,
    setting: Setting = None,
    output_format: TextOrJson = "text",
) -> None:
    """Indexes are stored in the user's cache folder, or in the folder that TRECTOOLS_PLUS_CACHE
    names, under a key computed from documents, settings and versions. An existing index is not
    built again. The terms of an ontology get a vector for each label, synonym and definition, other
    documents one vector each; both kinds of index can exist at the same time.

    \b
    Examples:
      trectools-plus index build --dataset hpo
      trectools-plus index build --dataset hpo --no-multi-vector
      trectools-plus index build --corpus corpus.jsonl --modes lexical --set stemmer=german
    """
    names = split_list(modes)
    retrieval.check_modes(names)
    options = SearchOptions(given, setting)
    settings = retrieval.make_settings(options.values)
    opened = open_documents(dataset, **documents)
    settings = settings.for_documents(has_parts=opened.parts is not None)
    options.check_used(names, settings)
    with show_progress() as progress:
        built = retrieval.build_indexes(opened, names, settings, progress)
    if output_format == "json":
        write_json({"documents": len(opened), "indexes": [one.as_dict() for one in built]})
    else:
        _print_built(built, len(opened))


def _print_built(built: list[retrieval.BuiltIndex], documents: int) -> None:
    typer.echo(f"{documents:,} documents")
    for one in built:
        state = "there already" if one.reused else "built"
        typer.echo(f"{one.kind:<14}{one.bytes / 1e6:>9,.1f} MB  {state}")
        typer.echo(f"  {one.folder}")
