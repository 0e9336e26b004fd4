"""Documents that pass by one at a time, however many there are."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Protocol

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import InputError
from trectools_plus.formats.catalogue import CatalogueDataset
from trectools_plus.formats.collection import CATALOGUE_PREFIX, find_collection_files
from trectools_plus.formats.corpus import Document, iter_corpus
from trectools_plus.formats.tables import Corpus
from trectools_plus.progress import Progress, no_progress
from trectools_plus.retrieval.id_digests import digest_id, find_suspects

_ROWS_PER_STEP = 8_192
_LONG = 2.0  # seconds


class DocumentStream(Protocol):
    """Documents that can be read from the start as often as need be."""

    @property
    def path(self) -> str | None:
        """Where they come from, as the user named it."""

    def __iter__(self) -> Iterator[Document]:
        """Read them, from the first."""


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """The documents of a JSON Lines file; see ``formats.corpus.iter_corpus``.

    Repeated ids are not looked for: :func:`survey` finds them in less memory.

    Attributes:
        file: The file, or its address. A pipe can be read only once, so it will not do.
    """

    file: str | Path

    @property
    def path(self) -> str:
        """The file as the user named it."""
        return str(self.file)

    def __iter__(self) -> Iterator[Document]:
        return iter_corpus(self.file, find_repeats=False)


@dataclass(frozen=True, slots=True)
class CatalogueDocuments:
    """The documents of a dataset of the ``ir_datasets`` catalogue.

    Attributes:
        dataset: The dataset.
    """

    dataset: CatalogueDataset

    @property
    def path(self) -> str:
        """The dataset's name."""
        return self.dataset.name

    def __iter__(self) -> Iterator[Document]:
        return self.dataset.iter_documents()


@dataclass(frozen=True, slots=True)
class CorpusDocuments:
    """The documents of a corpus that is in memory already.

    Attributes:
        corpus: The corpus.
    """

    corpus: Corpus

    @property
    def path(self) -> str | None:
        """Where the corpus was read from."""
        return self.corpus.path

    def __iter__(self) -> Iterator[Document]:
        frame = self.corpus.frame.select("doc_id", "title", "text")
        for part in frame.iter_slices(_ROWS_PER_STEP):
            yield from map(Document._make, part.iter_rows())


def stream_collection(spec: str) -> DocumentStream:
    """The documents of a collection, as ``formats.collection.load_collection`` finds them.

    Raises:
        UsageError: If there is no such collection.
        InputError: If a part of it is missing.
    """
    if spec.startswith(CATALOGUE_PREFIX):
        return CatalogueDocuments(CatalogueDataset(spec.removeprefix(CATALOGUE_PREFIX)))
    return CorpusFile(find_collection_files(spec).corpus)


@dataclass(frozen=True, slots=True)
class Survey:
    """What one pass over documents tells.

    Attributes:
        count: How many there are.
        digest: Hash of ids, titles and texts, whatever their order, in hexadecimal.
    """

    count: int
    digest: str


def survey(documents: DocumentStream, progress: Progress = no_progress) -> Survey:
    """Count and hash documents, and see that no id occurs twice.

    The hash is SHA-256 of the count and of the sum, modulo 2**256, of each document's SHA-256 (an
    additive multiset hash: Bellare and Micciancio, EUROCRYPT 1997). It tells corpora apart, and is
    no defence against somebody who wants two to look alike. Memory: 8 bytes for each document.

    Raises:
        InputError: If there are no documents, or an id occurs twice.
    """
    hashed = MultisetHash()
    ids = array("Q")
    began = monotonic()
    for document in documents:
        hashed.add(document)
        ids.append(digest_id(document.doc_id))
        if len(ids) % _ROWS_PER_STEP == 0 and monotonic() - began > _LONG:
            progress("reading documents", 0, 1)
    if not ids:
        raise InputError("the corpus has no documents", where=documents.path)
    _refuse_repeats(documents, np.frombuffer(ids, dtype=np.uint64))
    progress("reading documents", 1, 1)
    return Survey(len(ids), hashed.hexdigest())


def hash_documents(documents: Iterable[Document]) -> str:
    """The hash of :func:`survey` alone, in hexadecimal; there may be no documents."""
    hashed = MultisetHash()
    for document in documents:
        hashed.add(document)
    return hashed.hexdigest()


class MultisetHash:
    """The hash of documents that come in any order; see :func:`survey`."""

    def __init__(self) -> None:
        self._count = 0
        self._total = 0

    def add(self, document: Document) -> None:
        """Lengths go in beside the bytes, so ``("ab", "c")`` and ``("a", "bc")`` differ."""
        hashed = hashlib.sha256()
        for part in document:
            data = part.encode()
            hashed.update(len(data).to_bytes(8, "little"))
            hashed.update(data)
        self._count += 1
        self._total += int.from_bytes(hashed.digest(), "little")

    def watch(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Pass documents on, and add each."""
        for document in documents:
            self.add(document)
            yield document

    def hexdigest(self) -> str:
        """The hash of what was added so far."""
        total = self._total % (1 << 256)
        state = self._count.to_bytes(8, "little") + total.to_bytes(32, "little")
        return hashlib.sha256(state).hexdigest()


def _refuse_repeats(documents: DocumentStream, digests: npt.NDArray[np.uint64]) -> None:
    suspects = find_suspects(digests)
    if suspects and (doc_id := _repeated(documents, suspects)) is not None:
        raise InputError(
            f"document id '{doc_id}' occurs more than once in the corpus",
            where=documents.path,
            remedy="keep one document for each id",
        )


def _repeated(documents: Iterable[Document], suspects: frozenset[int]) -> str | None:
    """The first id that really is there twice; two ids with one digest are no harm."""
    seen: set[str] = set()
    for document in documents:
        if digest_id(document.doc_id) in suspects:
            if document.doc_id in seen:
                return document.doc_id
            seen.add(document.doc_id)
    return None
