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
    from trectools_plus.retrieval.source import Ranking


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

    The index is built at the first search and found again at later ones. A term
    whose label, synonym or id is the text, in any case, comes first and is marked
    as an exact match; with an id, what follows is the search for the term's label.

    \b
    Examples:
      trectools-plus query "short stature"
      trectools-plus query HP:0001250 --mode hybrid
      trectools-plus query "fits" --multi-vector --aggregation-strategy label_synonyms_max
      trectools-plus query "wing flutter" --corpus corpus.jsonl --mode hybrid --format json
    """
    from trectools_plus.progress import progress_bar
    from trectools_plus.retrieval.backends.embedded.backend import build_retrievers
    from trectools_plus.retrieval.backends.embedded.modes import check_modes
    from trectools_plus.retrieval.settings import make_settings

    if not text.strip():
        raise UsageError("there is no text to search with", where="TEXT")
    check_modes([mode])
    values = retrieval.values()
    settings = make_settings(values)
    documents = open_documents(dataset, corpus, ontology)
    exact, searched = _find_exact(text, ontology) if documents.parts is not None else ([], text)
    with progress_bar() as progress:
        retriever = build_retrievers(documents, [mode], settings, progress)[mode]
        # Deep enough for the scores of exact matches; no mode ranks otherwise for it.
        (found,) = retriever.search([searched], max(num_results, settings.candidates))
    results = _results(found, exact, documents)[:num_results]
    if output_format == "json":
        write_json({"query": text, "mode": mode, "results": results})
    elif results:
        _print_results(results)
    else:
        typer.echo("nothing found", err=True)


def _find_exact(text: str, path: str | None) -> tuple[list[str], str]:
    """Return the terms that the text names, and the text to search with."""
    from trectools_plus.ontology.hpo import load_ontology
    from trectools_plus.retrieval.ontology_terms import find_named

    ontology = load_ontology(path)
    term_id = ontology.ids.find(text)
    if term_id is None:
        return find_named(ontology, text), text
    return [term_id], ontology.term(term_id).name or text


def _results(found: Ranking, exact: list[str], documents: Corpus) -> list[dict[str, Any]]:
    """Rank, id, score and title of each result; the start of the text where there is no title.

    Exact matches come first; their score is that of the search, ``None`` where it did not find
    them.
    """
    import polars as pl

    scores = dict(zip(found.doc_ids, found.scores.tolist(), strict=True))
    doc_ids = list(dict.fromkeys([*exact, *found.doc_ids]))
    shown = pl.when(pl.col("title") != "").then("title").otherwise(pl.col("text").str.head(80))
    wanted = documents.frame.filter(pl.col("doc_id").is_in(doc_ids))
    titles = dict(wanted.select("doc_id", shown).iter_rows())
    return [
        {
            "rank": rank,
            "doc_id": doc_id,
            "score": scores.get(doc_id),
            "title": titles[doc_id],
            "exact": doc_id in exact,
        }
        for rank, doc_id in enumerate(doc_ids, 1)
    ]


def _print_results(results: list[dict[str, Any]]) -> None:
    from trectools_plus.reporting.table import Table
    from trectools_plus.reporting.terminal import print_table
    from trectools_plus.text import make_console

    header = ["Rank", "Id", "Score", "Title", ""]
    rows = [
        [
            str(one["rank"]),
            one["doc_id"],
            "–" if one["score"] is None else f"{one['score']:.4f}",
            one["title"],
            "exact match" if one["exact"] else "",
        ]
        for one in results
    ]
    print_table(make_console(sys.stdout), Table.of(header, rows, right=("Rank", "Score")))
