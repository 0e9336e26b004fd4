"""An ontology's terms as documents: whole for one vector each, in parts for several."""

from __future__ import annotations

import polars as pl

from trectools_plus.formats.tables import CORPUS_SCHEMA, PARTS_SCHEMA, Corpus
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.ontology.terms import Term


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


def _text_of(term: Term) -> str:
    parts = [*(synonym.text for synonym in term.synonyms), term.definition]
    return " ".join(
        part if part.endswith((".", "!", "?")) else f"{part}." for part in parts if part
    )
