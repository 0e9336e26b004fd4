"""What came of a review: how far people agree, and which mode they would choose."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from trectools_plus.errors import IncomparableError, UsageError
from trectools_plus.service.review.judgments import (
    MERGE_RULE,
    NO_CHOICE,
    Annotator,
    Judged,
    grades_of,
    list_annotators,
    read_all_judged,
)
from trectools_plus.service.review.store import Store, Study
from trectools_plus.statistics.agreement import Agreement
from trectools_plus.statistics.arrays import check_level
from trectools_plus.statistics.resamples import Resampling
from trectools_plus.testsets.agreement import GradeAgreement, compare_grades

METHOD = "Wilson over queries"


@dataclass(frozen=True, slots=True)
class Share:
    """A share of queries with its Wilson score interval.

    Attributes:
        value: 0 to 1.
        low: Lower end.
        high: Upper end.
        n: How many queries.
        level: The interval's confidence level, between 0 and 1.
    """

    value: float
    low: float
    high: float
    n: int
    level: float


def wilson_share(value: float, n: int, confidence: float = 0.95) -> Share:
    """A share with its Wilson score interval (Wilson 1927).

    The share need not be a whole number of n-ths: where several people answered for one query, the
    query counts with the mean of their answers. Values between 0 and 1 vary at most as much as
    those that are 0 or 1, so the interval is then rather too wide than too narrow.

    Args:
        value: The share, 0 to 1.
        n: Of how many queries, at least 1.
        confidence: The level, between 0 and 1.

    Raises:
        UsageError: If something is out of range.
    """
    from scipy.stats import norm

    check_level(confidence, "share")
    if n < 1 or not 0.0 <= value <= 1.0:
        raise UsageError(f"expected a share of at least one query but got {value} of {n}")
    z = float(norm.ppf(0.5 + confidence / 2.0))
    centre = (value + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * math.sqrt(value * (1 - value) / n + (z / (2 * n)) ** 2)
    # The ends enclose the share; rounding may say otherwise where it is 0, 1 or next to that.
    low, high = max(0.0, min(value, centre - reach)), min(1.0, max(value, centre + reach))
    if value in (0.0, 1.0):
        low, high = (0.0, high) if value == 0.0 else (low, 1.0)
    return Share(value, low, high, n, confidence)


def share_choices(
    choices: Sequence[Mapping[str, str]], modes: Sequence[str], confidence: float = 0.95
) -> dict[str, Share]:
    """How often each mode would be chosen.

    Each query counts once: with the share of the people, among those who answered for it, who
    would choose the mode. So two people who judge the same query are not taken for two queries.

    Args:
        choices: Of each annotator, the chosen mode by query; ``""`` for none of them.
        modes: All modes.
        confidence: Level of the intervals, between 0 and 1.

    Returns:
        By mode and, last, ``""``; the values add up to 1. Empty if nobody has chosen.
    """
    by_query: dict[str, list[str]] = {}
    for answers in choices:
        for query_id, mode in answers.items():
            by_query.setdefault(query_id, []).append(mode)
    if not by_query:
        return {}
    shares = {}
    for mode in (*modes, NO_CHOICE):
        parts = (answers.count(mode) / len(answers) for answers in by_query.values())
        value = min(1.0, math.fsum(parts) / len(by_query))
        shares[mode] = wilson_share(value, len(by_query), confidence)
    return shares


KAPPA_METHOD = "percentile bootstrap over the pairs of query and document that both have graded"


@dataclass(frozen=True, slots=True)
class AnnotatorSummary:
    """What one annotator has done.

    Attributes:
        name: Who.
        graded: Results graded, over all queries.
        flagged: Of these, flagged as irrelevant.
        chosen: Queries with a choice.
        complete: Queries with a choice and a grade for every result.
        shares: How often each mode would be chosen; see
            :func:`~trectools_plus.service.review.summary.share_choices`.
    """

    name: str
    graded: int
    flagged: int
    chosen: int
    complete: int
    shares: dict[str, Share]


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """How far two annotators agree.

    Attributes:
        first: One.
        second: The other.
        grades: On results that both have graded; ``None`` where there is none.
        choices: Cohen's kappa of the modes they would choose; ``None`` where both answered for
            no query.
    """

    first: str
    second: str
    grades: GradeAgreement | None
    choices: Agreement | None


@dataclass(frozen=True, slots=True)
class ModeFlags:
    """How many of a mode's results are flagged.

    Attributes:
        judged: Judgments of results that the mode shows, over all annotators.
        flagged: Of these, flagged as irrelevant.
    """

    judged: int
    flagged: int


@dataclass(frozen=True, slots=True)
class ReviewSummary:
    """What came of a review.

    Attributes:
        study: What was reviewed.
        queries: How many queries there are.
        annotators: In the order in which they began.
        agreements: Of each two annotators.
        shares: How often each mode would be chosen, over all annotators.
        flags: Flagged results, by mode.
    """

    study: Study
    queries: int
    annotators: tuple[AnnotatorSummary, ...]
    agreements: tuple[PairAgreement, ...]
    shares: dict[str, Share]
    flags: dict[str, ModeFlags]

    def as_dict(self) -> dict[str, Any]:
        """As JSON: undefined figures are null, no choice is ``none``, the seed is left out."""
        study = asdict(self.study)
        del study["seed"]
        return {
            **study,
            "queries": self.queries,
            "annotators": [
                {**asdict(one), "shares": _shares(one.shares)} for one in self.annotators
            ],
            "agreements": [_agreement(one) for one in self.agreements],
            "would_choose": _shares(self.shares),
            "flagged": {mode: asdict(one) for mode, one in self.flags.items()},
            "methods": {"would_choose": METHOD, "kappa": KAPPA_METHOD, "merge": MERGE_RULE},
        }


def summarise_review(
    store: Store,
    resampling: Resampling | None = None,
) -> ReviewSummary:
    """Say what came of a review so far.

    Args:
        store: The judgments.
        resampling: The level of all intervals, and the resamples of the intervals of kappa.

    Raises:
        UsageError: If an option is out of range.
    """
    shown = _read_shown(store)
    annotators = list_annotators(store)
    judged = {one: read_all_judged(store, one) for one in annotators}
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
    )


def _read_shown(store: Store) -> dict[str, dict[str, set[str]]]:
    """Documents by query and mode."""
    shown: dict[str, dict[str, set[str]]] = {}
    for query_id, mode, doc_id in store.rows("SELECT query_id, mode, doc_id FROM shown"):
        shown.setdefault(query_id, {}).setdefault(mode, set()).add(doc_id)
    return shown


def _choices(judged: Mapping[str, Judged]) -> dict[str, str]:
    return {name: one.choice for name, one in judged.items() if one.choice is not None}


def _summarise(
    annotator: Annotator,
    judged: Mapping[str, Judged],
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
        return compare_grades(
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
    from trectools_plus.statistics.agreement import cohens_kappa

    both = sorted(one.keys() & other.keys())
    if not both:
        return None
    labels = [[answers[query_id] for query_id in both] for answers in (one, other)]
    return cohens_kappa(*labels, categories=[*modes, NO_CHOICE], **asdict(resampling))


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


def _shares(shares: Mapping[str, Share]) -> dict[str, Any]:
    return {mode or "none": asdict(share) for mode, share in shares.items()}


def _agreement(pair: PairAgreement) -> dict[str, Any]:
    grades = pair.grades
    return {
        "first": pair.first,
        "second": pair.second,
        "grades": None
        if grades is None
        else {
            "pairs": grades.pairs,
            "agreed": grades.agreed,
            "kappa": {name: _defined(one) for name, one in grades.kappas.items()},
        },
        "choices": None if pair.choices is None else _defined(pair.choices),
    }


def _defined(agreement: Agreement) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and value != value else value
        for name, value in asdict(agreement).items()
    }
