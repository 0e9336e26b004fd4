"""What ``runs fetch`` searches and asks: documents and queries out of its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trectools_plus.errors import UsageError

if TYPE_CHECKING:
    from trectools_plus.formats.documents import Documents
    from trectools_plus.progress import Progress
    from trectools_plus.retrieval.backends.settings import BackendSettings
    from trectools_plus.retrieval.fetch.topics import AnyTopics


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options of a command that name documents and queries."""

    dataset: str | None
    corpus: str | None
    topics: str | None
    test_file: str | None
    ontology: str | None


def open_sources(
    options: SourceOptions, searching: BackendSettings, progress: Progress
) -> tuple[Documents | None, AnyTopics]:
    """Documents and queries: as streams where the backend does with that, else in memory.

    Raises:
        UsageError: If options do not go together, or name too little.
        InputError: If something cannot be read.
    """
    from trectools_plus.formats.documents import stream_documents
    from trectools_plus.retrieval.fetch.topics import stream_topics

    _refuse_misfits(options, searching)
    documents: Documents | None = None
    queries: AnyTopics | None = None
    if not searching.is_embedded:
        queries = stream_topics(options.dataset, options.topics)
    if searching.streams_documents and (
        (streamed := stream_documents(options.dataset, options.corpus)) is not None
    ):
        streamed.check(progress)
        documents = streamed
    if options.dataset is not None and (documents is None or queries is None):
        from trectools_plus.benchmark.run.dataset import open_collection

        collection = open_collection(options.dataset, options.test_file, options.ontology)
        documents = collection.corpus if documents is None else documents
        queries = collection.topics if queries is None else queries
    if options.corpus is not None and documents is None:
        from trectools_plus.formats.corpus import load_corpus

        documents = load_corpus(options.corpus)
    if options.topics is not None and queries is None:
        from trectools_plus.formats.topics import read_topics

        queries = read_topics(options.topics)
    if documents is None and searching.needs_corpus:
        raise UsageError("the dataset has no documents to search", where=options.dataset)
    assert queries is not None
    return documents, queries


def _refuse_misfits(options: SourceOptions, searching: BackendSettings) -> None:
    if options.dataset is not None and (options.corpus or options.topics):
        raise UsageError("--dataset and --corpus or --topics exclude each other")
    if options.dataset != "hpo":
        terms = {"--test-file": options.test_file, "--ontology": options.ontology}
        for option, value in terms.items():
            if value is not None:
                raise UsageError(f"{option} goes with --dataset hpo only")
    needed = [options.topics, *([options.corpus] if searching.needs_corpus else [])]
    if options.dataset is None and None in needed:
        raise UsageError(
            "no collection to search",
            remedy=f"give --dataset, or {'--corpus and ' if len(needed) > 1 else ''}--topics",
        )
