"""Retrievers that find what a test says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trectools_plus.retrieval.source import Ranking


class Stand:
    """A retriever of fixed answers that notes the texts and the depth of each search."""

    def __init__(
        self, name: str, doc_ids: Sequence[str], scores: Sequence[float] | None = None
    ) -> None:
        self.name, self.index_key = name, f"key of {name}"
        falling = range(len(doc_ids), 0, -1) if scores is None else scores
        self.ranking = Ranking([*doc_ids], np.array([*falling], dtype=np.float32))
        self.asked: list[tuple[tuple[str, ...], int]] = []

    def search(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        self.asked.append((tuple(queries), depth))
        return [self.ranking.head(depth) for _ in queries]
