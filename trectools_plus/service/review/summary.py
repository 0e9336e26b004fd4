"""Summarise a review: agreement of the annotators, chosen modes, and flags."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from trectools_plus.errors import IncomparableError, UsageError
from trectools_plus.service.review.judgments import (
    MERGE_RULE,
    NONE_CHOSEN,
    Annotator,
    QueryJudgments,
    grades_of,
    list_annotators,
    merge_grades,
    read_all_judgments,
)
from trectools_plus.service.review.positions import ModePositions, find_positions
from trectools_plus.service.review.store import Store, Study
from trectools_plus.statistics.agreement import Agreement, cohens_kappa
from trectools_plus.statistics.arrays import Resampling, check_level
from trectools_plus.statistics.intervals import wilson_intervals
from trectools_plus.testsets.agreement import GradeAgreement, grade_agreement

METHOD = "Wilson over queries"


@dataclass(frozen=True, slots=True)
class Share:
    """A proportion of queries with its Wilson score interval.

    Attributes:
        value: The proportion, 0 to 1.
        low: Lower end of the interval.
        high: Upper end.
        n: The number of queries.
        level: The confidence level of the interval, between 0 and 1.
    """

    value: float
    low: float
    high: float
    n: int
    level: float


def wilson_share(value: float, n: int, confidence: float = 0.95) -> Share:
    """Return a proportion with its Wilson score interval (Wilson 1927).

    ``value * n`` need not be a whole number: if several annotators answered for a query, it counts
    with the mean of their answers. Such means vary at most as much as single answers of 0 or 1, so
    the interval can be too wide, but not too narrow.

    Args:
        value: The proportion, 0 to 1.
        n: The number of queries, at least 1.
        confidence: The level, between 0 and 1.

    Raises:
        UsageError: If an argument is out of range.
    """
    check_level(confidence, "share")
    if n < 1 or not 0.0 <= value <= 1.0:
        raise UsageError(
            "expected a proportion from 0 to 1 and at least 1 query "
            f"but got the proportion {value} and {n} queries"
        )
    low, high = map(float, wilson_intervals(value * n, n, confidence))
    # Rounding errors must not exclude the proportion from its own interval.
    low, high = min(value, low), max(value, high)
    return Share(value, low, high, n, confidence)


def share_choices(
    choices: Sequence[Mapping[str, str]], modes: Sequence[str], confidence: float = 0.95
) -> dict[str, Share]:
    """Return the proportion of queries in which each mode is chosen.

    Each query counts once, with the proportion of its annotators who chose the mode: two
    annotators of one query do not count as two queries.

    Args:
        choices: The chosen mode by query, for each annotator; ``""`` if the annotator chose none.
        modes: All modes.
        confidence: The level of the intervals, between 0 and 1.

    Returns:
        The proportions by mode and, in the last place, by ``""``; the values add up to 1. Empty if
        there are no choices.
    """
    by_query: dict[str, list[str]] = {}
    for answers in choices:
        for query_id, mode in answers.items():
            by_query.setdefault(query_id, []).append(mode)
    if not by_query:
        return {}
    shares = {}
    for mode in (*modes, NONE_CHOSEN):
        proportions = (answers.count(mode) / len(answers) for answers in by_query.values())
        value = min(1.0, math.fsum(proportions) / len(by_query))
        shares[mode] = wilson_share(value, len(by_query), confidence)
    return shares


KAPPA_METHOD = "percentile bootstrap over the pairs of query and document that both have graded"


@dataclass(frozen=True, slots=True)
class AnnotatorSummary:
    """The judgments of one annotator.

    Attributes:
        name: The name.
        graded: Number of graded results, over all queries.
        flagged: Number of results that are flagged as irrelevant.
        chosen: Number of queries with a choice.
        complete: Number of queries with a choice and a grade for every result.
        shares: The proportions of chosen modes; see :func:`share_choices`.
    """

    name: str
    graded: int
    flagged: int
    chosen: int
    complete: int
    shares: dict[str, Share]


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """The agreement of two annotators.

    Attributes:
        first: The name of one annotator.
        second: The name of the other.
        grades: The agreement on results that both graded; ``None`` if there are none.
        choices: Cohen's kappa of the chosen modes; ``None`` if both have chosen for no query.
    """

    first: str
    second: str
    grades: GradeAgreement | None
    choices: Agreement | None


@dataclass(frozen=True, slots=True)
class ModeFlags:
    """The flags on a mode's results.

    Attributes:
        judged: Number of judgments of the mode's results, over all annotators.
        flagged: Number of these that flag the result as irrelevant.
    """

    judged: int
    flagged: int


@dataclass(frozen=True, slots=True)
class ReviewSummary:
    """The results of a review.

    Attributes:
        study: The reviewed results.
        queries: The number of queries.
        annotators: The annotators in the order of their first sessions.
        agreements: The agreement of each pair of annotators.
        shares: The proportions of chosen modes, over all annotators.
        flags: The flags by mode.
        positions: The positions of the results with grade 3, by mode; empty if there are none.
    """

    study: Study
    queries: int
    annotators: tuple[AnnotatorSummary, ...]
    agreements: tuple[PairAgreement, ...]
    shares: dict[str, Share]
    flags: dict[str, ModeFlags]
    positions: dict[str, ModePositions]

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values without the seed; undefined figures are null."""
        study = asdict(self.study)
        del study["seed"]
        return {
            **study,
            "queries": self.queries,
            "annotators": [
                {**asdict(annotator), "shares": _shares_as_json(annotator.shares)}
                for annotator in self.annotators
            ],
            "agreements": [_agreement_as_json(pair) for pair in self.agreements],
            "would_choose": _shares_as_json(self.shares),
            "flagged": {mode: asdict(flags) for mode, flags in self.flags.items()},
            "positions": {mode: asdict(found) for mode, found in self.positions.items()},
            "methods": {"would_choose": METHOD, "kappa": KAPPA_METHOD, "merge": MERGE_RULE},
        }


def summarise_review(
    store: Store,
    resampling: Resampling | None = None,
) -> ReviewSummary:
    """Summarise the judgments so far.

    Args:
        store: The review database.
        resampling: The level of all intervals, and the resamples of the intervals of kappa.

    Raises:
        UsageError: If an option is out of range.
    """
    shown = _read_shown(store)
    annotators = list_annotators(store)
    judged = {one: read_all_judgments(store, one) for one in annotators}
    choices = {one: _choices(found) for one, found in judged.items()}
    modes = store.study.modes
    resampling = resampling or Resampling()
    confidence = resampling.confidence
    return ReviewSummary(
        study=store.study,
        queries=len(shown),
        annotators=tuple(
            _summarise(one, found, shown, share_choices([choices[one]], modes, confidence))
            for one, found in judged.items()
        ),
        agreements=tuple(
            PairAgreement(
                one.name,
                other.name,
                _compare_grades(store, one, other, resampling),
                _compare_choices(choices[one], choices[other], modes, resampling),
            )
            for one, other in combinations(annotators, 2)
        ),
        shares=share_choices(list(choices.values()), modes, confidence),
        flags={mode: _count_flags(mode, judged.values(), shown) for mode in modes},
        positions=find_positions(
            store, merge_grades([grades_of(store, one) for one in annotators])
        ),
    )


def _read_shown(store: Store) -> dict[str, dict[str, set[str]]]:
    """Return the documents by query and mode."""
    shown: dict[str, dict[str, set[str]]] = {}
    for query_id, mode, doc_id in store.rows("SELECT query_id, mode, doc_id FROM shown"):
        shown.setdefault(query_id, {}).setdefault(mode, set()).add(doc_id)
    return shown


def _choices(judged: Mapping[str, QueryJudgments]) -> dict[str, str]:
    return {name: one.choice for name, one in judged.items() if one.choice is not None}


def _summarise(
    annotator: Annotator,
    judged: Mapping[str, QueryJudgments],
    shown: Mapping[str, Mapping[str, set[str]]],
    shares: dict[str, Share],
) -> AnnotatorSummary:
    complete = [
        one
        for query_id, one in judged.items()
        if one.choice is not None and set().union(*shown[query_id].values()) <= one.grades.keys()
    ]
    return AnnotatorSummary(
        name=annotator.name,
        graded=sum(len(one.grades) for one in judged.values()),
        flagged=sum(grade.flagged for one in judged.values() for grade in one.grades.values()),
        chosen=len(_choices(judged)),
        complete=len(complete),
        shares=shares,
    )


def _compare_grades(
    store: Store, one: Annotator, other: Annotator, resampling: Resampling
) -> GradeAgreement | None:
    try:
        return grade_agreement(
            grades_of(store, one),
            grades_of(store, other),
            weights="quadratic",
            resampling=resampling,
        )
    except IncomparableError:
        return None


def _compare_choices(
    one: Mapping[str, str],
    other: Mapping[str, str],
    modes: tuple[str, ...],
    resampling: Resampling,
) -> Agreement | None:
    both = sorted(one.keys() & other.keys())
    if not both:
        return None
    labels = [[answers[query_id] for query_id in both] for answers in (one, other)]
    return cohens_kappa(*labels, categories=[*modes, NONE_CHOSEN], **asdict(resampling))


def _count_flags(
    mode: str,
    all_judged: Any,
    shown: Mapping[str, Mapping[str, set[str]]],
) -> ModeFlags:
    grades = [
        grade
        for judged in all_judged
        for query_id, one in judged.items()
        for doc_id, grade in one.grades.items()
        if doc_id in shown[query_id].get(mode, ())
    ]
    return ModeFlags(len(grades), sum(grade.flagged for grade in grades))


def _shares_as_json(shares: Mapping[str, Share]) -> dict[str, Any]:
    return {mode or "none": asdict(share) for mode, share in shares.items()}


def _agreement_as_json(pair: PairAgreement) -> dict[str, Any]:
    grades = pair.grades
    return {
        "first": pair.first,
        "second": pair.second,
        "grades": None
        if grades is None
        else {
            "pairs": grades.pairs,
            "agreed": grades.agreed,
            "kappa": {name: _nan_as_null(kappa) for name, kappa in grades.kappas.items()},
        },
        "choices": None if pair.choices is None else _nan_as_null(pair.choices),
    }


def _nan_as_null(agreement: Agreement) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in asdict(agreement).items()
    }
