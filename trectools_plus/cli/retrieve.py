"""``runs fetch``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from trectools_plus.cli.backends import BackendOptions, ChunkOptions, backend_values
from trectools_plus.cli.fetch_sources import SourceOptions, open_sources
from trectools_plus.cli.index import OntologyFile
from trectools_plus.cli.option_groups import with_groups
from trectools_plus.cli.printing import write_json
from trectools_plus.cli.retrieval_options import RetrievalOptions
from trectools_plus.errors import UsageError

if TYPE_CHECKING:
    from trectools_plus.benchmark.run.config_file import FetchSettings
    from trectools_plus.retrieval.fetch.run_files import FetchedFile

OutputFormat = Literal["text", "json"]
DEFAULT_MODES = ("lexical", "vector", "hybrid")

_FORMAT = Annotated[OutputFormat, typer.Option("--format", help="text to read, json for programs.")]


@with_groups
def runs_fetch(
    *,
    output_dir: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the run files; made if missing.")
    ],
    dataset: Annotated[
        str | None,
        typer.Option(metavar="D", help="hpo, irds:<id>, or a folder in BEIR or TREC layout."),
    ] = None,
    corpus: Annotated[
        str | None, typer.Option(metavar="FILE", help="Documents (JSONL), instead of --dataset.")
    ] = None,
    topics: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Queries (TSV, JSONL, TREC), instead of --dataset."),
    ] = None,
    modes: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Modes with commas: lexical (or bm25), vector (or dense), hybrid (these three are "
            "the default), splade, or an aggregation strategy of multi-vector search; or those of "
            "the backend; every --retriever is one.",
        ),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Results for each query, at most [default: 100]."),
    ] = None,
    exclude_self: Annotated[
        bool,
        typer.Option(
            "--exclude-self", help="Drop a document whose id is the query's, before the cutoff."
        ),
    ] = False,
    retrieval: RetrievalOptions,
    ontology: OntologyFile = None,
    test_file: Annotated[
        str | None,
        typer.Option(
            metavar="SET",
            help="Test cases for --dataset hpo: a file, or a shipped set "
            "[default: hpo-en-standard].",
        ),
    ] = None,
    backend: BackendOptions,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A benchmark.yaml with the backend's settings: backend, http, milvus, retriever, "
            "collapse, modes, depth, exclude_self; options here win.",
        ),
    ] = None,
    chunks: ChunkOptions,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on with a fetch that was ended: only what its journals do not hold is asked.",
        ),
    ] = False,
    output_format: _FORMAT = "text",
) -> None:
    """Search a collection and write one run file for each mode.

    Beside each <mode>.run stands <mode>.run.manifest.json: hashes, settings, versions, latency,
    and queries for which nothing was found. Indexes are built once and kept in the user's cache
    folder (TRECTOOLS_PLUS_CACHE names another). Other backends than the embedded one keep a
    journal of answered queries, <mode>.run.journal, with which --resume goes on.

    \b
    Examples:
      runs fetch --dataset hpo --modes lexical,vector,hybrid --output-dir runs
      runs fetch --corpus corpus.jsonl --topics topics.tsv --modes lexical --output-dir runs
      runs fetch --dataset irds:cranfield --set k1=1.2 --set stopwords=none --output-dir runs
      runs fetch --dataset hpo --modes bm25,dense --multi-vector --output-dir runs
      runs fetch --topics topics.tsv --config service.yaml --modes hybrid --output-dir runs --resume
      runs fetch --corpus corpus.jsonl --topics topics.tsv --milvus-uri my.db --output-dir runs
    """
    from trectools_plus.benchmark.run.config_file import load_fetch_settings
    from trectools_plus.progress import progress_bar
    from trectools_plus.provenance import format_command
    from trectools_plus.retrieval.fetch.answering import FetchOptions
    from trectools_plus.retrieval.fetch.fetch import FetchRequest
    from trectools_plus.retrieval.fetch.run_files import fetch_to_dir
    from trectools_plus.retrieval.settings import make_settings

    searching = load_fetch_settings(
        config,
        {
            **backend_values(backend, chunks),
            "depth": depth,
            "exclude_self": exclude_self or None,
        },
    )
    names = _choose_modes(modes, searching)
    values = retrieval.values()
    if values and not searching.needs_corpus:
        raise UsageError(
            f"the backend {searching.backend} takes no --set, and no models",
            remedy="its settings are in the file that --config names",
        )
    settings = make_settings(values)
    sources = SourceOptions(dataset, corpus, topics, test_file, ontology)
    with progress_bar() as progress:
        documents, queries = open_sources(sources, searching, progress)
        request = FetchRequest(
            documents,
            queries,
            names,
            FetchOptions(searching.depth, searching.exclude_self, searching.collapse),
            settings,
            searching.make_backend(),
        )
        files = fetch_to_dir(
            request,
            output_dir,
            resume=resume,
            progress=progress,
            dataset=dataset,
            command=format_command(sys.argv),
        )
    if output_format == "json":
        write_json({"runs": [file.manifest.model_dump(mode="json") for file in files.values()]})
    else:
        _print_fetched(list(files.values()), output_dir)
    _note_missing(list(files.values()))


def _choose_modes(modes: str | None, searching: FetchSettings) -> list[str]:
    """The modes that are named, or all that there are."""
    from trectools_plus.text import split_list

    names = list(searching.modes or searching.retriever or DEFAULT_MODES)
    if modes is not None:
        names = list(split_list(modes))
    searching.check_backend_modes(names)
    return names


def _print_fetched(files: list[FetchedFile], output_dir: Path) -> None:
    typer.echo(
        f"{'run':<14} {'results':>11} {'queries':>20} {'p50 ms':>9} {'p95 ms':>9} {'p99 ms':>9}"
    )
    for file in files:
        run, latency = file.manifest.run, file.manifest.latency_ms
        answered = f"{run.queries:,} of {file.manifest.topics.count:,}"
        times = (latency.p50, latency.p95, latency.p99) if latency else ()
        shown = "".join(f" {value:>9.2f}" for value in times) or f" {'–':>9}" * 3
        typer.echo(f"{run.path:<14} {run.results:>11,} {answered:>20}{shown}")
    typer.echo(f"written to {output_dir}, each with its manifest")


def _note_missing(files: list[FetchedFile]) -> None:
    for file in files:
        short = file.manifest.cut_short
        if short:
            typer.echo(
                f"note: {file.manifest.mode} has fewer than {file.manifest.depth} documents for "
                f"{len(short)} of {file.manifest.topics.count} queries, because no more chunks "
                "may be asked for (max_chunks)",
                err=True,
            )
        missing = file.manifest.run.missing_queries
        if missing:
            more = ", …" if len(missing) > 5 else ""
            typer.echo(
                f"note: {file.manifest.mode} found nothing for {len(missing)} of"
                f" {file.manifest.topics.count} queries: {', '.join(missing[:5])}{more}",
                err=True,
            )
