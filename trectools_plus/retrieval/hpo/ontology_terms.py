"""Terms of an ontology as documents with parts, and the terms that a text names exactly.

A query is searched also in other words: translated, as the term of a lay word, or of a value. The
included glossaries, lay words and limits of values are those of the HPO, so they apply only to its
terms.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from hashlib import sha256
from operator import itemgetter
from pathlib import Path

import polars as pl

from trectools_plus.display import no_progress
from trectools_plus.formats.files.content import FileContent, read_file
from trectools_plus.formats.files.index_cache import IndexRecipe, open_index
from trectools_plus.formats.hashing import sha256_text
from trectools_plus.formats.tables import CORPUS_SCHEMA, PARTS_SCHEMA, Corpus
from trectools_plus.formats.writing import write_parquet
from trectools_plus.ontology.hierarchy import TermIds
from trectools_plus.ontology.obo import read_obo
from trectools_plus.ontology.ontology import Ontology, find_hpo_file
from trectools_plus.retrieval.hpo.glossary import data_sha256, fold_letters, included_glossary
from trectools_plus.retrieval.hpo.mentions import (
    LayTerms,
    find_measurements,
    lay_words,
    normalise_name,
    terms_of_phrase,
)
from trectools_plus.validation.texts import guess_language, primary_language, stop_words


@dataclass(frozen=True, slots=True)
class TermNames:
    """Finds the terms that a text names: by id, label, synonym, or lay word of the HPO.

    The comparison of names ignores letter case, hyphens, white space, Unicode compatibility forms,
    and quotation marks and full stops around the text. It ignores obsolete terms. An alternative id
    names its term, and the id of an obsolete term its replacement.

    Attributes:
        ids: Resolves ids.
        table: Returns the table of names, ``name`` and ``doc_id``: first the labels, then exact
            synonyms, then other synonyms; each group in the order of ids.
        words: Returns the table of the words of all texts in ASCII spelling.
    """

    ids: TermIds
    table: Callable[[], pl.DataFrame]
    words: Callable[[], pl.DataFrame]

    def __call__(self, text: str) -> list[str]:
        """Return the id of the term if the text is an id, otherwise terms, best first."""
        term_id = self.ids.find(text)
        if term_id is not None:
            return [term_id]
        lay = [term_id for term_id in terms_of_phrase(text) if term_id in self.ids]
        return list(dict.fromkeys([*self.named(text), *lay]))

    def named(self, name: str) -> list[str]:
        """Return the terms with a label or synonym, best first."""
        return self.table().filter(name=normalise_name(name))["doc_id"].to_list()


_TABLES: Mapping[str, Collection[str]] = {
    "terms": CORPUS_SCHEMA,
    "parts": PARTS_SCHEMA,
    "names": ("name", "doc_id"),
    "words": ("word",),
}
"""The cached tables of an ontology, with their columns: its corpus, and the tables of its names."""


@lru_cache(maxsize=4)
def _names_of(ontology: Ontology) -> pl.DataFrame:
    """Return the table of names."""
    ranked = [
        (rank, name, term.term_id)
        for term in ontology.terms.values()
        for rank, name in (
            (0, term.name),
            *((1 + (synonym.scope != "EXACT"), synonym.text) for synonym in term.synonyms),
        )
    ]
    rows = [
        (name, term_id)
        for _, spelled, term_id in sorted(ranked, key=itemgetter(0))
        if (name := normalise_name(spelled))
    ]
    return pl.DataFrame(rows, ["name", "doc_id"], orient="row")


_FACTS = {"version": 1, "unicode": unicodedata.unidata_version}
"""What determines the tables of an ontology; raise the version when their content changes."""


def open_terms(path: str | Path | None = None) -> Corpus:
    """Return the corpus of an OBO file; see :func:`corpus_of`.

    Its tables are read from the cache of indexes, or added to it.

    Args:
        path: The file; ``None`` for the installed Human Phenotype Ontology.

    Raises:
        MissingExtraError: If ``path`` is ``None`` and the extra ``hpo`` is not installed.
        InputError: If the file cannot be read, or the cache cannot be written.
        FormatError: If it is not OBO, or its terms do not form a hierarchy.
    """
    source = read_file(find_hpo_file() if path is None else path)
    facts = {**_FACTS, "obo_sha256": sha256_text(source.text)}
    build, load = partial(_write_tables, source), partial(_load_tables, source.path)
    return open_index(IndexRecipe("terms", facts), build, load, no_progress)


def _write_tables(source: FileContent, folder: Path) -> None:
    corpus = corpus_of(ontology := Ontology(read_obo(source)))
    tables = corpus.frame, parts_of(ontology), _names_of(ontology), _words_of(corpus.frame)
    for name, table in zip(_TABLES, tables, strict=True):
        write_parquet(table, folder / name)
    ids = json.dumps([ontology.ids.obsolete, ontology.ids.alternatives])
    (folder / "ids").write_text(ids, "utf-8")


def _load_tables(path: str, folder: Path) -> Corpus:
    frame, parts, names, words = (
        pl.read_parquet(folder / name, glob=False).select(
            pl.col(*columns).cast(pl.String).fill_null("")
        )
        for name, columns in _TABLES.items()
    )
    obsolete, alternatives = map(dict, json.loads((folder / "ids").read_bytes()))
    ids = TermIds(obsolete, alternatives, frame["doc_id"])
    return _as_corpus(frame, parts, TermNames(ids, names.clone, words.clone), path)


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
    frame = pl.DataFrame(rows, CORPUS_SCHEMA, orient="row")
    names = TermNames(ontology.ids, partial(_names_of, ontology), partial(_words_of, frame))
    return _as_corpus(frame, parts_of(ontology), names, ontology.path)


def _as_corpus(frame: pl.DataFrame, parts: pl.DataFrame, names: TermNames, path: str) -> Corpus:
    is_hpo = frame["doc_id"].str.starts_with("HP:").all()
    return Corpus(frame, path, parts, names, open_rewording=Rewording if is_hpo else None)


def _words_of(frame: pl.DataFrame) -> pl.DataFrame:
    # Each spelled word once, because folding all texts takes a second.
    spelled = pl.concat([frame["title"], frame["text"]]).str.split(" ").explode().unique()
    words = {*_LETTERS.findall(fold_letters(" ".join(spelled)))}
    return pl.DataFrame({"word": sorted(words)})


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


class Rewording:
    """Other texts for queries.

    Args:
        corpus: The terms of the HPO.
        language: The language of all queries; if empty, each has the language that it declares, or
            that is recognised.
    """

    def __init__(self, corpus: Corpus, language: str) -> None:
        assert isinstance(corpus.find_exact, TermNames)
        self._corpus, self._names = corpus, corpus.find_exact
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
        if terms and not self._names.named(text):
            rows = self._corpus.find(pl.Series([term_id for term_id, _ in terms]))
            labels = dict(rows.select("doc_id", "title").iter_rows())
            for term_id, share in terms:
                label = labels.get(term_id)
                if label is not None:
                    found[label] = max(found.get(label, 0.0), _WEIGHT * share**0.5)
        texts = {self._for_one_side(other): weight for other, weight in found.items()}
        return {self._for_one_side(text): _WEIGHT, **texts} if _ONE_SIDE.search(text) else found

    def _for_one_side(self, text: str) -> str:
        """Return the name of a term for one side of a text; the text itself if there is none."""
        name = f"unilateral {_ONE_SIDE.sub('', text).strip()}"
        return name if self._names.named(name) else text

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
    def _english_words(self) -> frozenset[str]:
        words = frozenset(self._names.words()["word"]) | lay_words()
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
