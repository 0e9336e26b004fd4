"""Terms of an ontology as documents with parts, and the terms that a text names exactly.

A query is searched also in other words: translated, as the term of a lay word, or of a value. The
included glossaries, lay words and limits of values are those of the HPO, so they apply only to its
terms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from hashlib import sha256
from operator import itemgetter

import polars as pl

from trectools_plus.formats.tables import PARTS_SCHEMA, Corpus
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.retrieval.hpo.glossary import data_sha256, fold_letters, included_glossary
from trectools_plus.retrieval.hpo.mentions import (
    LayTerms,
    find_measurements,
    lay_words,
    normalise_name,
    terms_of_phrase,
)
from trectools_plus.validation.topics.texts import guess_language, primary_language, stop_words


def find_named(ontology: Ontology, text: str) -> list[str]:
    """Find the terms that a text names: by id, label, synonym, or lay word of the HPO.

    The comparison of names ignores letter case, hyphens, white space, Unicode compatibility forms,
    and quotation marks and full stops around the text. It ignores obsolete terms. An alternative id
    names its term, and the id of an obsolete term its replacement.

    Returns:
        The id of the term if the text is an id. Otherwise term ids: first matches of the label,
        then of an exact synonym, then of another synonym, then of a lay word; each group in the
        order of ids.
    """
    term_id = ontology.ids.find(text)
    if term_id is not None:
        return [term_id]
    lay = [one for one in terms_of_phrase(text) if one in ontology]
    return list(dict.fromkeys([*_names_of(ontology).get(normalise_name(text), ()), *lay]))


@lru_cache(maxsize=4)
def _names_of(ontology: Ontology) -> dict[str, list[str]]:
    """Return the terms with each normalised name, best first."""
    ranked = [
        (rank, name, term.term_id)
        for term in ontology.terms.values()
        for rank, name in (
            (0, term.name),
            *((1 + (synonym.scope != "EXACT"), synonym.text) for synonym in term.synonyms),
        )
    ]
    names: dict[str, dict[str, None]] = {}
    for _, name, term_id in sorted(ranked, key=itemgetter(0)):
        names.setdefault(normalise_name(name), {}).setdefault(term_id)
    return {name: list(term_ids) for name, term_ids in names.items() if name}


def corpus_of(ontology: Ontology) -> Corpus:
    """Return a corpus with a document and its parts for every term that is not obsolete.

    The documents are in the order of ids. The title is the label; the text consists of the
    synonyms and the definition.

    Args:
        ontology: The ontology.
    """
    rows = []
    for term in ontology.terms.values():
        texts = filter(None, (*(synonym.text for synonym in term.synonyms), term.definition))
        ended = (text if text.endswith((".", "!", "?")) else f"{text}." for text in texts)
        rows.append((term.term_id, term.name, " ".join(ended)))
    schema = dict.fromkeys(("doc_id", "title", "text"), pl.String)
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    corpus = Corpus(
        frame,
        path=ontology.path,
        parts=parts_of(ontology),
        find_exact=partial(find_named, ontology),
    )
    return replace(corpus, open_rewording=Rewording) if is_hpo(corpus) else corpus


def parts_of(ontology: Ontology) -> pl.DataFrame:
    """Return the texts of every term that is not obsolete: ``doc_id``, ``kind`` and ``text``.

    The kind is ``label``, ``synonym`` or ``definition``. A missing label or definition has no row.
    Terms are in the order of ids, synonyms in the order of the file.
    """
    rows = [
        (term.term_id, kind, text)
        for term in ontology.terms.values()
        for kind, text in (
            ("label", term.name),
            *(("synonym", synonym.text) for synonym in term.synonyms),
            ("definition", term.definition),
        )
        if text
    ]
    return pl.DataFrame(rows, schema=PARTS_SCHEMA, orient="row")


GLOSSARY_LANGUAGES = ("de", "fr", "es", "nl")
"""The languages of the included glossaries."""
_NEARLY_EQUAL = 0.1
"""If glossaries explain shares of a text that differ by less, it can be in either language."""
_LETTERS_OF = {"de": "äöüß", "fr": "àâçèêîôùûœ", "es": "ñáíóú¿¡"}
_CLUE = 0.3
"""An addition to the explained share for letters that only a language has."""
_WEIGHT = 0.99
"""Below 1: a document whose own name is the query stays before those of other texts."""
_WORD = re.compile(r"\w+")
_LETTERS = re.compile(r"[^\W\d_]{2,}")


_ONE_SIDE = re.compile(
    r"(?:\b(?:on|of|a|à|al?|del?) )?(?:\b(?:the|his|her|la|lado) )?"
    r"\b(?:left|right|(?:link|recht)(?:s|e[nrsm]?|sseitig(?:e[nrs]?)?|szijdige?)"
    r"|gauche|droite?|izquierd[oa]|derech[oa])\b(?:[- ]sided?)?",
    re.IGNORECASE,
)
"""A side, in five languages; terms only distinguish one side and both."""


def is_hpo(corpus: Corpus) -> bool:
    """Return whether documents are terms of the HPO."""
    return corpus.parts is not None and bool(corpus.frame["doc_id"].str.starts_with("HP:").all())


class Rewording:
    """Other texts for queries.

    Args:
        corpus: The terms of the HPO.
        language: The language of all queries; if empty, each has the language that it declares, or
            that is recognised.
    """

    def __init__(self, corpus: Corpus, language: str) -> None:
        self._corpus = corpus
        self._language = language
        self.other_texts = lru_cache(maxsize=1024)(self._find)

    @cached_property
    def sha256(self) -> str:
        """A hash of all tables."""
        return sha256(f"{data_sha256()}  {self._language}".encode()).hexdigest()

    def _find(self, text: str, declared: str = "") -> dict[str, float]:
        """Return other texts for a query and its declared language; see ``OtherTexts``."""
        languages = self.languages_of(text, declared)
        found: dict[str, float] = {}
        for glossary in filter(None, map(included_glossary, languages)):
            translation = glossary.translate(text)
            if translation.known and translation.text:
                found[translation.text] = _WEIGHT
        terms = [pair for language in languages for pair in _find_terms(text, language)]
        terms += [pair for other in found for pair in _find_terms(other, "en")]
        if not (self._language or declared):
            terms += [(term_id, 1.0) for term_id in terms_of_phrase(text)]
        if terms and normalise_name(text) not in self._names:
            for term_id, share in terms:
                label = self._labels.get(term_id)
                if label is not None:
                    found[label] = max(found.get(label, 0.0), _WEIGHT * share**0.5)
        texts = {self._for_one_side(other): weight for other, weight in found.items()}
        return {self._for_one_side(text): _WEIGHT, **texts} if _ONE_SIDE.search(text) else found

    def _for_one_side(self, text: str) -> str:
        """Return the name of a term for one side of a text; the text itself if there is none."""
        name = f"unilateral {_ONE_SIDE.sub('', text).strip()}"
        return name if normalise_name(name) in self._names else text

    def languages_of(self, text: str, declared: str = "") -> list[str]:
        """Return the declared language, or those that the text can be in."""
        declared = self._language or declared
        language = primary_language(declared) if declared else guess_language(text)
        return [language] if language else self._guess_by_words(text)

    def _guess_by_words(self, text: str) -> list[str]:
        """Return the languages whose glossaries explain most of a text; English if it does too."""
        words = _LETTERS.findall(fold_letters(text))
        total = sum(map(len, words))
        known = sum(len(word) for word in words if word in self._english_words)
        if known == total:
            return ["en"]
        explained = {
            name: glossary.translate(text).known
            + _CLUE * (not {*_LETTERS_OF.get(name, "")}.isdisjoint(text.casefold()))
            for name in GLOSSARY_LANGUAGES
            if (glossary := included_glossary(name)) is not None
        }
        best = max(explained.values())
        if best <= known / total:
            return ["en"]
        return [name for name, share in explained.items() if share >= best - _NEARLY_EQUAL]

    @cached_property
    def _labels(self) -> dict[str, str]:
        return dict(self._corpus.frame.select("doc_id", "title").iter_rows())

    @cached_property
    def _names(self) -> frozenset[str]:
        parts = self._corpus.parts
        assert parts is not None
        names = parts.filter(parts["kind"] != "definition")["text"]
        return frozenset(map(normalise_name, names))

    @cached_property
    def _english_words(self) -> frozenset[str]:
        # Each spelled word once, because folding all texts takes a second.
        texts = self._corpus.frame.select("title", "text").iter_rows()
        spelled = {word for row in texts for text in row for word in text.casefold().split()}
        words = frozenset(_LETTERS.findall(fold_letters(" ".join(spelled)))) | lay_words()
        # In names such as "peau d'orange" and "Gilles de la Tourette".
        return words - frozenset().union(*map(stop_words, GLOSSARY_LANGUAGES)) | stop_words("en")


_lay_terms = lru_cache(maxsize=8)(LayTerms)


def _find_terms(text: str, language: str) -> Iterator[tuple[str, float]]:
    """Yield the terms of lay words and values, each with its share of the text."""
    for phrase in _lay_terms(language).find(text):
        yield phrase.term_id, phrase.share
    total = len(_WORD.findall(text))
    for measurement in find_measurements(text):
        if measurement.term_id:
            yield measurement.term_id, min(1.0, len(_WORD.findall(measurement.text)) / total)
