"""Extract the terms of a text with dictionary, retrieval, assertions and aggregation."""

from __future__ import annotations

from copy import copy
from typing import Self

from trectools_plus.arguments import checked
from trectools_plus.choices import STRATEGIES
from trectools_plus.extraction.assertion import assert_mentions
from trectools_plus.extraction.dictionary import Dictionary, eligible_terms, names_of
from trectools_plus.extraction.predictions import Mention, Prediction, aggregate
from trectools_plus.extraction.search import Searcher, corpus_of_names, corpus_of_terms
from trectools_plus.extraction.settings import ExtractionSettings
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.progress import Progress, no_progress
from trectools_plus.retrieval.backends.embedded.backend import build_retrievers
from trectools_plus.retrieval.source import Retriever

_Candidates = tuple[list[Mention], list[Mention]]
"""The mentions from the dictionary, and those from retrieval."""


class Extractor:
    """Extract terms from texts.

    Args:
        ontology: The terms.
        settings: The settings; the defaults if ``None``.
        retriever: Replaces the retriever of the settings. Its documents are terms (``HP:0001250``)
            or names of terms (``HP:0001250#2``).
        progress: Called while an index is built that is not in the cache yet.
        remember: Store the mentions of each text in memory, so that extractors from
            :meth:`at_confidence` do not search again.

    Raises:
        UsageError: If the root in the settings is not a term.
        InputError: If there is no term to search, or an index cannot be written.
    """

    @checked
    def __init__(
        self,
        ontology: Ontology,
        settings: ExtractionSettings | None = None,
        *,
        retriever: Retriever | None = None,
        progress: Progress = no_progress,
        remember: bool = False,
    ) -> None:
        self._cache: dict[str, _Candidates] | None = {} if remember else None
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
            self._searcher = Searcher(retriever, names, settings)

    def at_confidence(self, min_confidence: float) -> Self:
        """Return a copy with another ``min_confidence``, which shares the stored mentions."""
        other = copy(self)
        other.settings = self.settings.model_copy(update={"min_confidence": min_confidence})
        return other

    def mentions(self, text: str) -> list[Mention]:
        """Return the mentions of a text with their assertions, in the order of the text."""
        named, retrieved = self._candidates(text)
        threshold = self.settings.min_confidence
        found = [mention for mention in named if mention.confidence >= threshold]
        used_words = {word for mention in found for word in mention.words}
        found += [
            mention
            for mention in retrieved
            if mention.confidence >= threshold and used_words.isdisjoint(mention.words)
        ]
        found.sort(key=lambda m: (m.start, m.end, m.term_id))
        return assert_mentions(text, found) if self.settings.assertions else found

    def _candidates(self, text: str) -> _Candidates:
        if self._cache is not None and text in self._cache:
            return self._cache[text]
        found = (
            self._dictionary.find(text) if self._dictionary else [],
            self._searcher.find(text) if self._searcher else [],
        )
        if self._cache is not None:
            self._cache[text] = found
        return found

    def extract(self, text: str) -> list[Prediction]:
        """Return the terms of a text, one prediction per term, the highest score first."""
        return aggregate(self.mentions(text))
