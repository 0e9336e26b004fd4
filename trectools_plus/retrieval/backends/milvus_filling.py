"""Documents on their way into a Milvus collection: analysed, embedded, inserted in batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trectools_plus.errors import InputError
from trectools_plus.formats.documents import Documents
from trectools_plus.formats.hashing import MultisetHash
from trectools_plus.formats.tables import Document
from trectools_plus.progress import Progress
from trectools_plus.retrieval.backends.milvus_connection import MilvusConnection
from trectools_plus.retrieval.backends.milvus_schema import MAX_TEXT_BYTES
from trectools_plus.retrieval.encoder import TextEncoder
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.text import Analyzer

_ROWS_PER_BATCH = 1_000
_CHARACTERS_PER_BATCH = 4 << 20
# A word is remembered with its stem; a new analyzer forgets the words of the documents before.
_DOCUMENTS_PER_ANALYZER = 100_000


def fill(
    connection: MilvusConnection,
    name: str,
    documents: Documents,
    settings: RetrievalSettings,
    progress: Progress,
) -> None:
    """Insert all documents.

    Raises:
        InputError: If they are others than they were when their hash was taken, or the server
            fails.
    """
    encoder, hashed, count = TextEncoder(), MultisetHash(), len(documents)
    analyzer, used, done = Analyzer(settings), 0, 0
    progress("inserting documents", 0, count)
    for batch in batches(hashed.watch(documents)):
        if used + len(batch) > _DOCUMENTS_PER_ANALYZER:
            analyzer, used = Analyzer(settings), 0
        rows = _rows(batch, encoder, analyzer if connection.has_full_text else None)
        connection.call("insert", name, rows)
        used += len(batch)
        done += len(batch)
        progress("inserting documents", done, count)
    if hashed.hexdigest() != documents.sha256():
        raise InputError(
            "the documents changed while they were inserted",
            where=documents.path,
            remedy="leave the corpus alone while it is read, and try again",
        )
    connection.call("flush", name)


def batches(documents: Iterator[Document]) -> Iterator[list[Document]]:
    """Group documents so that neither their number nor their text grows beyond a request."""
    batch: list[Document] = []
    size = 0
    for document in documents:
        length = len(document.title) + len(document.text)
        if batch and (len(batch) == _ROWS_PER_BATCH or size + length > _CHARACTERS_PER_BATCH):
            yield batch
            batch, size = [], 0
        batch.append(document)
        size += length
    if batch:
        yield batch


def _rows(
    batch: list[Document], encoder: TextEncoder, analyzer: Analyzer | None
) -> list[dict[str, Any]]:
    """Documents as the collection holds them; without an analyzer it holds no words."""
    texts = [f"{document.title} {document.text}".strip() for document in batch]
    rows = []
    for document, text, vector in zip(batch, texts, encoder.embed(texts), strict=True):
        row = {"doc_id": document.doc_id, "is_cut": False, "vector": vector}
        if analyzer is not None:
            row["terms"], row["is_cut"] = fitting(analyzer.terms(text))
        rows.append(row)
    return rows


def fitting(terms: list[str]) -> tuple[str, bool]:
    """Join terms with blanks, as many as Milvus takes, and say whether some had to go."""
    text = " ".join(terms)
    if len(text.encode()) <= MAX_TEXT_BYTES:
        return text, False
    kept = text.encode()[: MAX_TEXT_BYTES + 1].rpartition(b" ")[0]
    return kept.decode(), True
