"""A corpus as indexes hold it: by falling document id, with the hash of its content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

from trectools_plus.errors import InputError
from trectools_plus.formats.tables import Corpus, Topics

ROWS_PER_STEP = 8_192


@dataclass(frozen=True, slots=True)
class DocumentSet:
    """Documents in the order of every index: ids descending by UTF-8 bytes.

    With that order a tie at equal scores is decided by position alone.

    Attributes:
        corpus: The documents, sorted.
        doc_ids: Their ids.
        sha256: Hash of ids, titles and texts; the order of the source does not matter.
    """

    corpus: Corpus
    doc_ids: list[str]
    sha256: str

    @classmethod
    def from_corpus(cls, corpus: Corpus) -> DocumentSet:
        """Sort and hash a corpus.

        Raises:
            InputError: If there are no documents, or an id occurs twice.
        """
        if not len(corpus):
            raise InputError("the corpus has no documents", where=corpus.path)
        frame = corpus.frame.sort("doc_id", descending=True)
        repeated = frame.filter(pl.col("doc_id") == pl.col("doc_id").shift())["doc_id"]
        if len(repeated):
            raise InputError(
                f"document id '{repeated[0]}' occurs more than once in the corpus",
                where=corpus.path,
                remedy="keep one document for each id",
            )
        ordered = Corpus(frame, corpus.path, corpus.parts)
        return cls(ordered, ordered.doc_ids, hash_columns(frame, ["doc_id", "title", "text"]))


def hash_topics(topics: Topics) -> str:
    """SHA-256 of the query ids and texts in their order."""
    return hash_columns(topics.frame, ["query_id", "text"])


def hash_columns(frame: pl.DataFrame, names: list[str]) -> str:
    """Hash string columns, a bounded number of rows at a time.

    Lengths go in beside the bytes, so ``("ab", "c")`` and ``("a", "bc")`` differ.
    """
    return hash_frames(frame.iter_slices(ROWS_PER_STEP), names)


def hash_frames(frames: Iterable[pl.DataFrame], names: list[str]) -> str:
    """:func:`hash_columns` of a frame that comes in slices of ``ROWS_PER_STEP`` rows."""
    digest = hashlib.sha256()
    for part in frames:
        for column in part.select(names).iter_columns():
            lengths = column.str.len_bytes().to_numpy()
            digest.update(lengths.astype(np.dtype("<u8")).tobytes())
            digest.update("".join(column.to_list()).encode())
    return digest.hexdigest()
