"""Summarise a review: agreement of the annotators, chosen results and modes, flags.

Agreement is computed from the judgments of each annotator, positions from the labels that are
exported.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from trectools_plus.errors import IncomparableError, UsageError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.judging.review.judgments import (
    MERGE_RULE,
    NONE_CHOSEN,
    Annotator,
    Judged,
    QueryJudgments,
    choices_of,
    chosen_by,
    final_grades,
    final_results,
    grades_of,
    list_annotators,
    read_all_judgments,
    read_counted,
    read_shown,
)
from trectools_plus.judging.review.shown import POOL
from trectools_plus.judging.review.store import Store, Study
from trectools_plus.measures.evaluation import Averaging, score_runs
from trectools_plus.measures.parser import parse_measures
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


CHOSEN_GRADE = 3
"""The grade of a result that the annotator would actually choose."""
_TOP = 3


@dataclass(frozen=True, slots=True)
class ModePositions:
    """The positions of chosen results in a mode's results.

    Attributes:
        average: Mean over the queries of the mean rank of the chosen results that the mode found;
            ``None`` if it found none. Ranks count from 1.
        minimum: Mean over the same queries of the rank of the first of them.
        found: Number of queries with a chosen result among the mode's results.
        in_top_3: Number of chosen results among the mode's first three, over all queries.
        chosen: Number of chosen results of all modes, over all queries.
    """

    average: float | None
    minimum: float | None
    found: int
    in_top_3: int
    chosen: int


def find_positions(
    store: Store, labels: Qrels, grade: int = CHOSEN_GRADE
) -> dict[str, ModePositions]:
    """Return the positions of the results with a grade, by mode; empty if there are none.

    Args:
        store: The review database.
        labels: One grade for each query and document.
        grade: The highest grade in ``labels``: that of the results whose positions are computed.
    """
    chosen = labels.frame.filter(relevance=grade).height
    if not chosen:
        return {}
    runs: dict[str, dict[str, dict[str, float]]] = {mode: {} for mode in store.study.modes}
    for query_id, mode, doc_id, rank in store.rows(
        "SELECT query_id, mode, doc_id, rank FROM shown"
    ):
        runs[mode].setdefault(query_id, {})[doc_id] = -float(rank)
    level = f"rel={grade}"
    names = f"MeanRank({level})", f"MinRank({level})", f"RelRet({level})@{_TOP}"
    tables = {mode: Run.from_dict(found, mode) for mode, found in runs.items() if found}
    scores = score_runs(labels, tables, parse_measures(names), Averaging())
    return {
        mode: ModePositions(
            average=_or_none(scores.mean(mode, names[0])),
            minimum=_or_none(scores.mean(mode, names[1])),
            found=scores.n(mode, names[1]),
            in_top_3=round(float(scores.values(mode, names[2]).sum())),
            chosen=chosen,
        )
        for mode in tables
    }


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


KAPPA_METHOD = "percentile bootstrap over the pairs of query and document that both have graded"


@dataclass(frozen=True, slots=True)
class AnnotatorSummary:
    """The judgments of one annotator.

    Attributes:
        name: The name.
        graded: Number of graded results, over all queries.
        flagged: Number of results that are flagged as irrelevant.
        chosen: Number of queries in which a result, a mode, or none of them was chosen.
        complete: Number of queries with a choice and a grade for every result.
        shares: The proportions of chosen modes; see :func:`share_choices`.
        cannot_judge: Number of queries that the annotator cannot judge; they count nowhere else.
    """

    name: str
    graded: int
    flagged: int
    chosen: int
    complete: int
    shares: dict[str, Share]
    cannot_judge: int


@dataclass(frozen=True, slots=True)
class ResultAgreement:
    """The agreement of two annotators on the chosen results.

    Attributes:
        queries: Number of queries in which both chose a result, or none of them.
        agreed: Number of these in which both chose the same.
        kappa: Cohen's kappa of the labels "chosen" and "not chosen" of all results shown for these
            queries.
    """

    queries: int
    agreed: int
    kappa: Agreement


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """The agreement of two annotators.

    Attributes:
        first: The name of one annotator.
        second: The name of the other.
        grades: The agreement on results that both graded; ``None`` if there are none.
        choices: Cohen's kappa of the chosen modes; ``None`` if both have chosen for no query.
        results: The agreement on the chosen results; ``None`` if both have chosen for no query.
    """

    first: str
    second: str
    grades: GradeAgreement | None
    choices: Agreement | None
    results: ResultAgreement | None


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment on a query, or the reason why it cannot be judged.

    Attributes:
        query_id: The query.
        annotator: The name.
        cannot_judge: The reason, empty if none was given; ``None`` if the query can be judged.
        comment: The comment, or ``None``.
    """

    query_id: str
    annotator: str
    cannot_judge: str | None
    comment: str | None


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
        chosen_results: The positions of the chosen results, by mode; empty if there are none.
        remarks: Comments, and queries that cannot be judged, by query and annotator.
    """

    study: Study
    queries: int
    annotators: tuple[AnnotatorSummary, ...]
    agreements: tuple[PairAgreement, ...]
    shares: dict[str, Share]
    flags: dict[str, ModeFlags]
    positions: dict[str, ModePositions]
    chosen_results: dict[str, ModePositions]
    remarks: tuple[Remark, ...]

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
            "chosen_results": {mode: asdict(found) for mode, found in self.chosen_results.items()},
            "remarks": [asdict(remark) for remark in self.remarks],
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
        UsageError: If an option is out of range, or the judgments are those of a plan; see
            :func:`~trectools_plus.service.review.plan_summary.summarise_plan`.
    """
    if store.study.modes == (POOL,):
        raise UsageError(
            "the database has judgments of a plan",
            where="review.db",
            remedy="name the folder of the plan: review show PLAN",
        )
    shown = read_shown(store)
    annotators = list_annotators(store)
    counted = {one: read_counted(store, one) for one in annotators}
    modes = store.study.modes
    resampling = resampling or Resampling()
    confidence = resampling.confidence
    return ReviewSummary(
        study=store.study,
        queries=len(shown),
        annotators=tuple(
            _summarise(
                one,
                (judged, len(read_all_judgments(store, one)) - len(judged)),
                shown,
                share_choices([choices_of(judged)], modes, confidence),
            )
            for one, judged in counted.items()
        ),
        agreements=tuple(
            PairAgreement(
                one.name,
                other.name,
                _compare_grades(store, one, other, resampling),
                _compare_choices(
                    choices_of(counted[one]), choices_of(counted[other]), modes, resampling
                ),
                _compare_results(counted[one], counted[other], shown, resampling),
            )
            for one, other in combinations(annotators, 2)
        ),
        shares=share_choices([*map(choices_of, counted.values())], modes, confidence),
        flags={mode: _count_flags(mode, counted.values(), shown) for mode in modes},
        positions=find_positions(store, final_grades(store, annotators)),
        chosen_results=find_positions(store, final_results(store, annotators), grade=1),
        remarks=tuple(list_remarks(store, annotators)),
    )


def _summarise(
    annotator: Annotator,
    judged: tuple[Mapping[str, QueryJudgments], int],
    shown: Mapping[str, Mapping[str, set[str]]],
    shares: dict[str, Share],
) -> AnnotatorSummary:
    counted, cannot_judge = judged
    complete = [
        one
        for query_id, one in counted.items()
        if one.has_chosen and set().union(*shown[query_id].values()) <= one.grades.keys()
    ]
    return AnnotatorSummary(
        name=annotator.name,
        graded=sum(len(one.grades) for one in counted.values()),
        flagged=sum(grade.flagged for one in counted.values() for grade in one.grades.values()),
        chosen=sum(one.has_chosen for one in counted.values()),
        complete=len(complete),
        shares=shares,
        cannot_judge=cannot_judge,
    )


def list_remarks(store: Store, annotators: Sequence[Annotator]) -> Iterator[Remark]:
    """Iterate over the comments, and the queries that cannot be judged, by query and annotator."""
    remarks = [
        Remark(query_id, annotator.name, one.cannot_judge, one.comment)
        for annotator in annotators
        for query_id, one in read_all_judgments(store, annotator).items()
        if one.cannot_judge is not None or one.comment is not None
    ]
    return iter(sorted(remarks, key=lambda remark: (remark.query_id, remark.annotator)))


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


def _compare_results(
    one: Judged,
    other: Judged,
    shown: Mapping[str, Mapping[str, set[str]]],
    resampling: Resampling,
) -> ResultAgreement | None:
    both = [
        (query_id, one[query_id].answer, other[query_id].answer)
        for query_id in sorted(one.keys() & other.keys())
        if one[query_id].answer is not None and other[query_id].answer is not None
    ]
    if not both:
        return None
    frames = [
        chosen_by({query_id: judged[query_id] for query_id, *_ in both}, shown).frame
        for judged in (one, other)
    ]
    kappa = cohens_kappa(
        *(frame["relevance"] for frame in frames),
        categories=[0, 1],
        clusters=frames[0]["query_id"].to_list(),
        **asdict(resampling),
    )
    return ResultAgreement(len(both), sum(first == second for _, first, second in both), kappa)


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
    content: dict[str, Any] = _nan_as_null(asdict(pair))
    if pair.grades is not None:
        content["grades"] = {
            "pairs": pair.grades.pairs,
            "agreed": pair.grades.agreed,
            "kappa": content["grades"]["kappas"],
        }
    return content


def _nan_as_null(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: _nan_as_null(value) for name, value in content.items()}
    return None if isinstance(content, float) and math.isnan(content) else content
