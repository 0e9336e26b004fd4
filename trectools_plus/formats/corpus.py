"""Corpora: documents as JSON Lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import polars as pl

from trectools_plus.errors import FormatError
from trectools_plus.formats.files.content import iter_lines
from trectools_plus.formats.hashing import ROWS_PER_STEP
from trectools_plus.formats.jsonl import iter_objects
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
    rows = iter(documents)
    # In steps, because strings need more memory in Python than in a table.
    return Corpus(
        pl.concat(
            pl.DataFrame(step, CORPUS_SCHEMA, orient="row")
            for step in iter(lambda: [*islice(rows, ROWS_PER_STEP)], [])
        ),
        path,
    )


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
        id_key = id_key or next(filter(record.__contains__, ID_KEYS), ID_KEYS[0])
        text_key = text_key or next(filter(record.__contains__, TEXT_KEYS), TEXT_KEYS[0])
        doc_id, title, text = record.get(id_key), record.get("title") or "", record.get(text_key)
        doc_id = str(doc_id) if type(doc_id) is int else doc_id
        if not (isinstance(doc_id, str) and isinstance(title, str) and isinstance(text, str)):
            names = f"id: {', '.join(ID_KEYS)}; text: {', '.join(TEXT_KEYS)}"
            raise FormatError(
                f"expected an id in '{id_key}', and texts in '{text_key}' and 'title'",
                path=shown,
                line=line,
                remedy=f"name the fields as in the first line ({names})",
            )
        first, problem = lines.setdefault(doc_id, line), id_problem(doc_id, "document")
        if problem or first != line:
            raise FormatError(
                problem or f"document {shortened(doc_id)} is already on line {first}",
                path=shown,
                line=line,
                remedy="give each document its own id, which a run can contain",
            )
        yield CorpusDocument(doc_id, title, text)
    if not id_key:
        raise FormatError(
            "no documents", path=shown, remedy="check that the program that wrote the file finished"
        )
