"""Terms of an ontology as documents with parts, and the terms that a text names exactly."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from operator import itemgetter

import polars as pl

from trectools_plus.formats.tables import CORPUS_SCHEMA, PARTS_SCHEMA, Corpus
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.retrieval.hpo.lay_terms import normalise_name, terms_of_phrase
from trectools_plus.retrieval.hpo.rewording import Rewording, is_hpo


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
    names: dict[str, list[str]] = {}
    for _, name, term_id in sorted(ranked, key=itemgetter(0)):
        names.setdefault(normalise_name(name), []).append(term_id)
    return names | {"": []}


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
    corpus = Corpus(
        pl.DataFrame(rows, CORPUS_SCHEMA, orient="row"),
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
