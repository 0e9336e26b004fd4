"""Search queries also in other words.

An :class:`OtherTexts` returns other texts for a query, each with a weight. The
:class:`RewordedRetriever` searches them too: the score of a document is the highest of its score
for the query and its weighted scores for the other texts. So a query without other texts has the
results of the retriever alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Protocol

import numpy as np

from trectools_plus.formats.tables import Corpus
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import Ranking, Retriever, leaves_of, rank_scores


class OtherTexts(Protocol):
    """A source of other texts for queries."""

    @property
    def sha256(self) -> str:
        """A hash of everything that determines the texts."""

    def other_texts(self, text: str, language: str = "") -> Mapping[str, float]:
        """Return other texts for a query, with weights above 0 and below 1.

        Args:
            text: The query.
            language: Its declared language; empty if it is not known.
        """


def open_rewording(corpus: Corpus, settings: RetrievalSettings) -> OtherTexts | None:
    """Return the rewording of queries for documents; ``None`` if they have none."""
    if not settings.rewording or corpus.open_rewording is None:
        return None
    rewording: OtherTexts = corpus.open_rewording(corpus, settings.language or "")
    return rewording


class RewordedRetriever:
    """A retriever that searches queries also in other words.

    Args:
        inner: The retriever of every text.
        rewording: Returns the other texts of a query.
    """

    def __init__(self, inner: Retriever, rewording: OtherTexts) -> None:
        self.inner = inner
        self.rewording = rewording

    @property
    def name(self) -> str:
        """The mode's name."""
        return self.inner.name

    @property
    def index_key(self) -> str | None:
        """A hash of the index and of all tables."""
        key = getattr(self.inner, "index_key", None)
        return key and sha256(f"{key} {self.rewording.sha256}".encode()).hexdigest()[: len(key)]

    def search(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Rank documents for each query, whose language is not known."""
        return self.search_in(queries, [""] * len(queries), depth)

    def search_in(
        self, queries: Sequence[str], languages: Sequence[str], depth: int
    ) -> list[Ranking]:
        """Rank documents for each query.

        Args:
            queries: Query texts.
            languages: The declared language of each query; empty if it is not known.
            depth: Maximum number of documents for each query.
        """
        others = [*map(self.rewording.other_texts, queries, languages)]
        texts = list(dict.fromkeys([*queries, *(text for each in others for text in each)]))
        found = dict(zip(texts, self.inner.search(texts, depth), strict=True))
        weighted = [
            [(query, 1.0), *each.items()] for query, each in zip(queries, others, strict=True)
        ]
        return [
            _best_of([(found[text], weight) for text, weight in one], depth) for one in weighted
        ]


def rewording_of(retriever: Retriever) -> OtherTexts | None:
    """Return the source of other texts for the queries of a retriever; ``None`` without one."""
    leaves = leaves_of(retriever)
    return next((leaf.rewording for leaf in leaves if isinstance(leaf, RewordedRetriever)), None)


def _best_of(weighted: Sequence[tuple[Ranking, float]], depth: int) -> Ranking:
    """Give each document the highest of its weighted scores; the weight counts above 0."""
    if len(weighted) == 1:
        return weighted[0][0]
    best: dict[str, float] = {}
    for ranking, weight in weighted:
        scores = ranking.scores.astype(np.float64)
        scores = np.where(scores > 0, scores * weight, scores)
        for doc_id, score in zip(ranking.doc_ids, scores.tolist(), strict=True):
            best[doc_id] = max(score, best.get(doc_id, score))
    return rank_scores(list(best), np.array(list(best.values())), depth)
