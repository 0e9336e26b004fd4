"""The reranker of the first results of a query.

It needs no model. It compares the query with each label and synonym of a document (or with
its text if it has neither) by the Dice coefficient of their trigrams, and uses the highest
coefficient. Trigrams are those of PostgreSQL's ``pg_trgm``: each word in lower case, with two
spaces before and one after it. The new score is the mean of this overlap and the first score, which
is scaled to the range 0 to 1 over the reranked results. So a document whose label equals the query
moves up, and the order changes little if no label resembles the query.

Results below ``rerank_depth`` keep their order, below all reranked results.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from trectools_plus.retrieval.index.lexical import clean_text
from trectools_plus.retrieval.source import CompositeRetriever, Ranking, Retriever, rank_scores

Values = npt.NDArray[np.float64]

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
            max(
                (dice(of_query, _trigrams(name)) for name in self._names.get(doc_id, ())), default=0
            )
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


def trigrams(text: str) -> frozenset[str]:
    """Return the trigrams of a text's words, defined as in ``pg_trgm``."""
    words = _WORD.findall(clean_text(text).casefold())
    padded = (f"  {word} " for word in words)
    return frozenset(word[start : start + 3] for word in padded for start in range(len(word) - 2))


_trigrams = lru_cache(maxsize=100_000)(trigrams)


def dice(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the Dice coefficient of two sets, from 0 to 1; 0 if both are empty."""
    total = len(one) + len(other)
    return 2 * len(one & other) / total if total else 0.0
