"""Corpora: documents as JSON Lines, in memory or read again for each operation."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Protocol

import numpy as np
import polars as pl

from trectools_plus.display import MAX_TABLE_ROWS, Displayed, TextTable
from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.files.content import iter_lines
from trectools_plus.formats.hashing import MultisetHash, digest_id, find_repeated
from trectools_plus.formats.jsonl import find_key, get_text, iter_objects
from trectools_plus.formats.tables import CORPUS_SCHEMA, Corpus, CorpusDocument
from trectools_plus.formats.writing import id_problem
from trectools_plus.progress import Progress, no_progress
from trectools_plus.text import shortened

ID_KEYS = ("_id", "doc_id", "docid", "docno", "id")
TEXT_KEYS = ("text", "contents", "body")


def load_corpus(path: str | Path) -> Corpus:
    """Read a whole corpus into memory.

    Args:
        path: The file, which can be compressed. Each line is a JSON object with an id, a text and
            optionally a title.

    Returns:
        The documents in the order of the file.

    Raises:
        InputError: If the file cannot be read.
        FormatError: If a line is not a JSON object or has no id or text, an id is repeated or
            cannot be written to a run, the text is not UTF-8, or there are no documents.
    """
    return collect_corpus(iter_corpus(path), str(path))


def collect_corpus(documents: Iterable[CorpusDocument], path: str) -> Corpus:
    """Collect documents in a table."""
    columns = list(zip(*documents, strict=True))
    series = [
        pl.Series(name, values, dtype=dtype, strict=True)
        for (name, dtype), values in zip(CORPUS_SCHEMA.items(), columns, strict=True)
    ]
    return Corpus(pl.DataFrame(series), path)


def iter_corpus(path: str | Path, *, find_repeats: bool = True) -> Iterator[CorpusDocument]:
    """Yield the documents of a JSON Lines file, which may be compressed, one at a time.

    A line is an object with an id (``_id``, ``doc_id``, ``docid``, ``docno`` or ``id``), a text
    (``text``, ``contents`` or ``body``) and optionally a ``title``. The fields of id and text must
    have the same names on every line. Other fields are ignored.

    Args:
        path: The file, or ``-`` for standard input.
        find_repeats: Raise an error for repeated ids; this stores all ids in memory.

    Raises:
        InputError: If the file cannot be read.
        FormatError: If a line is not a JSON object or lacks id or text, an id occurs twice or
            cannot be written to a run, the text is not UTF-8, or there are no documents.
    """
    shown = str(path)
    id_key = text_key = ""
    lines: dict[str, int] = {}
    for line, record in iter_objects(iter_lines(path), shown):
        id_key = id_key or find_key(record, ID_KEYS, "document id", shown, line)
        text_key = text_key or find_key(record, TEXT_KEYS, "text", shown, line)
        doc_id = get_text(record, id_key, shown, line, is_id=True)
        if problem := id_problem(doc_id, "document"):
            remedy = "change the id: a run cannot contain it"
            raise FormatError(problem, path=shown, line=line, remedy=remedy)
        first = lines.setdefault(doc_id, line) if find_repeats else line
        if first != line:
            what = f"document {shortened(doc_id)} is already on line {first}"
            raise FormatError(what, path=shown, line=line, remedy="keep one of them")
        title = get_text(record, "title", shown, line) if record.get("title") is not None else ""
        yield CorpusDocument(doc_id, title, get_text(record, text_key, shown, line))
    if not id_key:
        raise FormatError(
            "no documents", path=shown, remedy="check that the program that wrote the file finished"
        )


_DOCUMENTS_PER_CHECK = 8_192
_REPORT_AFTER_SECONDS = 2.0


class DocumentCollection(Protocol):
    """Documents that can be read from the start as often as needed."""

    @property
    def path(self) -> str | None:
        """Their source as the user named it."""

    @property
    def doc_ids(self) -> list[str]:
        """The ids of all documents, in order."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[CorpusDocument]: ...

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

    def __init__(self, read: Callable[[], Iterable[CorpusDocument]], path: str | None) -> None:
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

    def __iter__(self) -> Iterator[CorpusDocument]:
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
        repeated = find_repeated(np.frombuffer(ids, dtype=np.uint64))
        if repeated:
            suspects = Counter(one.doc_id for one in self if digest_id(one.doc_id) in repeated)
            doc_id, count = suspects.most_common(1)[0]
            if count > 1:  # two different ids may have the same digest
                raise InputError(
                    f"document id '{doc_id}' occurs more than once in the corpus",
                    where=self.path,
                    remedy="keep one document for each id",
                )
        progress("reading documents", 1, 1)
        self._count, self._sha256 = len(ids), hashed.hexdigest()

    def has_any(self, doc_ids: pl.Series) -> bool:
        """Return true if at least one of these documents exists; stop reading at the first one."""
        wanted = frozenset(doc_ids)
        return any(document.doc_id in wanted for document in self)

    def find(self, doc_ids: pl.Series) -> pl.DataFrame:
        """Return ``doc_id, title, text`` of those of these documents that exist."""
        wanted = frozenset(doc_ids)
        rows = [document for document in self if document.doc_id in wanted] if wanted else []
        return pl.DataFrame(rows, schema=CORPUS_SCHEMA, orient="row")


def stream_file(file: str) -> StreamedDocuments:
    """Return the documents of a JSON Lines file as a stream; see ``formats.corpus.iter_corpus``.

    Repeated ids are found by :meth:`StreamedDocuments.check`, which needs less memory.
    """
    return StreamedDocuments(lambda: iter_corpus(file, find_repeats=False), file)
