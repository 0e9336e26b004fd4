"""``query``, ``index build``, ``runs fetch`` and ``serve``: search of documents."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from trectools_plus import benchmark, extraction, formats, retrieval, service
from trectools_plus.choices import MODES
from trectools_plus.cli.options import (
    Config,
    Host,
    KeyFromEnv,
    Port,
    TextOrJson,
    output_dir_option,
    refuse_options,
)
from trectools_plus.cli.printing import (
    inform,
    note,
    records_table,
    show_progress,
    write_document,
    write_text,
)
from trectools_plus.cli.settings import (
    DocumentFiles,
    Given,
    IndexSettings,
    SearchSettings,
    SettingOptions,
    open_data,
    open_documents,
    refuse_unused,
)
from trectools_plus.models import format_command
from trectools_plus.text import listed, split_list


def index_build(
    documents: DocumentFiles,
    options: IndexSettings,
    modes: Annotated[
        str,
        Option(
            help="Modes to build indexes for, comma-separated: lexical, vector, ngram, splade, "
            "or hybrid for all that it merges.",
        ),
    ] = "lexical,vector",
    output_format: TextOrJson = "text",
) -> None:
    """Indexes are stored in the user's cache folder, or in the folder that TRECTOOLS_PLUS_CACHE
    names, under a key computed from documents, settings and versions. An existing index is not
    built again. The terms of an ontology get a vector for each label, synonym and definition, other
    documents one vector each; both kinds of index can exist at the same time.

    \b
    Examples:
      trectools-plus index build --dataset hpo
      trectools-plus index build --dataset hpo --set multi_vector=false
      trectools-plus index build --corpus corpus.jsonl --modes lexical --set stemmer=german
    """
    names = split_list(modes)
    retrieval.check_modes(names)
    settings = retrieval.make_model(retrieval.RetrievalSettings, options)
    opened = open_documents(documents)
    settings = settings.for_documents(has_parts=opened.parts is not None)
    refuse_unused(options, names, settings)
    with show_progress() as progress:
        built = retrieval.build_indexes(opened, names, settings, progress)
    write_document(
        {"documents": len(opened), "indexes": [index.as_dict() for index in built]}, output_format
    )


def query_text(
    text: Annotated[str, Argument(metavar="TEXT", help="The text to search for.")],
    files: DocumentFiles,
    options: SearchSettings,
    mode: Annotated[
        str,
        Option(
            help="Mode: lexical (or bm25), vector (or dense), ngram, hybrid, splade, or an "
            "aggregation strategy of multi-vector search.",
        ),
    ] = "hybrid",
    num_results: Annotated[
        int,
        Option("--depth", "--num-results", min=1, help="Maximum number of results."),
    ] = 10,
    output_format: TextOrJson = "text",
) -> None:
    """The first search builds the index; later ones reuse it. A term whose label, synonym or id
    equals the text (upper and lower case are the same) is listed first and marked as an exact
    match; of the HPO also one that the text names in lay words. If the text is an id, the command
    searches for the term's label. A text that names several findings is divided, and each is
    searched. Notes say if the text negates something or gives a normal value, and if the first
    result is not similar enough.

    \b
    Examples:
      trectools-plus query "short stature"
      trectools-plus query HP:0001250 --mode vector
      trectools-plus query "fits" --aggregation-strategy label_synonyms_max
      trectools-plus query "Herzgeräusch" --set language=de
      trectools-plus query "wing flutter" --corpus corpus.jsonl --format json
    """
    settings = retrieval.make_model(retrieval.RetrievalSettings, options)
    retrieval.check_modes([mode], settings)
    documents = open_documents(files)
    settings = settings.for_documents(has_parts=documents.parts is not None)
    refuse_unused(options, [mode], settings)
    with show_progress() as progress:
        retriever = retrieval.build_retrievers(documents, [mode], settings, progress)[mode]
        searcher = retrieval.TextSearcher(
            documents,
            retriever,
            # Deep enough for the scores of exact matches; the depth does not change the ranking.
            max(num_results, settings.candidates),
            _negated_words,
            knows_confidence=not retrieval.uses_vectors(mode)
            or retrieval.uses_builtin_embeddings(mode, settings),
        )
        answers = searcher.answer(text)
    notes = [_note_on(answer) for answer in answers if answer.note or answer.confident is False]
    notes += [
        f"The text does not affirm '{answer.negated}', but the results are terms for it."
        for answer in answers
        if answer.negated
    ]
    parts = [_as_dict(answer, documents, num_results) for answer in answers]
    results = dict[str, dict[str, Any]]()
    turns = chain.from_iterable(part["results"] for part in parts)
    for result in sorted(turns, key=itemgetter("rank")):
        results.setdefault(result["doc_id"], result)
    shown = list(results.values())[:num_results]
    document = {
        "query": text,
        "results": [{**result, "rank": rank} for rank, result in enumerate(shown, 1)],
        "confident": min((part["confident"] for part in parts), key=lambda sure: sure is not False),
        "negated": ", ".join(part["negated"] for part in parts if part["negated"]) or None,
        "mode": mode,
        "notes": notes,
        "parts": parts if len(parts) > 1 else [],
    }
    if output_format == "json":
        write_document(document)
        return
    if shown:
        write_text(records_table(shown))
    else:
        inform("nothing found")
    for line in notes:
        note(line)


def _note_on(answer: retrieval.TextAnswer) -> str:
    """Return a sentence on what speaks against the terms of a text."""
    if answer.note:
        return f"'{answer.query}': {answer.note}"
    return f"No confident match: the first result is not similar enough to '{answer.query}'."


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
            negated[start, end] = asserted.assertion
    return negated


def _as_dict(
    answer: retrieval.TextAnswer, documents: formats.Corpus, num_results: int
) -> dict[str, Any]:
    """Return an answer with rank, id, score and title of each result.

    A text's start replaces a missing title. Exact matches are first, with their score in the
    search, or ``None`` if it did not find them.
    """
    import polars as pl

    doc_ids = answer.doc_ids[:num_results]
    rows = documents.find(pl.Series(doc_ids, dtype=pl.String)).select("doc_id", "title", "text")
    titles = {doc_id: title or text[:80] for doc_id, title, text in rows.iter_rows()}
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
    return {
        "query": answer.query,
        "results": results,
        "confident": answer.confident,
        "negated": answer.negated or None,
    }


_JUDGMENTS = ("qrels", "unknown_terms")
_SETTINGS = SettingOptions(
    benchmark.FetchSettings,
    *(name for name in benchmark.FetchSettings.model_fields if name not in _JUDGMENTS),
)


def runs_fetch(
    output_dir: Annotated[Path, output_dir_option("Folder for the run files; created if missing.")],
    options: Annotated[Given, _SETTINGS],
    config: Config = None,
    resume: Annotated[
        bool,
        Option(
            "--resume",
            help="Continue an interrupted fetch: search only for queries that are not in its "
            "journals.",
        ),
    ] = False,
    output_format: TextOrJson = "text",
) -> None:
    """For each <mode>.run, the command also writes <mode>.run.manifest.json with hashes, settings,
    versions, latency, and queries without results. Indexes are built once and stored in the user's
    cache folder, or in the folder that TRECTOOLS_PLUS_CACHE names. Backends other than embedded
    write a journal of answered queries, <mode>.run.journal, from which --resume continues.

    \b
    Examples:
      runs fetch --dataset hpo --modes lexical,vector,hybrid --output-dir runs
      runs fetch --corpus corpus.jsonl --topics topics.tsv --modes lexical --output-dir runs
      runs fetch --dataset irds:cranfield --set k1=1.2 --set stopwords=none --output-dir runs
      runs fetch --dataset hpo --modes bm25,dense,hybrid --output-dir runs
      runs fetch --topics topics.tsv --config service.yaml --modes hybrid --output-dir runs --resume
      runs fetch --topics topics.tsv --engine solr --http-url http://localhost:8983/solr/articles \\
        --set http.text_fields=title,text --output-dir runs
    """
    settings = benchmark.load_fetch_settings(config, options)
    names, searched = list(settings.modes), options.get("retrieval", {})
    if not names and "modes" not in options:
        names = list(retrieval.default_modes(settings.retriever, settings.http) or MODES)
    if settings.is_embedded:
        names = list(retrieval.expand_modes(names, settings.retrieval))
        retrieval.check_modes(names, settings.retrieval)
    else:
        settings.check_backend_modes(names)
        refuse_options(
            {f"the setting {name}": searched[name] for name in searched},
            f"has no effect: the backend is {settings.backend}",
        )
    with show_progress() as progress:
        backend = settings.make_backend()
        documents, queries = open_data(settings)
        request = retrieval.FetchRequest(
            documents,
            queries,
            names,
            retrieval.FetchOptions(settings.depth, settings.exclude_self, settings.collapse),
            settings.retrieval,
            backend,
        )
        if settings.is_embedded:
            refuse_unused(searched, names, request.settings)
        files = retrieval.fetch_to_dir(
            request,
            output_dir,
            resume=resume,
            progress=progress,
            dataset=settings.dataset,
            command=format_command(sys.argv),
        )
    manifests = [file.manifest for file in files.values()]
    if output_format == "json":
        write_document({"runs": [manifest.model_dump(mode="json") for manifest in manifests]})
    else:
        rows = [
            {
                "run": manifest.run.path,
                "results": manifest.run.results,
                "queries": manifest.run.queries,
                "of": manifest.topics.count,
            }
            for manifest in manifests
        ]
        write_text(records_table(rows))
        typer.echo(f"written to {output_dir}, each with its manifest")
    for manifest in manifests:
        if cut_short := manifest.cut_short:
            note(
                f"{manifest.mode} is incomplete: for {len(cut_short)} queries it found more "
                f"than the service returned: {listed(cut_short)}; raise the service's limit of "
                "results (or max_chunks), or use a smaller --depth"
            )


_SERVICE_SETTINGS = SettingOptions(
    benchmark.BenchmarkConfig, "dataset", "corpus", "test_file", "modes", "depth", assigns=False
)
_OF_FILE = ("dataset", "corpus", "test_file", "modes", "depth", "retrieval")
_REPLACED_BY_DOCUMENTS = ("dataset", "corpus", "test_file")
"""Settings of the configuration file that are ignored if --dataset or --corpus is given."""


@dataclass(frozen=True)
class LimitOptions:
    """Limits on requests."""

    time_limit: Annotated[
        float,
        Option(min=0.1, help="Time limit for receiving a request body, and for answering it."),
    ] = 60.0
    workers: Annotated[
        int,
        Option(
            min=1, max=64, help="Number of processes, and of requests processed at the same time."
        ),
    ] = 2

    def limits(self) -> service.Limits:
        """Return the limits."""
        return service.Limits(seconds=self.time_limit, workers=self.workers)


def serve(
    options: Annotated[Given, _SERVICE_SETTINGS],
    searching: IndexSettings,
    limits: LimitOptions,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    key_from_env: KeyFromEnv = None,
    config: Annotated[
        Path | None,
        Option(
            help="Configuration file (benchmark.yaml), of which dataset, corpus, test_file, modes, "
            "depth and retrieval are used; options override it.",
        ),
    ] = None,
    report: Annotated[
        list[Path] | None,
        Option(
            help="Report whose values /metrics contains, read again when it changes; repeatable."
        ),
    ] = None,
    prefix: Annotated[str, Option(help="Prefix of the names of metrics.")] = "trectools_plus",
) -> None:
    """The service answers POST requests to /v1/evaluate, /v1/validate and /v1/score, and GET
    requests to /healthz, /readyz, /metrics and /openapi.json. Requests contain the key as
    'Authorization: Bearer KEY', unless the service listens on the loopback address without a key.
    A request to /v1/evaluate without a body evaluates the test set of --test-file, otherwise the
    queries and judgments of --dataset. Needs the extra service. Ctrl-C stops it.

    \b
    Examples:
      trectools-plus serve
      trectools-plus serve --config benchmark.yaml --prefix medicalkg
      trectools-plus serve --dataset none --report results/today --prefix medicalkg
      trectools-plus serve --host 0.0.0.0 --port 8080 --key-from-env SERVICE_KEY
    """
    replaces = "dataset" in options or "corpus" in options
    values: dict[str, Any] = {}
    if config is not None:
        of_file = benchmark.load_fetch_settings(config).model_dump(exclude_unset=True)
        values = {name: of_file[name] for name in _OF_FILE if name in of_file}
    for name in _REPLACED_BY_DOCUMENTS if replaces else ():
        values.pop(name, None)
    retrieved = {**values.pop("retrieval", {}), **searching}
    values |= options
    settings = service.ServiceSettings(
        **values,
        retrieval=retrieval.make_model(retrieval.RetrievalSettings, retrieved),
        prefix=prefix,
        reports=tuple(map(str, report or ())),
        limits=limits.limits(),
    )
    refuse_unused(
        searching,
        settings.modes,
        settings.retrieval.for_documents(has_parts=settings.has_terms),
    )
    key = None if key_from_env is None else service.read_key(key_from_env)
    service.run_server(settings, host, port, key)
