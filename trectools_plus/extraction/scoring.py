"""Precision, recall and F1 over documents, micro, macro and weighted, with bootstrap intervals.

With credit(x) in [0, 1] for every term (1 or 0 where matching is exact):

* precision = credit of the predicted terms / number of predicted terms
* recall = credit of the gold terms / number of gold terms
* F1 = 2 · precision · recall / (precision + recall), 0 where both are 0

``micro`` adds up the documents' credits and numbers first. ``macro`` is the mean of the documents'
own figures, ``weighted`` their mean weighted by the number of gold terms; so their F1 is a mean of
F1, not made of their precision and recall. Where nothing is predicted, or nothing is gold, a
quotient is undefined: every figure is then 1 if both sides are empty (there was nothing to find,
and nothing was claimed), else 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from trectools_plus.extraction.documents import Document
from trectools_plus.extraction.predictions import Assertion, Prediction
from trectools_plus.extraction.report import Mistake, Mistakes, NearMiss
from trectools_plus.ontology.formulas import formula_named
from trectools_plus.ontology.matching import best_matches
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.statistics.arrays import check_level, check_resamples
from trectools_plus.statistics.resamples import draw_counts, map_chunks

FloatArray = npt.NDArray[np.float64]
View = Literal["present", "any", "strict"]
Matching = Literal["exact", "soft"]
VIEWS: tuple[View, ...] = get_args(View)
MATCHINGS: tuple[Matching, ...] = get_args(Matching)
DEFAULT_FORMULA = "hybrid"

_PRESENT = ("affirmed", "uncertain")
Item = tuple[str, str]
"""A term and what must agree besides it: the assertion in the view ``strict``, else nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """What every document contributes; all arrays of shape ``(n_documents,)``.

    Attributes:
        credit_predicted: Sum over the predicted terms of their credit, each in [0, 1].
        predicted: How many terms were predicted.
        credit_gold: Sum over the gold terms of their credit, each in [0, 1].
        gold: How many gold terms there are.
    """

    credit_predicted: FloatArray
    predicted: FloatArray
    credit_gold: FloatArray
    gold: FloatArray

    def table(self) -> FloatArray:
        """The four as columns, shape ``(n_documents, 4)``."""
        return np.stack([self.credit_predicted, self.predicted, self.credit_gold, self.gold], 1)


def items_of(said: Mapping[str, Assertion], view: View) -> frozenset[Item]:
    """What counts in a view.

    ``present``: terms that are affirmed or uncertain. ``any``: all terms, whatever is said of them.
    ``strict``: pairs of a term and its assertion, which must agree.
    """
    if view == "strict":
        return frozenset(said.items())
    return frozenset(
        (term_id, "") for term_id, one in said.items() if view == "any" or one in _PRESENT
    )


def assertions_of(predictions: Sequence[Prediction]) -> dict[str, Assertion]:
    """Predictions as gold is kept: assertions by term."""
    return {prediction.term_id: prediction.assertion for prediction in predictions}


def count(
    documents: Sequence[Document],
    predictions: Mapping[str, Sequence[Prediction]],
    view: View,
    credit: Credit,
) -> Counts:
    """Count the items of every document.

    Args:
        documents: The documents with their gold terms.
        predictions: Predictions by document id; a document that is missing has none.
        view: What counts.
        credit: Gives the credit of items: :func:`exact_credit`, or one of :func:`soft_credit`.
    """
    gold = [items_of(document.gold, view) for document in documents]
    said = [assertions_of(predictions.get(document.doc_id, ())) for document in documents]
    predicted = [items_of(one, view) for one in said]
    return Counts(
        credit(predicted, gold),
        np.array([len(items) for items in predicted], dtype=np.float64),
        credit(gold, predicted),
        np.array([len(items) for items in gold], dtype=np.float64),
    )


Credit = Callable[[Sequence[frozenset[Item]], Sequence[frozenset[Item]]], FloatArray]
"""Takes items and what they are held against, document by document; gives sums of credit."""


def exact_credit(items: Sequence[frozenset[Item]], others: Sequence[frozenset[Item]]) -> FloatArray:
    """1 for every item that is among the others."""
    agreeing = [len(one & other) for one, other in zip(items, others, strict=True)]
    return np.array(agreeing, dtype=np.float64)


def soft_credit(ontology: Ontology, formula: str = DEFAULT_FORMULA) -> Credit:
    """Credit of every item: its highest similarity with any of the others, in [0, 1].

    1 for the same term; 0 where nothing is to be compared with. In the view ``strict`` only others
    of the same assertion are compared.

    Raises:
        UsageError: If there is no such formula.
    """
    similarity = formula_named(formula)

    def credit(items: Sequence[frozenset[Item]], others: Sequence[frozenset[Item]]) -> FloatArray:
        own, against, owner = list[list[str]](), list[list[str]](), list[int]()
        for place, (one, other) in enumerate(zip(items, others, strict=True)):
            for term_id, wanted in sorted(one):
                own.append([term_id])
                against.append(sorted(there for there, said in other if said == wanted))
                owner.append(place)
        if not own:
            return np.zeros(len(items))
        values = best_matches(ontology.ids, ontology.hierarchy, own, against, similarity)
        return np.bincount(owner, weights=values, minlength=len(items)).astype(np.float64)

    return credit


Average = Literal["micro", "macro", "weighted"]
AVERAGES: tuple[Average, ...] = get_args(Average)
FIGURES = ("precision", "recall", "f1")
"""The last axis of every array of figures here."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """How intervals are made.

    Attributes:
        resamples: How many resamples of the documents, at least 1.
        seed: Of the draws.
        confidence: The level, between 0 and 1.
    """

    resamples: int = 10_000
    seed: int = 42
    confidence: float = 0.95


def figures_of(table: FloatArray) -> FloatArray:
    """Precision, recall and F1 of rows of counts.

    Args:
        table: Shape (..., 4): credit of the predicted, predicted, credit of the gold, gold.

    Returns:
        Shape (..., 3), values in [0, 1].
    """
    credit_predicted, predicted, credit_gold, gold = np.moveaxis(table, -1, 0)
    empty = np.array((predicted == 0) & (gold == 0), dtype=np.float64)
    precision = np.divide(credit_predicted, predicted, out=empty.copy(), where=predicted > 0)
    recall = np.divide(credit_gold, gold, out=empty.copy(), where=gold > 0)
    total = precision + recall
    f1 = np.divide(2 * precision * recall, total, out=np.zeros(np.shape(total)), where=total > 0)
    return np.stack([precision, recall, f1], axis=-1)


def averages_of(table: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """The three averages over documents.

    Args:
        table: Counts, shape (n_documents, 4).
        weights: How often every document counts, shape (n_resamples, n_documents); once each when
            not given.

    Returns:
        Shape (n_resamples, 3, 3): averages in the order of ``AVERAGES``, then figures. One resample
        when no weights are given.
    """
    if weights is None:
        weights = np.ones((1, len(table)))
    own = figures_of(table)
    micro = figures_of(weights @ table)
    macro = weights @ own / weights.sum(axis=1, keepdims=True)
    gold = weights @ table[:, 3:]
    weighted = np.divide(weights @ (own * table[:, 3:]), gold, out=micro.copy(), where=gold > 0)
    return np.stack([micro, macro, weighted], axis=1)


def bootstrap_averages(table: FloatArray, resampling: Resampling) -> tuple[FloatArray, FloatArray]:
    """Percentile intervals of the averages, from resamples of the documents.

    Args:
        table: Counts, shape (n_documents, 4).
        resampling: How many, which seed and level.

    Returns:
        Lower and upper ends, both of shape (3, 3).

    Raises:
        UsageError: If the number of resamples or the level is out of range.
    """
    check_resamples(resampling.resamples, "bootstrap")
    check_level(resampling.confidence, "bootstrap")

    def drawn(size: int, generator: np.random.Generator) -> FloatArray:
        return averages_of(table, draw_counts(len(table), size, generator))

    parts = map_chunks(drawn, len(table), resampling.resamples, resampling.seed)
    tail = (1.0 - resampling.confidence) / 2.0
    low, high = np.quantile(np.concatenate(parts), [tail, 1.0 - tail], axis=0)
    return low, high


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
