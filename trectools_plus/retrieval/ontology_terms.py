"""The terms of an ontology as documents, and their labels, synonyms and definitions as parts."""

from __future__ import annotations

from functools import partial

import polars as pl

from trectools_plus.formats.tables import CORPUS_SCHEMA, PARTS_SCHEMA, Corpus
from trectools_plus.ontology.obo import Term
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.retrieval.exact_matches import find_named


def corpus_of(ontology: Ontology) -> Corpus:
    """Return a corpus with a document and its parts for every term that is not obsolete.

    The documents are in the order of ids. The title is the label; the text consists of the
    synonyms and the definition.

    Args:
        ontology: The ontology.
    """
    rows = [(term.term_id, term.name, _text_of(term)) for term in ontology.terms.values()]
    frame = pl.DataFrame(rows, schema=CORPUS_SCHEMA, orient="row")
    return Corpus(
        frame,
        path=ontology.path,
        parts=parts_of(ontology),
        find_exact=partial(find_named, ontology),
    )


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


def _text_of(term: Term) -> str:
    parts = [*(synonym.text for synonym in term.synonyms), term.definition]
    return " ".join(
        part if part.endswith((".", "!", "?")) else f"{part}." for part in parts if part
    )
