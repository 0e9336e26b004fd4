"""Terms of an ontology as documents with parts, and the terms that a text names exactly.

A query is searched also in other words: translated, as the term of a lay word, or of a value. The
included glossaries, lay words and limits of values are those of the HPO, so they apply only to its
terms.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from unicodedata import unidata_version

import polars as pl

from trectools_plus.display import no_progress
from trectools_plus.formats.files.content import FileContent, read_file
from trectools_plus.formats.files.index_cache import IndexRecipe, open_index
from trectools_plus.formats.hashing import sha256_rows, sha256_text
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


@dataclass(frozen=True)
class TermNames:
    """Finds the terms that a text names: by id, label, synonym, or lay word of the HPO.

    The comparison of names ignores letter case, hyphens, white space, Unicode compatibility forms,
    and quotation marks and full stops around the text. It ignores obsolete terms. An alternative id
    names its term, and the id of an obsolete term its replacement.

    Attributes:
        ids: Resolves ids.
        table: The names, ``name`` and ``doc_id``: first the labels, then exact synonyms, then other
            synonyms; each group in the order of ids.
        words: The words of all texts in ASCII spelling, ``word``.
    """

    ids: TermIds
    table: pl.DataFrame
    words: pl.DataFrame

    def __call__(self, text: str) -> list[str]:
        """Return the id of the term if the text is an id, otherwise terms, best first."""
        term_id = self.ids.find(text)
        if term_id is not None:
            return [term_id]
        lay = filter(self.ids.__contains__, terms_of_phrase(text))
        return [*dict.fromkeys([*self.named(text), *lay])]

    def named(self, name: str) -> list[str]:
        """Return the terms with a label or synonym, best first."""
        return self.table.filter(name=normalise_name(name))["doc_id"].to_list()


_TABLES: Mapping[str, Collection[str]] = {
    "terms": CORPUS_SCHEMA,
    "parts": PARTS_SCHEMA,
    "names": ("name", "doc_id"),
    "words": ("word",),
}
"""The cached tables of an ontology, with their columns: its corpus, and the tables of its names."""


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
    # Raise the version when the content of the tables changes.
    facts = {"version": 2, "unicode": unidata_version, "obo_sha256": sha256_text(source.text)}
    return open_index(
        IndexRecipe("terms", facts),
        partial(_write_tables, source),
        partial(_load_tables, source.path),
        no_progress,
    )


def _write_tables(source: FileContent, folder: Path) -> None:
    ontology = Ontology(read_obo(source))
    tables = _tables_of(ontology)
    for name, table in zip(_TABLES, tables, strict=True):
        write_parquet(table, folder / name)
    facts = [ontology.ids.obsolete, ontology.ids.alternatives, sha256_rows(tables[0].iter_rows())]
    (folder / "ids").write_text(json.dumps(facts), "utf-8")


def _load_tables(path: str, folder: Path) -> Corpus:
    tables = [
        pl.read_parquet(folder / name, columns=[*columns], glob=False)
        for name, columns in _TABLES.items()
    ]
    obsolete, alternatives, sha256 = json.loads((folder / "ids").read_bytes())
    corpus = _as_corpus(tables, TermIds(obsolete, alternatives, tables[0]["doc_id"]), path)
    object.__setattr__(corpus, "_sha256", sha256)  # computing it takes a tenth of a second
    return corpus


def corpus_of(ontology: Ontology) -> Corpus:
    """Return a corpus with a document and its parts for every term that is not obsolete.

    The documents are in the order of ids. The title is the label; the text consists of the
    synonyms and the definition.

    Args:
        ontology: The ontology.
    """
    return _as_corpus(_tables_of(ontology), ontology.ids, ontology.path)


def _tables_of(ontology: Ontology) -> list[pl.DataFrame]:
    """Return the tables of ``_TABLES``; the parts have the ranks of names in another column."""
    rows = []
    for term in ontology.terms.values():
        texts = filter(None, (*(synonym.text for synonym in term.synonyms), term.definition))
        ended = (text if text.endswith((".", "!", "?")) else f"{text}." for text in texts)
        rows.append((term.term_id, term.name, " ".join(ended)))
    frame = pl.DataFrame(rows, CORPUS_SCHEMA, orient="row")
    of_terms = [
        (term.term_id, kind, text, rank)
        for term in ontology.terms.values()
        for kind, text, rank in (
            ("label", term.name, 0),
            *(
                ("synonym", synonym.text, 1 + (synonym.scope != "EXACT"))
                for synonym in term.synonyms
            ),
            ("definition", term.definition, None),
        )
        if text
    ]
    parts = pl.DataFrame(of_terms, {**PARTS_SCHEMA, "rank": pl.Int8}, orient="row")
    ranked = parts.drop_nulls().sort("rank", maintain_order=True)
    names = pl.Series("name", map(normalise_name, ranked["text"]), pl.String)
    # Each spelled word once, because folding all texts takes a second.
    spelled = pl.concat([frame["title"], frame["text"]]).str.split(" ").explode().unique()
    words = sorted({*_LETTERS.findall(fold_letters(" ".join(spelled)))})
    return [
        frame,
        parts,
        pl.DataFrame([names, ranked["doc_id"]]).filter(names != ""),
        pl.DataFrame({"word": words}),
    ]


def _as_corpus(tables: Sequence[pl.DataFrame], ids: TermIds, path: str) -> Corpus:
    frame, parts, names, words = tables
    is_hpo = frame["doc_id"].str.starts_with("HP:").all()
    return Corpus(frame, path, parts, TermNames(ids, names, words), Rewording if is_hpo else None)


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
        self._names, self._language = corpus.find_exact, language
        self._labels = dict(corpus.frame.select("doc_id", "title").iter_rows())
        self.other_texts = lru_cache(maxsize=1024)(self._find)

    @cached_property
    def sha256(self) -> str:
        """A hash of all tables."""
        return sha256_text(f"{data_sha256()}  {self._language}")

    def _find(self, text: str, declared: str = "") -> dict[str, float]:
        """Return other texts for a query and its declared language; see ``OtherTexts``."""
        languages = self.languages_of(text, declared)
        others = dict[str, float]()
        for glossary in filter(None, map(included_glossary, languages)):
            translation = glossary.translate(text)
            if translation.known and translation.text:
                others[translation.text] = _WEIGHT
        terms = [pair for language in languages for pair in _find_terms(text, language)]
        terms += [pair for other in others for pair in _find_terms(other, "en")]
        if not (self._language or declared):
            terms += [(term_id, 1.0) for term_id in terms_of_phrase(text)]
        if terms and not self._names.named(text):
            for term_id, share in terms:
                label = self._labels.get(term_id)
                if label is not None:
                    others[label] = max(others.get(label, 0.0), _WEIGHT * share**0.5)
        texts = {self._for_one_side(other): weight for other, weight in others.items()}
        return {self._for_one_side(text): _WEIGHT, **texts} if _ONE_SIDE.search(text) else others

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
        # In names such as "peau d'orange" and "Gilles de la Tourette".
        others = frozenset().union(*map(stop_words, GLOSSARY_LANGUAGES))
        return lay_words().union(self._names.words["word"]) - others | stop_words("en")


_lay_terms = lru_cache(maxsize=8)(LayTerms)


def _find_terms(text: str, language: str) -> Iterator[tuple[str, float]]:
    """Yield the terms of lay words and values, each with its share of the text."""
    for phrase in _lay_terms(language).find(text):
        yield phrase.term_id, phrase.share
    total = len(_WORD.findall(text))
    for measurement in find_measurements(text):
        if measurement.term_id:
            yield measurement.term_id, min(1.0, len(_WORD.findall(measurement.text)) / total)
