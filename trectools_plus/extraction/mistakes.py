"""What was missed, what is spurious, and which spurious terms were near a missed one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from trectools_plus.choices import View
from trectools_plus.extraction.counting import Item, assertions_of, items_of
from trectools_plus.extraction.documents import Document
from trectools_plus.extraction.mentions import Prediction
from trectools_plus.extraction.report import Mistake, Mistakes, NearMiss
from trectools_plus.ontology.ontology import Ontology

Relation = Literal["parent", "child", "sibling"]


def find_mistakes(
    documents: Sequence[Document],
    predictions: Mapping[str, Sequence[Prediction]],
    ontology: Ontology,
    view: View = "present",
) -> Mistakes:
    """List the mistakes of all documents, in the order of documents and terms.

    A spurious term is near when it is a parent, child or sibling of a missed term of the same
    document; it is then listed among the near ones too.
    """
    missed, spurious, near = list[Mistake](), list[Mistake](), list[NearMiss]()
    for document in documents:
        found = predictions.get(document.doc_id, ())
        scores = {prediction.term_id: prediction for prediction in found}
        gold = items_of(document.gold, view)
        predicted = items_of(assertions_of(found), view)
        lost, wrong = sorted(gold - predicted), sorted(predicted - gold)
        missed += [_mistake(document, item, ontology, None) for item in lost]
        spurious += [_mistake(document, item, ontology, scores[item[0]]) for item in wrong]
        near += [
            NearMiss(
                doc_id=document.doc_id,
                spurious_id=term_id,
                spurious_label=_label(ontology, term_id),
                relation=relation,
                missed_id=other,
                missed_label=_label(ontology, other),
            )
            for term_id, _ in wrong
            for other, _ in lost
            if (relation := relation_of(ontology, term_id, other)) is not None
        ]
    return Mistakes(view=view, missed=missed, spurious=spurious, near=near)


def relation_of(ontology: Ontology, term_id: str, other: str) -> Relation | None:
    """What a term is to another one; ``None`` for strangers and ids that are no live terms."""
    if term_id == other or term_id not in ontology or other not in ontology:
        return None
    above, above_other = set(ontology.parents[term_id]), set(ontology.parents[other])
    if term_id in above_other:
        return "parent"
    if other in above:
        return "child"
    return "sibling" if above & above_other else None


def _mistake(
    document: Document, item: Item, ontology: Ontology, prediction: Prediction | None
) -> Mistake:
    term_id = item[0]
    said = document.gold[term_id] if prediction is None else prediction.assertion
    start, end = prediction.spans[0] if prediction and prediction.spans else (0, 0)
    return Mistake(
        doc_id=document.doc_id,
        term_id=term_id,
        label=_label(ontology, term_id),
        assertion=said,
        score=None if prediction is None else prediction.score,
        text=document.text[start:end] or None,
    )


def _label(ontology: Ontology, term_id: str) -> str:
    return ontology.terms[term_id].name if term_id in ontology else ""
