"""``query``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from trectools_plus.cli.index import CorpusFile, Dataset, OntologyFile
from trectools_plus.cli.option_groups import with_groups
from trectools_plus.cli.printing import write_json
from trectools_plus.cli.retrieval_options import RetrievalOptions, open_documents
from trectools_plus.errors import UsageError

if TYPE_CHECKING:
    from trectools_plus.formats.tables import Corpus
    from trectools_plus.retrieval.base import Ranking


@with_groups
def query_text(
    *,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to search with.")],
    dataset: Dataset = None,
    corpus: CorpusFile = None,
    ontology: OntologyFile = None,
    mode: Annotated[
        str,
        typer.Option(metavar="NAME", help="lexical (bm25), vector (dense), hybrid or splade."),
    ] = "vector",
    num_results: Annotated[int, typer.Option(min=1, help="Results, at most.")] = 10,
    retrieval: RetrievalOptions,
    output_format: Annotated[
        Literal["table", "json"], typer.Option("--format", help="table to read, json for programs.")
    ] = "table",
) -> None:
    """Search the terms of an ontology, or any documents, for one text.

    The index is built at the first search and found again at later ones.

    \b
    Examples:
      trectools-plus query "short stature"
      trectools-plus query "fits" --multi-vector --aggregation-strategy label_synonyms_max
      trectools-plus query "wing flutter" --corpus corpus.jsonl --mode hybrid --format json
    """
    from trectools_plus.cli.progress import progress_bar
    from trectools_plus.retrieval.modes import build_retrievers, check_modes
    from trectools_plus.retrieval.settings import make_settings

    if not text.strip():
        raise UsageError("there is no text to search with", where="TEXT")
    check_modes([mode])
    values = retrieval.values()
    settings = make_settings(values)
    documents = open_documents(dataset, corpus, ontology)
    with progress_bar() as progress:
        retriever = build_retrievers(documents, [mode], settings, progress)[mode]
        (found,) = retriever.search([text], num_results)
    results = _results(found, documents)
    if output_format == "json":
        write_json({"query": text, "mode": mode, "results": results})
    elif results:
        _print_results(results)
    else:
        typer.echo("nothing found", err=True)


def _results(found: Ranking, documents: Corpus) -> list[dict[str, Any]]:
    """Rank, id, score and title of each result; the start of the text where there is no title."""
    import polars as pl

    shown = pl.when(pl.col("title") != "").then("title").otherwise(pl.col("text").str.head(80))
    wanted = documents.frame.filter(pl.col("doc_id").is_in(found.doc_ids))
    titles = dict(wanted.select("doc_id", shown).iter_rows())
    pairs = zip(found.doc_ids, found.scores.tolist(), strict=True)
    return [
        {"rank": rank, "doc_id": doc_id, "score": score, "title": titles[doc_id]}
        for rank, (doc_id, score) in enumerate(pairs, 1)
    ]


def _print_results(results: list[dict[str, Any]]) -> None:
    """A table, at most 100 columns wide."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False, width=100)
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("Rank", justify="right")
    table.add_column("Id", overflow="fold")
    table.add_column("Score", justify="right")
    table.add_column("Title", overflow="fold")
    for one in results:
        table.add_row(str(one["rank"]), one["doc_id"], f"{one['score']:.4f}", one["title"])
    console.print(table)
