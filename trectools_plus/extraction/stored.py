"""``gold.json``: the inputs of a report that are stored beside it, besides the predictions."""

from __future__ import annotations

from trectools_plus.extraction.inputs.assertion_fields import Assertion
from trectools_plus.extraction.inputs.documents import AnnotatedDocuments
from trectools_plus.extraction.inputs.predictions import Predictions
from trectools_plus.models import ReportModel
from trectools_plus.ontology.ontology import Ontology

GOLD_FILE = "gold.json"


class StoredTerm(ReportModel):
    """A term of the ontology."""

    id: str
    name: str
    parents: list[str]


class StoredDocument(ReportModel):
    """The gold annotations of a document."""

    doc_id: str
    gold: dict[str, Assertion]
    """The assertion of each term."""


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
    predicted = {one.term_id for own in predictions.values() for one in own}
    depths = ontology.hierarchy.depths
    deepest = {ontology.ids.live[int(depths.argmax())]} if len(ontology) else set()
    named = {*documents.terms, *predicted, *deepest, *filter(None, [root])}
    kept = frozenset[str]().union(*map(ontology.ancestors, named & ontology.terms.keys()))
    return StoredInputs(
        dataset=documents.name,
        annotations=documents.annotations,
        documents=[StoredDocument(doc_id=one.doc_id, gold=one.gold) for one in documents.documents],
        terms=[
            StoredTerm(id=one, name=ontology.terms[one].name, parents=list(ontology.parents[one]))
            for one in sorted(kept)
        ],
    )
