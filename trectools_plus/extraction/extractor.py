"""Extract the terms of a text with dictionary, retrieval, assertions and aggregation.

Letters have lay words, abbreviations, values, and terms in other languages.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import chain

import polars as pl

from trectools_plus.display import Progress, no_progress
from trectools_plus.errors import checked
from trectools_plus.extraction.assertion import ENGLISH, assert_mentions, languages_of
from trectools_plus.extraction.dictionary import Dictionary
from trectools_plus.extraction.inputs import (
    Prediction,
    aggregate,
)
from trectools_plus.extraction.report import ExtractionSettings
from trectools_plus.extraction.words import (
    OTHER,
    PHENOTYPES,
    Chunk,
    Mention,
    Name,
    chunk,
    derived_names,
    eligible_terms,
    fold,
    longest_only,
    make_name,
    modifier_words,
    names_of,
    words_of,
)
from trectools_plus.formats.tables import CORPUS_SCHEMA, Corpus
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.retrieval.backends.embedded import build_retrievers
from trectools_plus.retrieval.hpo.glossary import fold_letters, function_words, included_glossary
from trectools_plus.retrieval.hpo.mentions import find_measurements, lay_rows, lay_words
from trectools_plus.retrieval.source import Ranking, Retriever
from trectools_plus.validation.texts import guess_language


def corpus_of_names(names: Iterable[Name], path: str) -> Corpus:
    """Return a corpus with one document per name, with the id of its term: ``HP:0001250#2``."""
    rows = [(f"{name.term_id}#{place}", "", name.text) for place, name in enumerate(names)]
    return Corpus(pl.DataFrame(rows, schema=CORPUS_SCHEMA, orient="row"), path=path)


class Extractor:
    """Extract terms from texts.

    Args:
        ontology: The terms.
        settings: The settings; the defaults if ``None``.
        retriever: Replaces the retriever of the settings, with the method ``both`` if the settings
            name none. Its documents are terms (``HP:0001250``) or names of terms
            (``HP:0001250#2``).
        progress: Called while an index is built that is not in the cache yet.

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
    ) -> None:
        settings = settings or ExtractionSettings()
        if retriever is not None and "method" not in settings.model_fields_set:
            settings = settings.model_copy(update={"method": "both"})
        self.settings, self._ontology = settings, ontology
        self._terms = terms = eligible_terms(ontology, settings.root or None)
        self._knows_languages = PHENOTYPES in ontology
        self.languages_of = lru_cache(maxsize=1024)(self._languages_of)
        self._candidates = lru_cache(maxsize=1024)(self._find_candidates)
        names = names_of(ontology, terms)
        texts = " ".join(ontology.terms[term_id].definition or "" for term_id in terms)
        self._named = frozenset(word for name in names for word in name.words)
        self._english = self._named.union(
            map(fold, [*texts.split(), *lay_words(), *function_words(ENGLISH)])
        )
        further = derived_names(ontology, names)
        if settings.style == "notes":
            further += lay_names(ENGLISH, terms)
        self._dictionary = Dictionary(names, further=further, modifiers=modifier_words(ontology))
        # The lay words of a language; in English they are in the dictionary.
        self._lay = lru_cache(maxsize=8)(
            lambda language: Dictionary((), further=lay_names(language, terms))
        )
        self._retriever = retriever
        if settings.method != "dictionary" and retriever is None:
            corpus, mode = corpus_of_names(names, ontology.path), settings.retriever
            self._retriever = build_retrievers(corpus, [mode], progress=progress)[mode]

    def mentions(self, text: str) -> list[Mention]:
        """Return the mentions of a text with their assertions, in the order of the text.

        A text in a language whose negations are not known has none.
        """
        languages = self.languages_of(text)
        if not languages:
            return []
        named, retrieved = self._candidates(text)
        threshold = self.settings.min_confidence
        mentions = [mention for mention in named if mention.confidence >= threshold]
        used_words = {word for mention in mentions for word in mention.words}
        mentions += [
            mention
            for mention in retrieved
            if mention.confidence >= threshold and used_words.isdisjoint(mention.words)
        ]
        mentions.sort(key=lambda m: (m.start, m.end, m.term_id))
        asserted, *others = (assert_mentions(text, mentions, language) for language in languages)
        negated = {(m.start, m.term_id) for m in chain(*others) if m.assertion == "negated"}
        return [
            replace(m, assertion="negated")
            if m.assertion == "affirmed" and (m.start, m.term_id) in negated
            else m
            for m in asserted
        ]

    def _languages_of(self, text: str) -> tuple[str, ...]:
        """Return the possible languages of a text; none if its negations are not known."""
        if self.settings.language:
            return (self.settings.language,)
        if not self._knows_languages:
            return (guess_language(text) or ENGLISH,)
        return languages_of(text, self._english, self._named)

    def _find_candidates(self, text: str) -> tuple[list[Mention], list[Mention]]:
        """Return the mentions from the dictionary, and those from retrieval."""
        method, language = self.settings.method, self.languages_of(text)[0]
        named = self._dictionary.find(text) if method != "retrieval" else []
        if self.settings.style == "notes" and method != "retrieval":
            named += find_values(text, self._terms)
            if language != ENGLISH:
                lay = self._lay(language).find(text)
                named += [*lay, *find_translated(text, language, self._dictionary, lay)]
            named = longest_only(dict.fromkeys(named))
        return named, self._search(text) if method != "dictionary" else []

    def _search(self, text: str) -> list[Mention]:
        """Return the mentions that retrieval finds in a text."""
        assert self._retriever is not None
        phrases = chunk(text, "phrase")
        queries = list(dict.fromkeys(phrase.text for phrase in phrases))
        results = self._retriever.search(queries, self.settings.num_results)
        rankings = dict(zip(queries, results, strict=True))
        return [m for part in phrases for m in self._mentions(text, part, rankings[part.text])]

    def _mentions(self, text: str, phrase: Chunk, ranking: Ranking) -> list[Mention]:
        """Return the mentions of a phrase, the most trusted first."""
        settings, scores = self.settings, dict[str, float]()
        for doc_id, score in zip(ranking.doc_ids, ranking.scores.tolist(), strict=True):
            term_id = doc_id.partition("#")[0]
            if score >= settings.chunk_threshold and term_id in self._terms:
                scores.setdefault(term_id, score)
        if settings.verify:
            mentions = [m for m in self._dictionary.find(text, phrase) if m.term_id in scores]
            mentions.sort(key=lambda m: (-m.confidence, -scores[m.term_id], m.term_id))
        else:
            places = frozenset(word.start for word in words_of(text, phrase.start, phrase.end))
            mentions = [
                Mention(term, phrase.start, phrase.end, places, min(max(score, 0.0), 1.0))
                for term, score in scores.items()
            ]
        return mentions[:1] if settings.top_term_only else mentions

    def extract(self, text: str) -> list[Prediction]:
        """Return the terms of a text, one prediction per term, the highest score first."""
        terms = self._ontology.terms
        return [
            replace(term, label=terms[term.term_id].name, text=text[slice(*term.spans[0])])
            for term in aggregate(self.mentions(text))
        ]


_WORD = re.compile(r"\w+")
_AND = frozenset(["und", "oder", "sowie", "et", "ou", "y", "e", "o", "u", "en", "of"])
_OF = frozenset(["von", "vom", "de", "d", "du", "des", "del", "van"])
"""Words that say *of*: without it, *absence d'épilepsie* would be *absence seizure*."""


def lay_names(language: str, terms: frozenset[str]) -> list[Name]:
    """Return the lay words and abbreviations of terms in a language."""
    return [
        make_name(term_id, phrase, OTHER + 1)
        for phrase, term_id, own in lay_rows()
        if own == language and term_id in terms
    ]


def find_values(text: str, terms: Container[str]) -> Iterator[Mention]:
    """Yield the mentions of terms that are values beyond their limits."""
    for part in chunk(text, "sentence"):
        folded = fold_letters(part.text, keep_case=True)
        for value in find_measurements(part.text):
            if value.term_id in terms:
                start = part.start + max(0, folded.find(value.text))
                end = min(start + len(value.text), part.end)
                words = frozenset(word.start for word in words_of(text, start, end))
                yield Mention(value.term_id, start, end, words, 1.0)


def find_translated(
    text: str, language: str, dictionary: Dictionary, known: Iterable[Mention]
) -> Iterator[Mention]:
    """Yield the mentions in the translation of a text, at their places in the text.

    Args:
        text: The text.
        language: A language with a glossary.
        dictionary: The dictionary of English names and lay words.
        known: Mentions whose words need no further meaning.
    """
    glossary = included_glossary(language)
    assert glossary is not None
    done = {word for mention in known for word in mention.words}
    for clause in chunk(text, "clause"):
        parts = glossary.translate(clause.text).parts
        # The English of a word can be a phrase, or several words of which one fits.
        for choice in (slice(None), slice(1), slice(-1, None)):
            english, end, spans, before = "", 0, dict[int, tuple[int, int]](), frozenset(done)
            for meaning, (start, stop) in parts:
                words = _WORD.findall(clause.text[start:stop].lower())
                english += "," * ("," in clause.text[end:start])
                chosen = ["and"] if words[0] in _AND else meaning.split()[choice]
                for word in (*chosen, *["of"] * (words[-1] in _OF)):
                    spans[len(english) + 1] = clause.start + start, clause.start + stop
                    english += f" {word}"
                end = stop
            for mention in dictionary.find(english):
                used = [spans[place] for place in mention.words if place in spans]
                starts = frozenset(start for start, _ in used)
                if not starts <= before:
                    done |= starts
                    end_of_last = max(end for _, end in used)
                    yield replace(mention, start=min(starts), end=end_of_last, words=starts)
