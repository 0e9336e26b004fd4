"""Two systems on the same documents: B minus A, with intervals and paired tests over documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trectools_plus.choices import Matching, View
from trectools_plus.errors import IncomparableError, UsageError
from trectools_plus.extraction.counting import MATCHINGS, VIEWS, FloatArray
from trectools_plus.extraction.report import ExtractionReport
from trectools_plus.extraction.scores import (
    AVERAGES,
    FIGURES,
    Resampling,
    averages_of,
    figures_of,
)
from trectools_plus.statistics.arrays import (
    ROUNDING,
    check_choice,
    check_level,
    check_resamples,
)
from trectools_plus.statistics.paired import PairedComparison, compare_columns
from trectools_plus.statistics.paired.randomisation import MOST_ENUMERATED
from trectools_plus.statistics.resamples import draw_counts, map_chunks


@dataclass(frozen=True, slots=True)
class Difference:
    """One figure of one average: B minus A.

    Attributes:
        average: micro, macro or weighted.
        figure: precision, recall or f1.
        first: A's value.
        second: B's value.
        difference: B minus A.
        low: Lower end of its bootstrap interval: both systems on the same resampled documents.
        high: Upper end.
        p_value: Of approximate randomisation: how often exchanging the systems' answers of single
            documents gives a difference as large; exact up to 16 documents on which they differ.
    """

    average: str
    figure: str
    first: float
    second: float
    difference: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True, slots=True)
class ExtractionComparison:
    """Two reports held against each other.

    Attributes:
        first: A.
        second: B.
        view: What counts.
        matching: exact or soft.
        resampling: How intervals and tests were made.
        differences: By average and figure.
        by_document: Every document's F1: id, A's, B's.
        f1_tests: All paired tests of the documents' F1.
    """

    first: ExtractionReport
    second: ExtractionReport
    view: View
    matching: Matching
    resampling: Resampling
    differences: tuple[Difference, ...]
    by_document: tuple[tuple[str, float, float], ...]
    f1_tests: PairedComparison


def compare_extractions(
    first: ExtractionReport,
    second: ExtractionReport,
    *,
    view: View = "present",
    matching: Matching = "exact",
    resampling: Resampling | None = None,
) -> ExtractionComparison:
    """Compare two systems over the same documents.

    Raises:
        IncomparableError: If documents or gold terms differ, or soft figures rest on other formulas
            or ontologies.
        UsageError: If there is no such view or matching, only one document, or the number of
            resamples or the level is out of range.
    """
    check_choice(view, VIEWS, "view")
    check_choice(matching, MATCHINGS, "matching")
    _check_comparable(first, second, matching)
    if len(first.documents) < 2:
        raise UsageError(
            "one document does not show whether systems differ",
            where=first.dataset.name,
            remedy="compare over at least two",
        )
    resampling = resampling or Resampling()
    check_resamples(resampling.resamples, "comparison")
    check_level(resampling.confidence, "comparison")
    a, b = (_table(report, view, matching) for report in (first, second))
    own_a, own_b = figures_of(a), figures_of(b)
    tests = compare_columns(
        own_b[:, 2] - own_a[:, 2],
        confidence=resampling.confidence,
        resamples=resampling.resamples,
        seed=resampling.seed,
    )[0]
    ids = [document.doc_id for document in first.documents]
    rows = zip(ids, own_a[:, 2].tolist(), own_b[:, 2].tolist(), strict=True)
    differences = _differences(a, b, resampling)
    return ExtractionComparison(
        first, second, view, matching, resampling, differences, tuple(rows), tests
    )


def _check_comparable(first: ExtractionReport, second: ExtractionReport, matching: str) -> None:
    if first.dataset.sha256 != second.dataset.sha256:
        raise IncomparableError(
            "the two reports rest on other documents or gold terms",
            where=f"{first.dataset.name} and {second.dataset.name}",
            remedy="run both systems on the same folder with the same ontology",
        )
    facts = [(r.manifest.similarity, r.manifest.ontology) for r in (first, second)]
    if matching == "soft" and facts[0] != facts[1]:
        raise IncomparableError(
            f"soft matching by {' of '.join(facts[0])} and by {' of '.join(facts[1])}",
            remedy="run both with one --similarity and --ontology, or compare exact figures",
        )


def _table(report: ExtractionReport, view: str, matching: str) -> FloatArray:
    rows = [document.counts[view][matching] for document in report.documents]
    cells = [(r.credit_predicted, r.predicted, r.credit_gold, r.gold) for r in rows]
    return np.array(cells, dtype=np.float64)


def _differences(a: FloatArray, b: FloatArray, resampling: Resampling) -> tuple[Difference, ...]:
    first, second = averages_of(a)[0], averages_of(b)[0]

    def drawn(size: int, generator: np.random.Generator) -> FloatArray:
        weights = draw_counts(len(a), size, generator)
        return averages_of(b, weights) - averages_of(a, weights)

    parts = map_chunks(drawn, len(a), resampling.resamples, resampling.seed)
    tail = (1.0 - resampling.confidence) / 2.0
    low, high = np.quantile(np.concatenate(parts), [tail, 1.0 - tail], axis=0)
    p_values = randomised_p_values(a, b, resampling)
    return tuple(
        Difference(
            average,
            figure,
            float(first[row, column]),
            float(second[row, column]),
            float(second[row, column] - first[row, column]),
            float(low[row, column]),
            float(high[row, column]),
            float(p_values[row, column]),
        )
        for row, average in enumerate(AVERAGES)
        for column, figure in enumerate(FIGURES)
    )


def randomised_p_values(a: FloatArray, b: FloatArray, resampling: Resampling) -> FloatArray:
    """Approximate randomisation of the averages, over documents (Noreen 1989; Yeh 2000).

    The null hypothesis: on every document the two systems' answers could as well be exchanged.
    With at most 16 documents whose counts differ, all exchanges are gone through and p is their
    share with a difference at least as large; else p = (1 + extreme) / (1 + resamples).

    Args:
        a: Counts of one system, shape (n_documents, 4).
        b: Counts of the other, same documents in the same order.
        resampling: ``resamples`` and ``seed`` are used.

    Returns:
        Two-sided p-values in (0, 1], shape (3, 3): averages, figures.
    """
    observed = np.abs(averages_of(b)[0] - averages_of(a)[0]) - ROUNDING
    moving = np.flatnonzero((a != b).any(axis=1))
    if len(moving) <= MOST_ENUMERATED:
        bits = np.arange(2 ** len(moving))[:, None] >> np.arange(len(moving)) & 1
        swaps = np.zeros((len(bits), len(a)))
        swaps[:, moving] = bits
        return np.asarray((np.abs(_exchanged(a, b, swaps)) >= observed).mean(axis=0))

    def extreme(size: int, generator: np.random.Generator) -> FloatArray:
        swaps = generator.integers(0, 2, size=(size, len(a))).astype(np.float64)
        return np.asarray((np.abs(_exchanged(a, b, swaps)) >= observed).sum(axis=0))

    counts = map_chunks(extreme, len(a), resampling.resamples, resampling.seed)
    return np.asarray((1.0 + np.sum(counts, axis=0)) / (1.0 + resampling.resamples))


def _exchanged(a: FloatArray, b: FloatArray, swaps: FloatArray) -> FloatArray:
    """Differences of the averages, shape (n, 3, 3), where documents marked 1 are exchanged."""
    both = np.concatenate([a, b])
    kept = 1.0 - swaps
    as_b = averages_of(both, np.concatenate([swaps, kept], axis=1))
    return as_b - averages_of(both, np.concatenate([kept, swaps], axis=1))
