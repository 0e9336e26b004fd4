"""``gold.json``: the inputs of a report that are stored beside it, besides the predictions."""

from __future__ import annotations

from collections.abc import Iterable

from trectools_plus.extraction.inputs.assertion_fields import Assertion
from trectools_plus.extraction.inputs.documents import AnnotatedDocument, AnnotatedDocuments
from trectools_plus.extraction.inputs.predictions import Prediction, Predictions
from trectools_plus.models import ReportModel
from trectools_plus.ontology.ontology import Ontology

GOLD_FILE = "gold.json"


class StoredTerm(ReportModel):
    """A term of the ontology."""

    id: str
    name: str
    parents: list[str]


class StoredDocument(ReportModel):
    """The gold annotations of a document, and the texts of its predictions."""

    doc_id: str
    gold: dict[str, Assertion]
    """The assertion of each term."""
    texts: dict[str, str]
    """The text of the first mention of each predicted term that has one."""


class StoredInputs(ReportModel):
    """The contents of ``gold.json``."""

    dataset: str
    """The name of the dataset."""
    annotations: int
    """The number of annotations in the files."""
    documents: list[StoredDocument]
    terms: list[StoredTerm]
    """The gold and predicted terms, the root, and a deepest term, with all their ancestors."""


def collect_inputs(
    documents: AnnotatedDocuments,
    predictions: Predictions,
    ontology: Ontology,
    root: str | None,
) -> StoredInputs:
    """Return the inputs to store.

    Args:
        documents: The documents.
        predictions: Predictions by document id.
        ontology: The ontology.
        root: Only terms below it are scored.
    """
    named = {term_id for one in documents.documents for term_id in one.gold}
    named |= {one.term_id for found in predictions.values() for one in found}
    named |= {root} if root is not None else set()
    depths = ontology.hierarchy.depths
    deepest = {ontology.ids.live[int(depths.argmax())]} if len(ontology) else set()
    kept = {
        above
        for term_id in named | deepest
        if term_id in ontology
        for above in ontology.ancestors(term_id)
    }
    return StoredInputs(
        dataset=documents.name,
        annotations=documents.annotations,
        documents=[
            StoredDocument(
                doc_id=one.doc_id,
                gold=one.gold,
                texts=_texts_of(one, predictions.get(one.doc_id, ())),
            )
            for one in documents.documents
        ],
        terms=[
            StoredTerm(id=one, name=ontology.terms[one].name, parents=list(ontology.parents[one]))
            for one in sorted(kept)
        ],
    )


def _texts_of(document: AnnotatedDocument, predictions: Iterable[Prediction]) -> dict[str, str]:
    texts = {one.term_id: document.text[slice(*one.spans[0])] for one in predictions if one.spans}
    return {term_id: text for term_id, text in texts.items() if text}
