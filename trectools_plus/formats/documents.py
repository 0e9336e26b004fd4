"""The documents of a collection, in memory or streamed.

:class:`~trectools_plus.formats.tables.Corpus` stores them in memory. :class:`StreamedDocuments`
reads them again for each operation and stores only their number and hash.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from time import monotonic
from typing import Protocol

import numpy as np
import polars as pl

from trectools_plus.display import MAX_TABLE_ROWS, Displayed, TextTable
from trectools_plus.errors import InputError
from trectools_plus.formats.collection import SAMPLE, find_collection_files
from trectools_plus.formats.corpus import iter_corpus
from trectools_plus.formats.files.opening import can_be_read_twice
from trectools_plus.formats.hashing import MultisetHash, digest_id, find_suspects
from trectools_plus.formats.ir_datasets import is_catalogue_name, open_catalogue
from trectools_plus.formats.tables import CORPUS_SCHEMA, Document
from trectools_plus.progress import Progress, no_progress

_DOCUMENTS_PER_CHECK = 8_192
_REPORT_AFTER_SECONDS = 2.0


class Documents(Protocol):
    """Documents that can be read from the start as often as needed."""

    @property
    def path(self) -> str | None:
        """Their source as the user named it."""

    @property
    def doc_ids(self) -> list[str]:
        """The ids of all documents, in order."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Document]: ...

    def sha256(self, progress: Progress = no_progress) -> str:
        """Return the hash of ids, titles and texts, which does not depend on their order.

        It is computed once, and the same in memory and streamed; see
        ``formats.hashing.MultisetHash``.

        Raises:
            InputError: If a stream cannot be read, is empty, or has an id twice.
        """

    def check(self, progress: Progress = no_progress) -> None:
        """Check that there are documents and that no id occurs twice.

        Raises:
            InputError: If there are none, an id occurs twice, or they cannot be read.
        """

    def has_any(self, doc_ids: pl.Series) -> bool:
        """Return true if at least one of these documents exists."""

    def find(self, doc_ids: pl.Series) -> pl.DataFrame:
        """Return ``doc_id, title, text`` of those of these documents that exist."""


class StreamedDocuments(Displayed):
    """Documents that are read again for each operation.

    Counting them temporarily takes 8 bytes of memory per document.

    Args:
        read: Returns an iterable over the documents, from the first one, on each call.
        path: Their source as the user named it.
    """

    def __init__(self, read: Callable[[], Iterable[Document]], path: str | None) -> None:
        self.path = path
        self._read = read
        self._count = 0
        self._sha256 = ""

    def _content(self) -> TextTable:
        rows = [list(document) for document in islice(self, MAX_TABLE_ROWS)]
        return TextTable.of(["doc_id", "title", "text"], rows, caption=self._text().strip("<>"))

    def _text(self) -> str:
        return f"<StreamedDocuments of {self.path or 'an iterable'}>"

    @property
    def doc_ids(self) -> list[str]:
        """The ids of all documents, in order."""
        return [document.doc_id for document in self]

    def __len__(self) -> int:
        self.check()
        return self._count

    def __iter__(self) -> Iterator[Document]:
        return iter(self._read())

    def sha256(self, progress: Progress = no_progress) -> str:
        """Return the hash of ids, titles and texts, which does not depend on their order."""
        self.check(progress)
        return self._sha256

    def check(self, progress: Progress = no_progress) -> None:
        """Count and hash the documents and check that no id occurs twice; later calls do nothing.

        Raises:
            InputError: If there are no documents, an id occurs twice, or they cannot be read.
        """
        if self._sha256:
            return
        hashed = MultisetHash()
        ids = array("Q")
        began = monotonic()
        for document in self:
            hashed.add(document)
            ids.append(digest_id(document.doc_id))
            if len(ids) % _DOCUMENTS_PER_CHECK == 0 and monotonic() - began > _REPORT_AFTER_SECONDS:
                progress("reading documents", 0, 1)
        if not ids:
            raise InputError("the corpus has no documents", where=self.path)
        suspects = find_suspects(np.frombuffer(ids, dtype=np.uint64))
        if suspects and (doc_id := self._find_repeated(suspects)) is not None:
            raise InputError(
                f"document id '{doc_id}' occurs more than once in the corpus",
                where=self.path,
                remedy="keep one document for each id",
            )
        progress("reading documents", 1, 1)
        self._count, self._sha256 = len(ids), hashed.hexdigest()

    def _find_repeated(self, suspects: frozenset[int]) -> str | None:
        """Return the first repeated id; ``None`` if the suspects are only digest collisions."""
        seen: set[str] = set()
        for document in self:
            if digest_id(document.doc_id) in suspects:
                if document.doc_id in seen:
                    return document.doc_id
                seen.add(document.doc_id)
        return None

    def has_any(self, doc_ids: pl.Series) -> bool:
        """Return true if at least one of these documents exists; stop reading at the first one."""
        wanted = frozenset(doc_ids)
        return any(document.doc_id in wanted for document in self)

    def find(self, doc_ids: pl.Series) -> pl.DataFrame:
        """Return ``doc_id, title, text`` of those of these documents that exist."""
        wanted = frozenset(doc_ids)
        rows = [document for document in self if document.doc_id in wanted] if wanted else []
        return pl.DataFrame(rows, schema=CORPUS_SCHEMA, orient="row")


def stream_documents(dataset: str | None, file: str | None) -> StreamedDocuments | None:
    """Return the documents of a dataset or a file as a stream.

    Args:
        dataset: ``irds:<id>``, ``sample`` or a folder; ignored if ``file`` is given.
        file: A corpus file or its address.

    Returns:
        The documents; ``None`` if they cannot be read more than once: from a pipe, or those of the
        dataset ``hpo``, which are not in a file.

    Raises:
        UsageError: If the dataset does not exist.
        InputError: If one of its files is missing.
    """
    if file is not None:
        return stream_file(file) if can_be_read_twice(file) else None
    if dataset is None or dataset == "hpo":
        return None
    if is_catalogue_name(dataset):
        catalogue = open_catalogue(dataset)
        return StreamedDocuments(catalogue.iter_documents, catalogue.name)
    file = str(find_collection_files(dataset).corpus)
    if dataset == SAMPLE:
        return StreamedDocuments(lambda: iter_corpus(file, find_repeats=False), SAMPLE)
    return stream_file(file)


def stream_file(file: str) -> StreamedDocuments:
    """Return the documents of a JSON Lines file as a stream; see ``formats.corpus.iter_corpus``.

    Repeated ids are found by :meth:`StreamedDocuments.check`, which needs less memory.
    """
    return StreamedDocuments(lambda: iter_corpus(file, find_repeats=False), file)
