"""The terms of an ontology as documents, and their labels, synonyms and definitions as parts."""

from __future__ import annotations

import re
import unicodedata

import polars as pl

from trectools_plus.formats.tables import CORPUS_SCHEMA, PARTS_SCHEMA, Corpus
from trectools_plus.ontology.obo import Term
from trectools_plus.ontology.ontology import Ontology


def corpus_of(ontology: Ontology) -> Corpus:
    """Return a corpus with a document and its parts for every term that is not obsolete.

    The documents are in the order of ids. The title is the label; the text consists of the
    synonyms and the definition.

    Args:
        ontology: The ontology.
    """
    rows = [(term.term_id, term.name, _text_of(term)) for term in ontology.terms.values()]
    frame = pl.DataFrame(rows, schema=CORPUS_SCHEMA, orient="row")
    return Corpus(frame, path=ontology.path, parts=parts_of(ontology))


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


def find_named(ontology: Ontology, text: str) -> list[str]:
    """Find the terms with a label or synonym that equals a text.

    The comparison ignores letter case, hyphens, white space, Unicode compatibility forms, and
    quotation marks and full stops around the text. It ignores obsolete terms.

    Returns:
        Term ids: first matches of the label, then of an exact synonym, then of another synonym;
        each group in the order of ids.
    """
    target, ranks = _normalise_name(text), dict[str, int]()
    if not target:
        return []
    for term in ontology.terms.values():
        names = [(0, term.name), *((1 + (s.scope != "EXACT"), s.text) for s in term.synonyms)]
        found = [rank for rank, name in names if _normalise_name(name) == target]
        if found:
            ranks[term.term_id] = min(found)
    return sorted(ranks, key=ranks.__getitem__)


_SEPARATORS = re.compile(r"[\s_\-\u2010-\u2015\u2212]+")
_QUOTES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc", "'"))


def _normalise_name(name: str) -> str:
    folded = unicodedata.normalize("NFKC", name).casefold().translate(_QUOTES)
    return _SEPARATORS.sub(" ", folded).strip(" .?!'\"\u201c\u201d")


def _text_of(term: Term) -> str:
    parts = [*(synonym.text for synonym in term.synonyms), term.definition]
    return " ".join(
        part if part.endswith((".", "!", "?")) else f"{part}." for part in parts if part
    )
