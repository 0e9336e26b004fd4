"""Retrievers around another one: the reranker of its first results, and queries in other words.

The reranker needs no model. It compares the query with each label and synonym of a document (or
with its text if it has neither) by the Dice coefficient of their trigrams, and uses the highest
coefficient. Trigrams are those of PostgreSQL's ``pg_trgm``: each word in lower case, with two
spaces before and one after it. The new score is the mean of this overlap and the first score, which
is scaled to the range 0 to 1 over the reranked results. So a document whose label equals the query
moves up, and the order changes little if no label resembles the query. Results below
``rerank_depth`` keep their order, below all reranked results.

An :class:`OtherTexts` returns other texts for a query, each with a weight. The
:class:`RewordedRetriever` searches them too: the score of a document is the highest of its score
for the query and its weighted scores for the other texts. So a query without other texts has the
results of the retriever alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np

from trectools_plus.formats.hashing import sha256_text
from trectools_plus.formats.tables import Corpus
from trectools_plus.retrieval.index.lexical import clean_text
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import (
    CompositeRetriever,
    Ranking,
    Retriever,
    Values,
    leaves_of,
    rank_scores,
)

_WORD = re.compile(r"\w+")


class RerankingRetriever(CompositeRetriever):
    """A retriever that reranks the first results of another retriever.

    Args:
        inner: The other retriever.
        names: The labels and synonyms of each document, or its text.
        depth: Number of results that are reranked.
    """

    def __init__(self, inner: Retriever, names: Mapping[str, Sequence[str]], depth: int) -> None:
        super().__init__(inner)
        self._names, self._depth = names, depth

    def score(self, query: str, ranking: Ranking) -> Values:
        """Return scores between 0 and 1: means of the scaled first score and the overlap."""
        of_query = trigrams(query)
        overlaps = [
            max((dice(of_query, trigrams(name)) for name in self._names.get(doc_id, ())), default=0)
            for doc_id in ranking.doc_ids
        ]
        first = ranking.scores.astype(np.float64)
        span = first[0] - first[-1]
        scaled = (first - first[-1]) / span if span > 0 else np.ones(len(first))
        scores: Values = (scaled + np.array(overlaps)) / 2
        return scores

    def component_depth(self, depth: int) -> int:
        """Return the depth of the inner search for a result of ``depth`` documents."""
        return max(depth, self._depth)

    def combine(self, query: str, rankings: Sequence[Ranking], depth: int) -> Ranking:
        """Rerank the first results of a query."""
        (ranking,) = rankings
        if not len(ranking):
            return ranking
        head = ranking.head(self._depth)
        best = rank_scores(head.doc_ids, self.score(query, head), self._depth)
        rest = len(ranking) - len(head)
        below = np.floor(best.scores[-1]) - 1 - np.arange(rest, dtype=np.float32)
        doc_ids = [*best.doc_ids, *ranking.doc_ids[len(head) :]]
        scores = np.concatenate([best.scores, below]).astype(np.float32)
        return Ranking(doc_ids, scores).head(depth)


@lru_cache(maxsize=100_000)
def trigrams(text: str) -> frozenset[str]:
    """Return the trigrams of a text's words, defined as in ``pg_trgm``."""
    words = _WORD.findall(clean_text(text).casefold())
    padded = (f"  {word} " for word in words)
    return frozenset(word[start : start + 3] for word in padded for start in range(len(word) - 2))


def dice(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the Dice coefficient of two sets, from 0 to 1; 0 if both are empty."""
    total = len(one) + len(other)
    return 2 * len(one & other) / total if total else 0.0


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
        return key and sha256_text(f"{key} {self.rewording.sha256}")[: len(key)]

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
        rankings = dict(zip(texts, self.inner.search(texts, depth), strict=True))
        weighted = [
            [(query, 1.0), *each.items()] for query, each in zip(queries, others, strict=True)
        ]
        return [
            _best_of([(rankings[text], weight) for text, weight in texts_of_query], depth)
            for texts_of_query in weighted
        ]


def rewording_of(retriever: Retriever) -> OtherTexts | None:
    """Return the source of other texts for the queries of a retriever; ``None`` without one."""
    reworded = (leaf for leaf in leaves_of(retriever) if isinstance(leaf, RewordedRetriever))
    return next((leaf.rewording for leaf in reworded), None)


def _best_of(weighted: Sequence[tuple[Ranking, float]], depth: int) -> Ranking:
    """Give each document the highest of its weighted scores; the weight counts above 0."""
    if len(weighted) == 1:
        return weighted[0][0]
    best = dict[str, float]()
    for ranking, weight in weighted:
        scores = ranking.scores.astype(np.float64)
        scores = np.where(scores > 0, scores * weight, scores)
        for doc_id, score in zip(ranking.doc_ids, scores.tolist(), strict=True):
            best[doc_id] = max(score, best.get(doc_id, score))
    return rank_scores(list(best), np.array(list(best.values())), depth)
