"""``runs fetch``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from trectools_plus import benchmark, formats, retrieval
from trectools_plus.choices import MODES, Panel
from trectools_plus.cli.options.common import TextOrJson, output_dir_option, refuse_options
from trectools_plus.cli.options.settings import Given, SettingOptions, refuse_unused
from trectools_plus.cli.printing import records_table, write_document, write_text
from trectools_plus.cli.verbosity import note, show_progress
from trectools_plus.errors import UsageError
from trectools_plus.progress import Progress
from trectools_plus.provenance import format_command
from trectools_plus.text import listed

_JUDGMENTS = ("qrels", "unknown_terms")
_SETTINGS = SettingOptions(
    benchmark.FetchSettings,
    *(name for name in benchmark.FetchSettings.model_fields if name not in _JUDGMENTS),
)


def runs_fetch(
    output_dir: Annotated[Path, output_dir_option("Folder for the run files; created if missing.")],
    given: Annotated[Given, _SETTINGS],
    config: Annotated[
        Path | None,
        Option(
            help="Configuration file (benchmark.yaml) with the documents, the topics, the backend "
            "and the settings of the search; options override it.",
            rich_help_panel=Panel.BACKENDS,
        ),
    ] = None,
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
      runs fetch --dataset hpo --modes bm25,dense,hybrid+exact --output-dir runs
      runs fetch --topics topics.tsv --config service.yaml --modes hybrid --output-dir runs --resume
      runs fetch --topics topics.tsv --engine solr --http-url http://localhost:8983/solr/articles \\
        --set http.text_fields=title,text --output-dir runs
    """
    settings = benchmark.load_fetch_settings(config, given)
    names, searched = list(settings.modes), given.get("retrieval", {})
    if not names and "modes" not in given:
        names = list(retrieval.default_modes(settings.retriever, settings.http) or MODES)
    if settings.is_embedded:
        names = list(retrieval.expand_modes(names, settings.retrieval))
        retrieval.check_modes(names, settings.retrieval)
    else:
        settings.check_backend_modes(names)
        reason = f"has no effect: the backend is {settings.backend}"
        refuse_options({f"the setting {name}": searched[name] for name in searched}, reason)
    with show_progress() as progress:
        backend = settings.make_backend()
        documents, queries = _open_data(settings, progress)
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
    if output_format == "json":
        manifests = [file.manifest.model_dump(mode="json") for file in files.values()]
        write_document({"runs": manifests})
    else:
        write_text(records_table(list(map(_describe, files.values()))))
        typer.echo(f"written to {output_dir}, each with its manifest")
    for file in files.values():
        _note_missing(file)


def _open_data(
    settings: benchmark.FetchSettings, progress: Progress
) -> tuple[formats.DocumentCollection | None, formats.Topics]:
    """Open documents and queries: documents as a stream if the backend supports it.

    Args:
        settings: The settings.
        progress: Receives the progress of the check of documents.

    Raises:
        UsageError: If settings exclude each other, or documents or queries are missing.
        InputError: If a file cannot be read.
    """
    dataset, documents = settings.dataset, None
    needed = [settings.topics, *([settings.corpus] if settings.needs_corpus else [])]
    if dataset is not None:
        files = {"--corpus": settings.corpus, "--topics": settings.topics}
        refuse_options(files, "and --dataset exclude each other")
    elif None in needed:
        raise UsageError(
            "no collection to search",
            remedy="give --dataset, or --corpus and --topics, or name them in the file of --config",
        )
    if settings.streams_documents:
        documents = formats.stream_documents(dataset, settings.corpus)
    if documents is not None:
        documents.check(progress)
    if dataset is not None:
        queries = None if documents is None else retrieval.read_dataset_topics(dataset)
        if queries is not None:
            return documents, queries
        collection = benchmark.open_collection(
            dataset, settings.test_file, settings.ontology, unknown_terms="drop"
        )
        if collection.corpus is None and settings.needs_corpus:
            raise UsageError("the dataset has no documents to search", where=dataset)
        return documents or collection.corpus, collection.topics
    assert settings.topics is not None
    queries = formats.read_topics(settings.topics, settings.topic_options)
    if queries.read_as is not None:
        note(f"{settings.topics} {queries.read_as}")
    if documents is None and settings.corpus is not None:
        return formats.load_corpus(settings.corpus), queries
    return documents, queries


def _describe(file: retrieval.FetchedFile) -> dict[str, Any]:
    manifest, latency = file.manifest, file.manifest.latency_ms
    return {
        "run": manifest.run.path,
        "results": manifest.run.results,
        "queries": manifest.run.queries,
        "of": manifest.topics.count,
        "p50 ms": latency and latency.p50,
        "p95 ms": latency and latency.p95,
    }


def _note_missing(file: retrieval.FetchedFile) -> None:
    manifest = file.manifest
    of_all, missing = f"of {manifest.topics.count} queries", manifest.run.missing_queries
    if manifest.cut_short:
        note(
            f"{manifest.mode} is incomplete: it found more, but returned fewer than "
            f"{manifest.depth} documents for {len(manifest.cut_short)} {of_all}: "
            f"{listed(manifest.cut_short)}; raise the service's limit of results (or max_chunks), "
            "or use a smaller --depth"
        )
    if missing:
        note(f"{manifest.mode} found nothing for {len(missing)} {of_all}: {listed(missing)}")
