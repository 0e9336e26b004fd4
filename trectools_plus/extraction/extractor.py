"""From a text to the terms it speaks of: dictionary, retrieval, assertion, aggregation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from copy import copy
from typing import Self

from trectools_plus.choices import STRATEGIES
from trectools_plus.extraction.assertion import assert_mentions
from trectools_plus.extraction.dictionary import Dictionary
from trectools_plus.extraction.mentions import Mention, Prediction, strongest
from trectools_plus.extraction.names import eligible_terms, names_of
from trectools_plus.extraction.searching import Searcher, corpus_of_names, corpus_of_terms
from trectools_plus.extraction.settings import ExtractionSettings
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.progress import Progress, no_progress
from trectools_plus.retrieval.backends.embedded.backend import build_retrievers
from trectools_plus.retrieval.source import Retriever

_Candidates = tuple[list[Mention], list[Mention]]
"""What the dictionary found, and what retrieval found."""


class Extractor:
    """Extracts terms from texts.

    Args:
        ontology: The terms.
        settings: How; the defaults if ``None``.
        retriever: What to ask about chunks, in place of the one that the settings name: any
            retriever whose documents are terms (``HP:0001250``) or, behind a ``#``, names of terms.
        progress: Told of the building of an index that is not in the cache yet.
        remember: Whether to keep what was found in each text, for :meth:`at_confidence`.

    Raises:
        UsageError: If the settings' root is no term, or no term can be predicted.
        InputError: If an index cannot be written.
    """

    def __init__(
        self,
        ontology: Ontology,
        settings: ExtractionSettings | None = None,
        *,
        retriever: Retriever | None = None,
        progress: Progress = no_progress,
        remember: bool = False,
    ) -> None:
        self._memory: dict[str, _Candidates] | None = {} if remember else None
        self.settings = settings = settings or ExtractionSettings()
        terms = eligible_terms(ontology, settings.root or None, settings.min_depth)
        names = names_of(ontology, terms, inexact=settings.inexact_synonyms)
        self._dictionary = self._searcher = None
        if settings.method != "retrieval":
            self._dictionary = Dictionary(
                names,
                max_gap=settings.max_gap,
                shortest_abbreviation=settings.shortest_abbreviation,
            )
        if settings.method != "dictionary":
            if retriever is None:
                mode = settings.retriever
                if mode in STRATEGIES:
                    corpus = corpus_of_terms(ontology, terms)
                else:
                    corpus = corpus_of_names(names, ontology.path)
                retriever = build_retrievers(corpus, [mode], progress=progress)[mode]
            self._searcher = Searcher(
                retriever,
                names,
                level=settings.level,
                num_results=settings.num_results,
                chunk_threshold=settings.chunk_threshold,
                top_term_only=settings.top_term_only,
                verify=settings.verify,
            )

    def at_confidence(self, least: float) -> Self:
        """The same extractor with another ``min_confidence``; parts and memory are shared."""
        other = copy(self)
        other.settings = self.settings.model_copy(update={"min_confidence": least})
        return other

    def mentions(self, text: str) -> list[Mention]:
        """The mentions of a text, each with its assertion, in the order of their places."""
        named, retrieved = self._candidates(text)
        found = _confident(named, self.settings.min_confidence)
        taken = {word for mention in found for word in mention.words}
        more = _confident(retrieved, self.settings.min_confidence)
        found += [mention for mention in more if taken.isdisjoint(mention.words)]
        found.sort(key=lambda m: (m.start, m.end, m.term_id))
        return assert_mentions(text, found) if self.settings.assertions else found

    def _candidates(self, text: str) -> _Candidates:
        if self._memory is not None and text in self._memory:
            return self._memory[text]
        found = (
            self._dictionary.find(text) if self._dictionary else [],
            self._searcher.find(text) if self._searcher else [],
        )
        if self._memory is not None:
            self._memory[text] = found
        return found

    def extract(self, text: str) -> list[Prediction]:
        """The terms of a text, the best score first."""
        return aggregate(self.mentions(text))


def aggregate(mentions: Iterable[Mention]) -> list[Prediction]:
    """One prediction per term: best confidence, number and places of its mentions.

    Score and places are those of the mentions that bear the term's assertion.
    """
    by_term: dict[str, list[Mention]] = defaultdict(list)
    for mention in mentions:
        by_term[mention.term_id].append(mention)
    found = [_prediction(term_id, said) for term_id, said in by_term.items()]
    return sorted(found, key=lambda p: (-p.score, p.term_id))


def _prediction(term_id: str, said: Sequence[Mention]) -> Prediction:
    assertion = strongest(mention.assertion for mention in said)
    bearing = [mention for mention in said if mention.assertion == assertion]
    spans = tuple(sorted({(mention.start, mention.end) for mention in bearing}))
    return Prediction(
        term_id, assertion, max(mention.confidence for mention in bearing), len(bearing), spans
    )


def _confident(mentions: Iterable[Mention], least: float) -> list[Mention]:
    return [mention for mention in mentions if mention.confidence >= least]
