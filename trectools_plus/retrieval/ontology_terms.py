"""An ontology's terms as documents: whole for one vector each, in parts for several."""

from __future__ import annotations

import re
import unicodedata

import polars as pl

from trectools_plus.formats.tables import CORPUS_SCHEMA, PARTS_SCHEMA, Corpus
from trectools_plus.ontology.obo import Term
from trectools_plus.ontology.ontology import Ontology


def corpus_of(ontology: Ontology) -> Corpus:
    """Every live term as a document, in the order of ids, together with its parts.

    The title is the label; the text holds the synonyms and the definition.
    """
    rows = [(term.term_id, term.name, _text_of(term)) for term in ontology.terms.values()]
    frame = pl.DataFrame(rows, schema=CORPUS_SCHEMA, orient="row")
    return Corpus(frame, path=ontology.path, parts=parts_of(ontology))


def parts_of(ontology: Ontology) -> pl.DataFrame:
    """The texts of every live term: ``doc_id``, ``kind`` and ``text``.

    The kind is ``label``, ``synonym`` or ``definition``. Texts that a term lacks have no row;
    terms are in the order of ids, synonyms in that of the file.
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
    """The live terms that have a text as label or synonym.

    Letter case, hyphens, blanks and Unicode compatibility forms do not matter, nor do quotation
    marks and full stops around the text.

    Returns:
        Ids: by the label, then by an exact synonym, then by another one; each group in the order
        of ids.
    """
    wanted, ranks = _normal_name(text), dict[str, int]()
    if not wanted:
        return []
    for term in ontology.terms.values():
        names = [(0, term.name), *((1 + (s.scope != "EXACT"), s.text) for s in term.synonyms)]
        found = [rank for rank, name in names if _normal_name(name) == wanted]
        if found:
            ranks[term.term_id] = min(found)
    return sorted(ranks, key=ranks.__getitem__)


_BLANKS = re.compile(r"[\s_\-\u2010-\u2015\u2212]+")
_QUOTES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc", "'"))


def _normal_name(name: str) -> str:
    folded = unicodedata.normalize("NFKC", name).casefold().translate(_QUOTES)
    return _BLANKS.sub(" ", folded).strip(" .?!'\"\u201c\u201d")


def _text_of(term: Term) -> str:
    parts = [*(synonym.text for synonym in term.synonyms), term.definition]
    return " ".join(
        part if part.endswith((".", "!", "?")) else f"{part}." for part in parts if part
    )
