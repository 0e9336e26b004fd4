"""What a retriever is and what it answers with; exact selection of the best documents.

The canonical order decides: 32-bit score descending, then document id descending by bytes. Library
top-k functions break ties at the boundary as their partition happens to fall.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.formats.tables import RUN_SCHEMA, Run

Scores = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The documents found for one query, best first.

    The order is the canonical one of :mod:`trectools_plus.ranking`: 32-bit score descending, then
    document id descending by its UTF-8 bytes. A cutoff inside a tie follows it too.

    Attributes:
        doc_ids: Document ids, no id twice.
        scores: ``float32``, one per document, never rising.
    """

    doc_ids: list[str]
    scores: Scores

    def __len__(self) -> int:
        return len(self.doc_ids)

    def head(self, depth: int) -> Self:
        """The first ``depth`` documents."""
        return type(self)(self.doc_ids[:depth], self.scores[:depth])

    def without(self, doc_id: str) -> Self:
        """The same ranking with one document taken out, if it is there."""
        if doc_id not in self.doc_ids:
            return self
        place = self.doc_ids.index(doc_id)
        kept = [*self.doc_ids[:place], *self.doc_ids[place + 1 :]]
        return type(self)(kept, np.delete(self.scores, place))


class Retriever(Protocol):
    """Anything that ranks documents for a text: a local index, a service, a function."""

    @property
    def name(self) -> str:
        """The mode's name: the tag of its run and its column in reports."""

    def search(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Rank documents for each query.

        Args:
            queries: Query texts; an empty one is allowed and finds nothing.
            depth: How many documents to return at most for each query, at least 1.

        Returns:
            One ranking per query, in the order of ``queries``.
        """


def empty_ranking() -> Ranking:
    """What a query without any usable word finds."""
    return Ranking([], np.empty(0, dtype=np.float32))


Positions = npt.NDArray[np.intp]


def top_positions(scores: Scores, depth: int) -> Positions:
    """Positions of the ``depth`` highest scores, best first, ties by lower position.

    Indexes hold their documents by falling id, so "lower position" is "higher id".

    Args:
        scores: ``float32`` of shape ``(n,)``, free of NaN.
        depth: At least 1.

    Returns:
        At most ``depth`` positions.
    """
    if depth < len(scores):
        threshold = np.partition(scores, len(scores) - depth)[len(scores) - depth]
        above = np.flatnonzero(scores > threshold)
        tied = np.flatnonzero(scores == threshold)[: depth - len(above)]
        kept = np.sort(np.concatenate([above, tied]))
    else:
        kept = np.arange(len(scores))
    return kept[np.argsort(-scores[kept], kind="stable")]


def rank_scores(doc_ids: Sequence[str], scores: npt.NDArray[np.floating], depth: int) -> Ranking:
    """Rank unordered documents by score, rounded to 32 bits first.

    Args:
        doc_ids: Ids in any order, none twice.
        scores: One number per id, free of NaN.
        depth: How many to keep at most.
    """
    # Python compares strings by code point, which is the order of their UTF-8 bytes.
    by_id = np.array(
        sorted(range(len(doc_ids)), key=doc_ids.__getitem__, reverse=True), dtype=np.intp
    )
    narrowed = scores.astype(np.float32)[by_id]
    top = top_positions(narrowed, depth)
    return Ranking([doc_ids[place] for place in by_id[top]], narrowed[top])


def run_of(query_ids: Sequence[str], rankings: Sequence[Ranking], name: str) -> Run:
    """One run out of the rankings of its queries; a query without results has no row."""
    sizes = [len(ranking) for ranking in rankings]
    ranks = [np.arange(1, size + 1) for size in sizes]
    columns = {
        "query_id": pl.Series(query_ids, dtype=pl.String).gather(
            np.repeat(np.arange(len(sizes)), sizes)
        ),
        "doc_id": [doc_id for ranking in rankings for doc_id in ranking.doc_ids],
        "rank": np.concatenate([np.empty(0, dtype=np.int64), *ranks]),
        "score": np.concatenate([np.empty(0), *(ranking.scores for ranking in rankings)]),
    }
    return Run(pl.DataFrame(columns, schema_overrides=RUN_SCHEMA), name)
