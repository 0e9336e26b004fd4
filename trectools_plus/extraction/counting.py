"""Gold against predicted terms, document by document: how many of each, and how many agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import numpy.typing as npt

from trectools_plus.choices import Matching, View
from trectools_plus.extraction.documents import Document
from trectools_plus.extraction.mentions import Assertion, Prediction
from trectools_plus.ontology.formulas import formula_named
from trectools_plus.ontology.matching import best_matches
from trectools_plus.ontology.ontology import Ontology

FloatArray = npt.NDArray[np.float64]
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
