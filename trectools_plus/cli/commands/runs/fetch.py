"""``runs fetch``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from trectools_plus import benchmark, formats, retrieval
from trectools_plus.choices import MODES, Panel
from trectools_plus.cli.options.common import TextOrJson, output_dir_option, refuse_options
from trectools_plus.cli.options.from_models import Given, SettingOptions
from trectools_plus.cli.options.groups import with_groups
from trectools_plus.cli.options.retrieval import SearchOptions, Setting
from trectools_plus.cli.printing import records_table, write_document, write_text
from trectools_plus.cli.verbosity import note, show_progress
from trectools_plus.errors import UsageError
from trectools_plus.provenance import format_command
from trectools_plus.text import listed

_JUDGMENTS = ("qrels", "unknown_terms")
_SETTINGS = SettingOptions(
    benchmark.FetchSettings,
    *(name for name in benchmark.FetchSettings.model_fields if name not in _JUDGMENTS),
)


@with_groups
def runs_fetch(
    *,
    output_dir: Annotated[Path, output_dir_option("Folder for the run files; created if missing.")],
    given: Annotated[Given, _SETTINGS],
    setting: Setting = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Configuration file (benchmark.yaml) with the documents, the topics, the backend "
            "and the settings of the search; options override it.",
            rich_help_panel=Panel.BACKENDS,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
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
      runs fetch --dataset hpo --modes bm25,dense,hybrid+exact --output-dir runs
      runs fetch --topics topics.tsv --config service.yaml --modes hybrid --output-dir runs --resume
      runs fetch --topics topics.tsv --engine solr --http-url http://localhost:8983/solr/articles \\
        --http text_fields=title,text --output-dir runs
    """
    searching = SearchOptions(given.pop("retrieval", {}), setting)
    retrieval.make_settings(searching.values)  # reports errors of --set
    settings = benchmark.load_fetch_settings(
        config, {**given, "retrieval": searching.values or None}
    )
    names = list(settings.modes)
    if not names and "modes" not in given:
        names = list(retrieval.default_modes(settings.retriever, settings.http) or MODES)
    if searching.values and not settings.is_embedded:
        raise UsageError(
            f"the backend {settings.backend} does not use --set or models",
            remedy="put its settings into the file that --config names",
        )
    if settings.is_embedded:
        names = list(retrieval.expand_modes(names, settings.retrieval))
        retrieval.check_modes(names, settings.retrieval)
    else:
        settings.check_backend_modes(names)
    with show_progress() as progress:
        backend = settings.make_backend()
        documents, queries = _open_data(settings)
        request = retrieval.FetchRequest(
            documents,
            queries,
            names,
            retrieval.FetchOptions(settings.depth, settings.exclude_self, settings.collapse),
            settings.retrieval,
            backend,
        )
        if settings.is_embedded:
            searching.check_used(names, request.settings)
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
        write_text(records_table(list(map(_describe, files.values()))))
        typer.echo(f"written to {output_dir}, each with its manifest")
    for file in files.values():
        _note_missing(file)


def _open_data(settings: benchmark.FetchSettings) -> tuple[formats.Corpus | None, formats.Topics]:
    """Open documents and queries.

    Args:
        settings: The settings.

    Raises:
        UsageError: If settings exclude each other, or documents or queries are missing.
        InputError: If a file cannot be read.
    """
    _check_data(settings)
    documents: formats.Corpus | None = None
    queries: formats.Topics | None = None
    if settings.dataset is not None:
        collection = benchmark.open_collection(
            settings.dataset, settings.test_file, settings.ontology, unknown_terms="drop"
        )
        documents, queries = collection.corpus, collection.topics
    if settings.corpus is not None:
        documents = formats.load_corpus(settings.corpus)
    if settings.topics is not None:
        queries = formats.read_topics(settings.topics, settings.topic_options)
        if queries.read_as is not None:
            note(f"{settings.topics} {queries.read_as}")
    if documents is None and settings.is_embedded:
        raise UsageError("the dataset has no documents to search", where=settings.dataset)
    assert queries is not None
    return documents, queries


def _check_data(settings: benchmark.FetchSettings) -> None:
    if settings.dataset != "hpo" or settings.corpus or settings.topics:
        terms = {"--test-file": settings.test_file, "--ontology": settings.ontology}
        refuse_options(terms, "needs --dataset hpo")
    if settings.dataset is not None:
        files = {"--corpus": settings.corpus, "--topics": settings.topics}
        refuse_options(files, "and --dataset exclude each other")
    needed = [settings.topics, *([settings.corpus] if settings.is_embedded else [])]
    if settings.dataset is None and None in needed:
        corpus = "--corpus and " if settings.is_embedded else ""
        raise UsageError(
            "no collection to search",
            remedy=f"give --dataset, or {corpus}--topics, or name them in the file of --config",
        )


def _describe(file: retrieval.FetchedFile) -> dict[str, Any]:
    manifest, latency = file.manifest, file.manifest.latency_ms
    times = {} if latency is None else {"p50 ms": latency.p50, "p95 ms": latency.p95}
    return {
        "run": manifest.run.path,
        "results": manifest.run.results,
        "queries": manifest.run.queries,
        "of": manifest.topics.count,
        **times,
    }


def _note_missing(file: retrieval.FetchedFile) -> None:
    manifest = file.manifest
    of_all, missing = f"of {manifest.topics.count} queries", manifest.run.missing_queries
    if manifest.cut_short:
        limit = "the service's limit of results"
        raised = limit if manifest.collapse is None else f"max_chunks, or {limit}"
        note(
            f"{manifest.mode} is incomplete: it found more, but returned fewer than "
            f"{manifest.depth} documents for {len(manifest.cut_short)} {of_all}: "
            f"{listed(manifest.cut_short)}; raise {raised}, or use a smaller --depth"
        )
    if missing:
        note(f"{manifest.mode} found nothing for {len(missing)} {of_all}: {listed(missing)}")
