"""What a retriever is, and what it answers with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

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
