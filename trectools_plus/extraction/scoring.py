"""Precision, recall and F1 over documents, lists of mistakes, and the comparison of two systems.

Every term has a credit in [0, 1], which is 0 or 1 in exact matching:

* precision = credit of the predicted terms / number of predicted terms
* recall = credit of the gold terms / number of gold terms
* F1 = 2 · precision · recall / (precision + recall), or 0 if both are 0

``micro`` adds up credits and numbers of all documents first. ``macro`` is the mean of the figures
of the documents, and ``weighted`` their mean weighted by the number of gold terms. The F1 of both
is a mean of F1 values, not computed from the mean precision and recall. If there are no predicted
terms or no gold terms, a quotient is undefined. All figures are then 1 if there are neither
predicted nor gold terms, otherwise 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar, get_args

import numpy as np
import numpy.typing as npt

from trectools_plus.choices import View
from trectools_plus.display import Displayed
from trectools_plus.errors import IncomparableError, UsageError
from trectools_plus.extraction.inputs import (
    AnnotatedDocument,
    AnnotatedDocuments,
    Prediction,
    Predictions,
)
from trectools_plus.extraction.report import (
    DatasetFacts,
    DocumentCounts,
    DocumentResult,
    ExtractionManifest,
    ExtractionReport,
    Mistake,
    Mistakes,
    Score,
    SystemFacts,
)
from trectools_plus.extraction.words import Assertion, eligible_terms
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.ontology.similarity import best_matches, formula_named
from trectools_plus.statistics.arrays import (
    EQUAL,
    Resampling,
    check_level,
    check_resamples,
    draw_counts,
    map_chunks,
)
from trectools_plus.statistics.comparison import Comparison, ConfidenceInterval, ends_of
from trectools_plus.statistics.intervals import BEST_BOOTSTRAP, RESAMPLED, resampled_ends
from trectools_plus.statistics.scores import Method, PairedScores, compare_scores, report_interval
from trectools_plus.text import listed

FloatArray = npt.NDArray[np.float64]
VIEWS: tuple[View, ...] = get_args(View)
FORMULA = "hybrid"
"""The similarity formula of the soft matching."""

_PRESENT = ("affirmed", "uncertain")
Item = tuple[str, str]
"""A term, and its assertion in the view ``strict`` (otherwise an empty string)."""


Items = Sequence[frozenset[Item]]
"""The items of each document."""
Credit = Callable[[Items, Items], FloatArray]
"""Takes the items of each document, and the items to compare them with; returns the sum of credits
for each document."""


def items_of(assertions: Mapping[str, Assertion], view: View) -> frozenset[Item]:
    """Return the items that a view compares.

    ``present``: terms that are affirmed or uncertain. ``any``: all terms, with any assertion.
    ``strict``: pairs of a term and its assertion, which must agree.
    """
    if view == "strict":
        return frozenset(assertions.items())
    return frozenset(
        (term_id, "")
        for term_id, assertion in assertions.items()
        if view == "any" or assertion in _PRESENT
    )


def _predicted_items(predictions: Iterable[Prediction], view: View) -> frozenset[Item]:
    return items_of({prediction.term_id: prediction.assertion for prediction in predictions}, view)


def count(
    documents: Sequence[AnnotatedDocument],
    predictions: Predictions,
    view: View,
    credit: Credit,
) -> FloatArray:
    """Count the items of every document.

    Args:
        documents: The documents with their gold terms.
        predictions: Predictions by document id; a missing document has none.
        view: The items to compare, see :func:`items_of`.
        credit: :func:`exact_credit`, or a function from :func:`soft_credit`.

    Returns:
        Shape ``(n_documents, 4)``: the credit of the predicted items, their number, the credit of
        the gold items, and their number.
    """
    gold = [items_of(document.gold, view) for document in documents]
    predicted = [
        _predicted_items(predictions.get(document.doc_id, ()), view) for document in documents
    ]
    numbers = [np.array(list(map(len, side)), dtype=np.float64) for side in (predicted, gold)]
    return np.stack(
        [credit(predicted, gold), numbers[0], credit(gold, predicted), numbers[1]], axis=1
    )


def exact_credit(items: Items, others: Items) -> FloatArray:
    """Return, for each document, the number of items that are among the others."""
    agreeing = [len(own & other) for own, other in zip(items, others, strict=True)]
    return np.array(agreeing, dtype=np.float64)


def soft_credit(ontology: Ontology) -> Credit:
    """Return a function whose credit for an item is its highest similarity with the others.

    The credit is in [0, 1]: 1 for the same term, and 0 if there are no others. In the view
    ``strict``, an item is compared only with others of the same assertion.
    """
    similarity = formula_named(FORMULA)

    def credit(items: Items, others: Items) -> FloatArray:
        rows = [(index, item) for index, mine in enumerate(items) for item in sorted(mine)]
        if not rows:
            return np.zeros(len(items))
        candidates = [
            sorted(term_id for term_id, said in others[index] if said == own)
            for index, (_, own) in rows
        ]
        terms = [[term_id] for _, (term_id, _) in rows]
        values = best_matches(ontology.ids, ontology.hierarchy, terms, candidates, similarity)
        documents = [index for index, _ in rows]
        return np.bincount(documents, weights=values, minlength=len(items)).astype(np.float64)

    return credit


AVERAGES = ("micro", "macro", "weighted")
FIGURES = ("precision", "recall", "f1")
"""The last axis of every array of figures."""


def figures_of(table: FloatArray) -> FloatArray:
    """Return precision, recall and F1 of rows of counts.

    Args:
        table: Counts as from :func:`count`, shape (..., 4).

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
    """Return the three averages over documents.

    Args:
        table: Counts, shape (n_documents, 4).
        weights: The weight of every document, shape (n_resamples, n_documents); ``None`` means one
            resample with equal weights.

    Returns:
        Shape (n_resamples, 3, 3): resample, average (``AVERAGES``), figure (``FIGURES``).
    """
    if weights is None:
        weights = np.ones((1, len(table)))
    per_document = figures_of(table)
    micro = figures_of(weights @ table)
    macro = weights @ per_document / weights.sum(axis=1, keepdims=True)
    gold = weights @ table[:, 3:]
    weighted = np.divide(
        weights @ (per_document * table[:, 3:]), gold, out=micro.copy(), where=gold > 0
    )
    return np.stack([micro, macro, weighted], axis=1)


_BLOCK = 500
"""Documents that are left out at once, which bounds the memory."""


def intervals_over_documents(
    statistic: Callable[[FloatArray], FloatArray],
    n_documents: int,
    resampling: Resampling,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> list[list[ConfidenceInterval | None]]:
    """Return the intervals of a table of statistics over documents.

    Args:
        statistic: Takes weights of shape (n, n_documents), and returns values of shape (n, rows,
            columns).
        n_documents: The number of documents, at least 2.
        resampling: The number of resamples, the seed, the level and the method.
        bounds: The lowest and the highest possible value.

    Returns:
        By row and column; ``None`` where every document can be left out without a change, which
        allows no interval.

    Raises:
        UsageError: If the number of resamples or the level is out of range.
    """
    check_resamples(resampling.resamples, "interval")
    check_level(resampling.confidence, "interval")
    # The averages are neither shares nor means of values, so no other method applies.
    method = resampling.interval if resampling.interval in RESAMPLED else BEST_BOOTSTRAP
    estimate = statistic(np.ones((1, n_documents)))[0]
    left_out = np.concatenate(
        [
            statistic(1.0 - np.eye(min(_BLOCK, n_documents - start), n_documents, start))
            for start in range(0, n_documents, _BLOCK)
        ]
    )
    deviations = (left_out.mean(axis=0) - left_out).reshape(n_documents, -1)

    def draw(size: int, generator: np.random.Generator) -> FloatArray:
        return statistic(draw_counts(n_documents, size, generator)).reshape(size, -1)

    drawn = np.concatenate(map_chunks(draw, n_documents, resampling.resamples, resampling.seed))
    low, high = resampled_ends(drawn, estimate.ravel(), deviations, method, resampling.confidence)
    constant = np.abs(deviations).max(axis=0) <= EQUAL
    low, high = (np.clip(ends, *bounds) for ends in (low, high))
    intervals = [
        None if is_constant else report_interval((lower, upper), resampling, method)
        for is_constant, lower, upper in zip(constant, low.tolist(), high.tolist(), strict=True)
    ]
    columns = estimate.shape[1]
    return [intervals[start : start + columns] for start in range(0, len(intervals), columns)]


def find_mistakes(
    documents: Sequence[AnnotatedDocument],
    predictions: Predictions,
    ontology: Ontology,
) -> Mistakes:
    """Return the mistakes in the view ``present``, in the order of documents and terms."""
    missed, spurious = list[Mistake](), list[Mistake]()
    for document in documents:
        by_term = {
            prediction.term_id: prediction for prediction in predictions.get(document.doc_id, ())
        }
        gold = items_of(document.gold, "present")
        predicted = _predicted_items(by_term.values(), "present")
        for term_id, _ in sorted(gold ^ predicted):
            is_missed = (term_id, "") in gold
            own = None if is_missed else by_term[term_id]
            mistake = Mistake(
                doc_id=document.doc_id,
                term_id=term_id,
                label=ontology.terms[term_id].name if term_id in ontology else "",
                assertion=own.assertion if own else document.gold[term_id],
                score=own and own.score,
                text=(own and own.text) or None,
            )
            (missed if is_missed else spurious).append(mistake)
    return Mistakes(view="present", missed=missed, spurious=spurious)


_MIN_DOCUMENTS = 2
"""The minimum number of documents for intervals."""


def score_predictions(
    documents: AnnotatedDocuments,
    predictions: Predictions,
    ontology: Ontology,
    system: SystemFacts,
    manifest: ExtractionManifest,
) -> ExtractionReport:
    """Score predictions in every view, matching and average.

    If the manifest has a root, only gold and predicted terms below it are scored, and predicted ids
    that are no terms.

    Args:
        documents: The documents with their gold terms.
        predictions: Predictions by document id.
        ontology: The ontology, for soft matching and labels.
        system: The description of the system that made the predictions.
        manifest: The manifest; its ``root`` is the term below which terms are scored, and its
            ``resampling`` the settings of the intervals. There are no intervals if this is
            ``None``, or for a single document.
    """
    scored, eligible = documents, predictions
    if manifest.root is not None:
        terms, gold = eligible_terms(ontology, manifest.root), documents.terms
        scored = documents.below(terms)
        eligible = {
            doc_id: [
                prediction
                for prediction in own
                if prediction.term_id in terms
                or (prediction.term_id not in ontology and prediction.term_id not in gold)
            ]
            for doc_id, own in predictions.items()
        }
    credit_of: dict[str, Credit] = {"exact": exact_credit, "soft": soft_credit(ontology)}
    tables = {
        view: {
            name: count(scored.documents, eligible, view, credit)
            for name, credit in credit_of.items()
        }
        for view in VIEWS
    }
    notes = list[str]()
    if empty := [doc_id for doc_id, own in predictions.items() if not own]:
        where = f"{len(empty)} of {len(predictions)} ({listed(empty)})"
        notes.append(f"documents without a prediction: {where}")
    if manifest.resampling is not None and len(documents.documents) < _MIN_DOCUMENTS:
        notes.append("no intervals: they need at least two documents")
    return ExtractionReport(
        manifest=manifest,
        dataset=DatasetFacts(
            name=documents.name,
            path=documents.path,
            documents=len(documents.documents),
            annotations=documents.annotations,
            terms=scored.size,
            outside=documents.size - scored.size,
            unmapped=len(documents.terms - {*ontology.ids.live}),
            sha256=scored.sha256,
        ),
        system=system,
        scores={
            view: {name: scores_of(table, manifest.resampling) for name, table in by_name.items()}
            for view, by_name in tables.items()
        },
        documents=[
            DocumentResult(
                doc_id=document.doc_id,
                counts={
                    view: {name: _row(table[index]) for name, table in by_name.items()}
                    for view, by_name in tables.items()
                },
            )
            for index, document in enumerate(scored.documents)
        ],
        mistakes=find_mistakes(scored.documents, eligible, ontology),
        notes=notes,
        reported=list(documents.notes),
    )


def scores_of(table: FloatArray, resampling: Resampling | None) -> dict[str, Score]:
    """Return the figures of a table of counts by average, with intervals if they have settings."""
    intervals: list[list[ConfidenceInterval | None]] = [[None] * len(FIGURES)] * len(AVERAGES)
    if resampling is not None and len(table) >= _MIN_DOCUMENTS:
        intervals = intervals_over_documents(
            lambda weights: averages_of(table, weights), len(table), resampling, (0.0, 1.0)
        )
    rows = zip(AVERAGES, averages_of(table)[0].tolist(), intervals, strict=True)
    return {
        average: Score.model_validate(
            {
                name: {"value": value, "ci": ci}
                for name, value, ci in zip(FIGURES, values, cis, strict=True)
            }
        )
        for average, values, cis in rows
    }


def _row(counts: FloatArray) -> DocumentCounts:
    values = [*counts.tolist(), *figures_of(counts).tolist()]
    return DocumentCounts.model_validate(
        dict(zip(DocumentCounts.model_fields, values, strict=True))
    )


@dataclass(frozen=True, slots=True)
class AverageDifference:
    """The difference of one figure and average: B minus A.

    Attributes:
        average: micro, macro or weighted.
        figure: precision, recall or f1.
        first: The value of A.
        second: The value of B.
        difference: B minus A.
        low: Lower end of the interval of the difference; a resample has the same documents for both
            systems. ``None`` if all documents have the same counts for both.
        high: Upper end of the interval.
    """

    average: str
    figure: str
    first: float
    second: float
    difference: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, repr=False)
class ExtractionComparison(Displayed):
    """The comparison of two reports.

    Attributes:
        first: A.
        second: B.
        resampling: Settings of the intervals and tests.
        differences: The differences, by average and figure.
        by_document: The F1 of A and B of every document.
        f1: Their comparison, with tests that are not adjusted.
    """

    _entries: ClassVar = "differences"

    first: ExtractionReport
    second: ExtractionReport
    resampling: Resampling
    differences: tuple[AverageDifference, ...]
    by_document: PairedScores
    f1: Comparison


def compare_extractions(
    first: ExtractionReport,
    second: ExtractionReport,
    *,
    resampling: Resampling | None = None,
) -> ExtractionComparison:
    """Compare two systems on the same documents, by terms that are present, with exact matching.

    Args:
        first: The report of system A.
        second: The report of system B.
        resampling: Settings of the intervals and tests.

    Returns:
        Differences of precision, recall and F1 with intervals, and F1 by document.

    Raises:
        IncomparableError: If documents or gold terms differ.
        UsageError: If there is only one document, or the number of resamples or the level is out of
            range.
    """
    if first.dataset.sha256 != second.dataset.sha256:
        raise IncomparableError(
            "the reports have different documents or gold terms",
            where=f"{first.dataset.name} and {second.dataset.name}",
            remedy="run both systems on the same folder with the same ontology",
        )
    if len(first.documents) < 2:
        raise UsageError(
            "a comparison needs at least two documents",
            where=first.dataset.name,
            remedy="use a dataset with more documents",
        )
    resampling = resampling or Resampling()
    a, b = map(_table, (first, second))
    ids = [document.doc_id for document in first.documents]
    f1 = figures_of(a)[:, 2], figures_of(b)[:, 2]
    scores = PairedScores(first.system.name, second.system.name, "F1", ids, *f1)
    compared = compare_scores([scores], Method(asdict(resampling)))[0]  # type: ignore[arg-type]
    intervals = intervals_over_documents(
        lambda weights: averages_of(b, weights) - averages_of(a, weights), len(a), resampling
    )
    averages = averages_of(a)[0].tolist(), averages_of(b)[0].tolist()
    differences = tuple(
        AverageDifference(average, figure, value, other, other - value, *ends_of(ci))
        for average, *rows in zip(AVERAGES, *averages, intervals, strict=True)
        for figure, value, other, ci in zip(FIGURES, *rows, strict=True)
    )
    return ExtractionComparison(first, second, resampling, differences, scores, compared)


def _table(report: ExtractionReport) -> FloatArray:
    rows = [document.counts["present"]["exact"] for document in report.documents]
    cells = [(r.credit_predicted, r.predicted, r.credit_gold, r.gold) for r in rows]
    return np.array(cells, dtype=np.float64)
