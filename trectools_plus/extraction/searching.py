"""Asks a retriever about chunks of a text, and checks what it proposes word by word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from trectools_plus.choices import ChunkLevel
from trectools_plus.extraction.chunking import Chunk, chunk
from trectools_plus.extraction.mentions import Mention, longest_only
from trectools_plus.extraction.names import Name
from trectools_plus.extraction.wordings import Wordings
from trectools_plus.extraction.words import Word, words_of
from trectools_plus.formats.tables import CORPUS_SCHEMA, Corpus
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.retrieval.ontology_terms import corpus_of
from trectools_plus.retrieval.source import Ranking, Retriever

_MOST_WORDS = 8
"""No window of more content words is compared with a name."""


def corpus_of_names(names: Sequence[Name], path: str) -> Corpus:
    """A corpus with one document per name: ``HP:0001250#2`` is the third name of that term."""
    count: dict[str, int] = {}
    rows = []
    for name in names:
        number = count.get(name.term_id, 0)
        count[name.term_id] = number + 1
        rows.append((f"{name.term_id}#{number}", "", name.text))
    return Corpus(pl.DataFrame(rows, schema=CORPUS_SCHEMA, orient="row"), path=path)


def corpus_of_terms(ontology: Ontology, terms: Iterable[str]) -> Corpus:
    """A corpus with one document per term, which has the label, synonyms and definition as parts.

    Args:
        ontology: Where the terms come from.
        terms: Ids of live terms; no other takes part.
    """
    whole, wanted = corpus_of(ontology), pl.col("doc_id").is_in(sorted(terms))
    assert whole.parts is not None
    return Corpus(whole.frame.filter(wanted), path=whole.path, parts=whole.parts.filter(wanted))


def term_of(doc_id: str) -> str:
    """The term of a document of names; a document of a whole term is that term."""
    return doc_id.partition("#")[0]


class Searcher:
    """Finds terms by retrieval.

    Args:
        retriever: Any retriever whose documents are terms (``HP:0001250``) or names of terms
            (``HP:0001250#2``).
        names: The names of all terms that can be predicted.
        level: What a chunk is.
        num_results: How many documents to ask for each chunk.
        chunk_threshold: Documents with a lower score are dropped.
        top_term_only: Only the first term of each chunk is kept.
        verify: Whether a proposed term counts only where words of the chunk are one of its names,
            up to one word that the ontology itself uses in exchange; else every proposal counts.
    """

    def __init__(
        self,
        retriever: Retriever,
        names: Iterable[Name],
        *,
        level: ChunkLevel = "phrase",
        num_results: int = 10,
        chunk_threshold: float = 0.5,
        top_term_only: bool = False,
        verify: bool = True,
    ) -> None:
        self._retriever = retriever
        self._level: ChunkLevel = level
        self._depth = num_results
        self._threshold = chunk_threshold
        self._top_only = top_term_only
        self._names: dict[str, list[Name]] = {}
        for name in names:
            self._names.setdefault(name.term_id, []).append(name)
        self._wordings = Wordings(n for of in self._names.values() for n in of) if verify else None

    def find(self, text: str) -> list[Mention]:
        """Find the mentions of a text, in the order of their places."""
        chunks = chunk(text, self._level)
        asked = list(dict.fromkeys(part.text for part in chunks))
        rankings = dict(zip(asked, self._retriever.search(asked, self._depth), strict=True))
        found = [
            mention
            for part in chunks
            for mention in self._mentions(text, part, rankings[part.text])
        ]
        return sorted(found, key=lambda m: (m.start, m.end, m.term_id))

    def _mentions(self, text: str, part: Chunk, ranking: Ranking) -> list[Mention]:
        scores = dict[str, float]()
        for doc_id, score in zip(ranking.doc_ids, ranking.scores.tolist(), strict=True):
            term_id = term_of(doc_id)
            if score >= self._threshold and term_id in self._names:
                scores.setdefault(term_id, score)
        words = words_of(text, part.start, part.end)
        if self._wordings is None:
            places = frozenset(word.start for word in words)
            found = [
                Mention(term, part.start, part.end, places, min(max(score, 0.0), 1.0), "retrieval")
                for term, score in scores.items()
            ]
        else:
            found = _best_of_each_place(longest_only(self._verified(words, scores)), scores)
        return found[:1] if self._top_only else found

    def _verified(self, words: Sequence[Word], terms: Iterable[str]) -> Iterator[Mention]:
        content = [word for word in words if word.stem]
        stems = {word.stem for word in content}
        assert self._wordings is not None
        for term_id in terms:
            for name in self._names[term_id]:
                size = len(name.stems)
                if name.is_abbreviation or not 0 < size <= _MOST_WORDS:
                    continue
                if len(stems.union(name.stems)) > len(stems) + 1:  # more than one word is not there
                    continue
                for first in range(len(content) - size + 1):
                    window = content[first : first + size]
                    trust = self._wordings.trust([word.stem for word in window], name.stems)
                    if trust:
                        places = frozenset(word.start for word in window)
                        start, end = window[0].start, window[-1].end
                        yield Mention(term_id, start, end, places, trust, "retrieval")


def _best_of_each_place(found: Iterable[Mention], scores: dict[str, float]) -> list[Mention]:
    """The most trusted mention of every place, the most trusted first; ties by retrieval score."""
    best: dict[frozenset[int], Mention] = {}
    ordered = sorted(found, key=lambda m: (-m.confidence, -scores[m.term_id], m.term_id))
    for mention in ordered:
        best.setdefault(mention.words, mention)
    return list(best.values())
