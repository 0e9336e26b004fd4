"""Compare two systems on the same documents: B minus A, with intervals and a paired t-test."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from trectools_plus.choices import Matching, View
from trectools_plus.display import Displayed
from trectools_plus.errors import IncomparableError, UsageError
from trectools_plus.extraction.report import ExtractionReport
from trectools_plus.extraction.scoring import (
    AVERAGES,
    FIGURES,
    MATCHINGS,
    VIEWS,
    FloatArray,
    averages_of,
    figures_of,
    intervals_over_documents,
)
from trectools_plus.statistics.arrays import (
    Resampling,
    check_choice,
)
from trectools_plus.statistics.comparison import Comparison, ends_of
from trectools_plus.statistics.scores import Method, PairedScores, compare_scores


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
        view: ``present``, ``any`` or ``strict``.
        matching: ``exact`` or ``soft``.
        resampling: Settings of the intervals and tests.
        differences: The differences, by average and figure.
        by_document: The F1 of A and B of every document.
        f1: Their comparison, with tests that are not adjusted.
    """

    _entries: ClassVar = "differences"

    first: ExtractionReport
    second: ExtractionReport
    view: View
    matching: Matching
    resampling: Resampling
    differences: tuple[AverageDifference, ...]
    by_document: PairedScores
    f1: Comparison


def compare_extractions(
    first: ExtractionReport,
    second: ExtractionReport,
    *,
    view: View = "present",
    matching: Matching = "exact",
    resampling: Resampling | None = None,
) -> ExtractionComparison:
    """Compare two systems on the same documents.

    Args:
        first: The report of system A.
        second: The report of system B.
        view: ``present``, ``any`` or ``strict``.
        matching: ``exact`` or ``soft``.
        resampling: Settings of the intervals and tests.

    Returns:
        Differences of precision, recall and F1 with intervals, and F1 by document.

    Raises:
        IncomparableError: If documents or gold terms differ or, with soft matching, the similarity
            formulas or ontologies.
        UsageError: If the view or matching is unknown, there is only one document, or the number of
            resamples or the level is out of range.
    """
    check_choice(view, VIEWS, "view")
    check_choice(matching, MATCHINGS, "matching")
    _check_comparable(first, second, matching)
    if len(first.documents) < 2:
        raise UsageError(
            "a comparison needs at least two documents",
            where=first.dataset.name,
            remedy="use a dataset with more documents",
        )
    resampling = resampling or Resampling()
    a, b = (_table(report, view, matching) for report in (first, second))
    ids = [document.doc_id for document in first.documents]
    f1 = figures_of(a)[:, 2], figures_of(b)[:, 2]
    scores = PairedScores(first.system.name, second.system.name, "F1", ids, *f1)
    compared = compare_scores([scores], Method(asdict(resampling)))[0]  # type: ignore[arg-type]
    intervals = intervals_over_documents(
        lambda weights: averages_of(b, weights) - averages_of(a, weights), len(a), resampling
    )
    averages = averages_of(a)[0].tolist(), averages_of(b)[0].tolist()
    differences = tuple(
        AverageDifference(average, figure, one, other, other - one, *ends_of(ci))
        for average, *rows in zip(AVERAGES, *averages, intervals, strict=True)
        for figure, one, other, ci in zip(FIGURES, *rows, strict=True)
    )
    return ExtractionComparison(
        first, second, view, matching, resampling, differences, scores, compared
    )


def _check_comparable(first: ExtractionReport, second: ExtractionReport, matching: str) -> None:
    if first.dataset.sha256 != second.dataset.sha256:
        raise IncomparableError(
            "the reports have different documents or gold terms",
            where=f"{first.dataset.name} and {second.dataset.name}",
            remedy="run both systems on the same folder with the same ontology",
        )
    facts = [(r.manifest.similarity, r.manifest.ontology) for r in (first, second)]
    if matching == "soft" and facts[0] != facts[1]:
        raise IncomparableError(
            "the soft figures use different similarities or ontologies: "
            f"{' with '.join(facts[0])} and {' with '.join(facts[1])}",
            remedy="run both with the same version and --ontology, or compare exact figures",
        )


def _table(report: ExtractionReport, view: str, matching: str) -> FloatArray:
    rows = [document.counts[view][matching] for document in report.documents]
    cells = [(r.credit_predicted, r.predicted, r.credit_gold, r.gold) for r in rows]
    return np.array(cells, dtype=np.float64)
