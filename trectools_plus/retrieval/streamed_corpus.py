"""A corpus that is read again whenever it is asked for something, instead of being held."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from trectools_plus.formats.corpus import Document
from trectools_plus.formats.opening import can_be_read_twice
from trectools_plus.formats.tables import CORPUS_SCHEMA, Corpus
from trectools_plus.progress import Progress, no_progress
from trectools_plus.retrieval.document_stream import (
    CorpusDocuments,
    CorpusFile,
    DocumentStream,
    Survey,
    hash_documents,
    stream_collection,
    survey,
)


class StreamedCorpus:
    """What a benchmark asks of a corpus, answered from a stream of documents.

    Only the number of the documents and their hash are kept.

    Args:
        documents: Read once for each question.
    """

    def __init__(self, documents: DocumentStream) -> None:
        self.documents = documents
        self._surveyed: Survey | None = None

    def __len__(self) -> int:
        return self.survey().count

    def __iter__(self) -> Iterator[Document]:
        return iter(self.documents)

    @property
    def path(self) -> str | None:
        """Where the documents come from, as the user named it."""
        return self.documents.path

    @property
    def doc_ids(self) -> list[str]:
        """Ids of all documents, in their order."""
        return [document.doc_id for document in self.documents]

    def survey(self, progress: Progress = no_progress) -> Survey:
        """Count and hash, and see that no id occurs twice; reads the documents the first time.

        Raises:
            InputError: If there are no documents, an id occurs twice, or they cannot be read.
        """
        if self._surveyed is None:
            self._surveyed = survey(self.documents, progress)
        return self._surveyed

    def has_any(self, doc_ids: pl.Series) -> bool:
        """Whether one of these documents is there; reads up to the first of them."""
        wanted = frozenset(doc_ids)
        return any(document.doc_id in wanted for document in self.documents)

    def find(self, doc_ids: pl.Series) -> pl.DataFrame:
        """``doc_id, title, text`` of those of these documents that are there."""
        wanted = frozenset(doc_ids)
        rows = [one for one in self.documents if one.doc_id in wanted] if wanted else []
        return pl.DataFrame(rows, schema=CORPUS_SCHEMA, orient="row")


def stream_corpus(dataset: str | None, file: str | None) -> StreamedCorpus | None:
    """The documents of a dataset or a file, if they can be read again and again.

    Args:
        dataset: ``irds:<id>``, or a folder; that of ``hpo`` is made, and cannot.
        file: A corpus file, or its address; a pipe cannot.

    Raises:
        UsageError: If there is no such dataset.
        InputError: If a part of it is missing.
    """
    if file is not None:
        return StreamedCorpus(CorpusFile(file)) if can_be_read_twice(file) else None
    if dataset is None or dataset == "hpo":
        return None
    return StreamedCorpus(stream_collection(dataset))


AnyCorpus = Corpus | StreamedCorpus
"""Documents in memory, or read again whenever they are asked for."""


def as_stream(corpus: AnyCorpus) -> StreamedCorpus:
    """A corpus one document at a time, wherever it is."""
    if isinstance(corpus, StreamedCorpus):
        return corpus
    return StreamedCorpus(CorpusDocuments(corpus))


def hash_corpus(corpus: AnyCorpus, progress: Progress = no_progress) -> str:
    """Hash of the documents' ids, titles and texts, whatever their order.

    It is the same for a corpus in memory and a stream; see ``retrieval.document_stream.survey``.

    Raises:
        InputError: If a stream cannot be read, is empty, or has an id twice.
    """
    if isinstance(corpus, StreamedCorpus):
        return corpus.survey(progress).digest
    return hash_documents(CorpusDocuments(corpus))
