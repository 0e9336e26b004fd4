"""Corpora: documents as JSON Lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

from trectools_plus.errors import FormatError
from trectools_plus.formats.files.content import iter_lines
from trectools_plus.formats.jsonl import find_key, get_text, iter_objects
from trectools_plus.formats.tables import CORPUS_SCHEMA, Corpus, CorpusDocument
from trectools_plus.formats.writing import id_problem
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


def iter_corpus(path: str | Path) -> Iterator[CorpusDocument]:
    """Yield the documents of a JSON Lines file, which may be compressed, one at a time.

    A line is an object with an id (``_id``, ``doc_id``, ``docid``, ``docno`` or ``id``), a text
    (``text``, ``contents`` or ``body``) and optionally a ``title``. The fields of id and text must
    have the same names on every line. Other fields are ignored.

    Args:
        path: The file, or ``-`` for standard input.

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
        first = lines.setdefault(doc_id, line)
        if first != line:
            what = f"document {shortened(doc_id)} is already on line {first}"
            raise FormatError(what, path=shown, line=line, remedy="keep one of them")
        title = get_text(record, "title", shown, line) if record.get("title") is not None else ""
        yield CorpusDocument(doc_id, title, get_text(record, text_key, shown, line))
    if not id_key:
        raise FormatError(
            "no documents", path=shown, remedy="check that the program that wrote the file finished"
        )
