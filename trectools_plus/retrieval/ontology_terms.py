"""The terms of an ontology as documents, and their labels, synonyms and definitions as parts."""

from __future__ import annotations

from functools import partial

import polars as pl

from trectools_plus.formats.tables import PARTS_SCHEMA, Corpus
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.retrieval.exact_matches import find_named


def corpus_of(ontology: Ontology) -> Corpus:
    """Return a corpus with a document and its parts for every term that is not obsolete.

    The documents are in the order of ids. The title is the label; the text consists of the
    synonyms and the definition.

    Args:
        ontology: The ontology.
    """
    texts = pl.concat_list("synonyms", "definition").list.eval(_sentence(pl.element()))
    frame = ontology.texts.select(doc_id="term_id", title="name", text=texts.list.join(" "))
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
    texts = pl.concat_list("name", "synonyms", "definition")
    frame = ontology.texts.select(
        doc_id="term_id",
        text=texts,
        place=pl.int_ranges(texts.list.len()),
        last=texts.list.len() - 1,
    )
    kind = (
        pl.when(pl.col("place") == 0)
        .then(pl.lit("label"))
        .when(pl.col("place") == pl.col("last"))
        .then(pl.lit("definition"))
        .otherwise(pl.lit("synonym"))
    )
    rows = frame.explode("text", "place").filter(pl.col("text") != "")
    return rows.select("doc_id", "text", kind=kind).select(list(PARTS_SCHEMA))


def _sentence(text: pl.Expr) -> pl.Expr:
    """Return the texts that are not empty, with a full stop if they end without punctuation."""
    text = text.filter(text != "")
    ends = text.str.ends_with(".") | text.str.ends_with("!") | text.str.ends_with("?")
    return pl.when(ends).then(text).otherwise(text + ".")
