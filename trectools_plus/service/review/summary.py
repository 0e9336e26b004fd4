"""Summaries of a review and of a plan: progress and agreement of annotators, chosen modes, flags.

The positions of grades and chosen results in a mode follow from the exported qrels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

from trectools_plus.errors import IncomparableError, UsageError
from trectools_plus.judging.judgments import (
    MERGE_RULE,
    NONE_CHOSEN,
    Annotator,
    Judged,
    choices_of,
    grades_of,
    list_annotators,
    read_all_judgments,
    read_counted,
    read_shown,
)
from trectools_plus.judging.labels import (
    LABELS_FILE,
    Kind,
    Label,
    group_models,
    read_labels,
    read_people,
)
from trectools_plus.judging.plan import PlanFolder
from trectools_plus.judging.store import POOL, Store
from trectools_plus.judging.values import (
    AGREEMENT_METHOD,
    LabelAgreement,
    find_agreement,
    find_complete,
    nan_as_null,
)
from trectools_plus.statistics.agreement import Agreement, cohens_kappa
from trectools_plus.statistics.arrays import Resampling, check_level
from trectools_plus.statistics.intervals import wilson_intervals
from trectools_plus.testsets.agreement import grade_agreement

METHODS = {
    "would_choose": "Wilson over queries",
    "kappa": "percentile bootstrap over the pairs of query and document that both have graded",
    "merge": MERGE_RULE,
}


@dataclass(frozen=True, slots=True)
class Share:
    """A proportion of queries with its Wilson score interval (Wilson 1927).

    If several annotators answered for a query, it counts with the mean of their answers. Such means
    vary at most as much as single answers of 0 or 1, so the interval can be too wide, but not too
    narrow.

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
        The proportions by mode and, in the last place, by ``none``; the values add up to 1. Empty
        if there are no choices.
    """
    by_query: dict[str, list[str]] = {}
    for answers in choices:
        for query_id, mode in answers.items():
            by_query.setdefault(query_id, []).append(mode)
    n = len(by_query)
    shares = {}
    for mode in (*modes, NONE_CHOSEN) if n else ():
        proportions = (answers.count(mode) / len(answers) for answers in by_query.values())
        value = min(1.0, math.fsum(proportions) / n)
        low, high = map(float, wilson_intervals(value * n, n, confidence))
        # Rounding errors must not exclude the proportion from its own interval.
        shares[mode or "none"] = Share(value, min(value, low), max(value, high), n, confidence)
    return shares


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
class GradeKappas:
    """The agreement of two annotators on grades.

    Attributes:
        pairs: Number of results that both graded.
        agreed: Number of these with the same grade.
        kappa: Cohen's kappa by weighting: ``none``, ``linear``, ``quadratic``.
    """

    pairs: int
    agreed: int
    kappa: dict[str, Agreement]


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
    grades: GradeKappas | None
    choices: Agreement | None


@dataclass(frozen=True, slots=True)
class Remark:
    """The reason why an annotator cannot judge a query.

    Attributes:
        query_id: The query.
        annotator: The name.
        cannot_judge: The reason, empty if none was given.
    """

    query_id: str
    annotator: str
    cannot_judge: str


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
        dataset: The name of the dataset.
        modes: The compared modes.
        depth: The number of results of each mode.
        fingerprint: Hash of the shown results.
        queries: The number of queries.
        annotators: The annotators in the order of their first sessions.
        agreements: The agreement of each pair of annotators.
        would_choose: The proportions of chosen modes, over all annotators.
        flagged: The flags by mode.
        remarks: The queries that cannot be judged, by query and annotator.
        methods: How shares, kappa and merged grades are computed.
    """

    dataset: str
    modes: tuple[str, ...]
    depth: int
    fingerprint: str
    queries: int
    annotators: tuple[AnnotatorSummary, ...]
    agreements: tuple[PairAgreement, ...]
    would_choose: dict[str, Share]
    flagged: dict[str, ModeFlags]
    remarks: tuple[Remark, ...]
    methods: dict[str, str] = field(default_factory=lambda: METHODS)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values; undefined figures are null."""
        content: dict[str, Any] = nan_as_null(asdict(self))
        return content


Shown = Mapping[str, Mapping[str, set[str]]]
"""The shown documents by query and mode."""


def summarise_review(store: Store, resampling: Resampling | None = None) -> ReviewSummary:
    """Summarise the judgments so far.

    Args:
        store: The review database.
        resampling: The level of all intervals, and the resamples of the intervals of kappa.

    Raises:
        UsageError: If an option is out of range, or the judgments are those of a plan; see
            :func:`~trectools_plus.service.review.summary.summarise_plan`.
    """
    study = store.study
    if study.modes == (POOL,):
        raise UsageError(
            "the database has judgments of a plan",
            where="review.db",
            remedy="name the folder of the plan: review show PLAN",
        )
    resampling = resampling or Resampling()
    level = resampling.confidence
    check_level(level, "review")
    shown, annotators = read_shown(store), list_annotators(store)
    choices = [choices_of(read_counted(store, annotator)) for annotator in annotators]
    return ReviewSummary(
        dataset=study.dataset,
        modes=study.modes,
        depth=study.depth,
        fingerprint=study.fingerprint,
        queries=len(shown),
        annotators=tuple(_summarise(store, annotator, shown, level) for annotator in annotators),
        agreements=tuple(_compare(store, pair, resampling) for pair in combinations(annotators, 2)),
        would_choose=share_choices(choices, study.modes, level),
        flagged={mode: _count_flags(store, mode, annotators, shown) for mode in study.modes},
        remarks=tuple(_list_remarks(store, annotators)),
    )


def _summarise(store: Store, annotator: Annotator, shown: Shown, level: float) -> AnnotatorSummary:
    judged: Judged = read_counted(store, annotator)
    grades = [grade for answers in judged.values() for grade in answers.grades.values()]
    complete = [
        query_id
        for query_id, answers in judged.items()
        if answers.has_chosen and set().union(*shown[query_id].values()) <= answers.grades.keys()
    ]
    return AnnotatorSummary(
        name=annotator.name,
        graded=len(grades),
        flagged=sum(grade.flagged for grade in grades),
        chosen=sum(answers.has_chosen for answers in judged.values()),
        complete=len(complete),
        shares=share_choices([choices_of(judged)], store.study.modes, level),
        cannot_judge=len(read_all_judgments(store, annotator)) - len(judged),
    )


def _list_remarks(store: Store, annotators: Sequence[Annotator]) -> list[Remark]:
    remarks = [
        Remark(query_id, annotator.name, answers.cannot_judge)
        for annotator in annotators
        for query_id, answers in read_all_judgments(store, annotator).items()
        if answers.cannot_judge is not None
    ]
    return sorted(remarks, key=lambda remark: (remark.query_id, remark.annotator))


def _compare(
    store: Store, pair: tuple[Annotator, Annotator], resampling: Resampling
) -> PairAgreement:
    grades = choices = None
    try:
        agreement = grade_agreement(
            *(grades_of(store, annotator) for annotator in pair), resampling=resampling
        )
        grades = GradeKappas(agreement.pairs, agreement.agreed, agreement.kappas)
    except IncomparableError:
        pass  # no result was graded by both
    first, second = (choices_of(read_counted(store, annotator)) for annotator in pair)
    if both := sorted(first.keys() & second.keys()):
        labels = ([answers[query_id] for query_id in both] for answers in (first, second))
        categories = [*store.study.modes, NONE_CHOSEN]
        choices = cohens_kappa(*labels, categories=categories, **asdict(resampling))
    return PairAgreement(pair[0].name, pair[1].name, grades, choices)


def _count_flags(
    store: Store, mode: str, annotators: Sequence[Annotator], shown: Shown
) -> ModeFlags:
    grades = [
        grade
        for annotator in annotators
        for query_id, answers in read_counted(store, annotator).items()
        for doc_id, grade in answers.grades.items()
        if doc_id in shown[query_id].get(mode, ())
    ]
    return ModeFlags(len(grades), sum(grade.flagged for grade in grades))


@dataclass(frozen=True, slots=True)
class AnnotatorLabels:
    """The labels of a person or a model.

    Attributes:
        name: The name.
        kind: ``person`` or ``model``.
        complete: The number of queries whose pool is judged.
        left_out: The number of queries with too many documents without a grade.
        graded: The number of documents with a grade, over all queries.
        missing: The number of documents that could not be judged.
    """

    name: str
    kind: Kind
    complete: int
    left_out: int
    graded: int
    missing: int


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """The judgments of a plan so far.

    Attributes:
        queries: The number of queries of the plan.
        planned: The number of queries that people are to judge.
        complete: The number of queries that people have judged, together.
        left_out: The reason for each query with too many documents without a grade, of people.
        annotators: Those who have judged: people in the order of their first labels, then models.
        agreement: Their agreement.
    """

    queries: int
    planned: int
    complete: int
    left_out: dict[str, str]
    annotators: tuple[AnnotatorLabels, ...]
    agreement: tuple[LabelAgreement, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values; undefined figures are null."""
        content: dict[str, Any] = nan_as_null(asdict(self))
        agreement = {"pairs": content["agreement"], "method": AGREEMENT_METHOD}
        return {**content, "agreement": agreement}


def summarise_plan(folder: PlanFolder, resampling: Resampling | None = None) -> PlanSummary:
    """Summarise the judgments of a plan so far.

    Args:
        folder: The plan. People and a model may be judging at the same time.
        resampling: Settings of the intervals.

    Raises:
        InputError: If judgments cannot be read.
        UsageError: If an option is out of range.
    """
    people, models = read_people(folder.path), read_labels(folder.path / LABELS_FILE)
    complete = find_complete(folder, people)
    return PlanSummary(
        queries=len(folder.plan.queries),
        planned=folder.plan.people,
        complete=len(complete.grades),
        left_out=dict(complete.left_out),
        annotators=tuple(_list_annotators(folder, people, models)),
        agreement=find_agreement(folder, [*people, *models], resampling),
    )


def _list_annotators(
    folder: PlanFolder, people: Sequence[Label], models: Sequence[Label]
) -> Iterator[AnnotatorLabels]:
    by_person: dict[str, list[Label]] = {}
    for label in people:
        by_person.setdefault(label.annotator, []).append(label)
    for kind, by_name in (("person", by_person), ("model", group_models(models))):
        for name, labels in by_name.items():
            latest = {
                (label.query_id, label.doc_id): label for label in labels if label.repeat == 0
            }
            graded = sum(label.grade is not None for label in latest.values())
            complete = find_complete(folder, labels)
            yield AnnotatorLabels(
                name=name,
                kind="person" if kind == "person" else "model",
                complete=len(complete.grades),
                left_out=len(complete.left_out),
                graded=graded,
                missing=len(latest) - graded,
            )
