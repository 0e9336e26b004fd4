"""Agreement of people with each other and with models, and of models with themselves.

Documents of one query are not independent, so all intervals resample queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np

from trectools_plus.judging.labels import MAX_GRADE, Label, group_models
from trectools_plus.judging.plan import PlanFolder
from trectools_plus.judging.values import merge_labels
from trectools_plus.statistics.agreement import (
    WEIGHTS,
    Agreement,
    cohens_kappa,
    krippendorffs_alpha,
)
from trectools_plus.statistics.arrays import Resampling

AGREEMENT_METHOD = "percentile bootstrap over queries"
PEOPLE = "people"
"""The name of the merged grades of people."""
_GRADES = range(MAX_GRADE + 1)

Pair = tuple[str, str]
"""A query and a document."""


@dataclass(frozen=True, slots=True)
class RunAgreement:
    """The agreement on the pooled documents of a run.

    Attributes:
        pairs: The number of documents that both graded.
        agreed: The number of these with the same grade.
        kappa: Cohen's kappa, unweighted.
        difference: The mean grade of the second minus that of the first. If it differs from run to
            run, the second favours some runs.
    """

    pairs: int
    agreed: int
    kappa: Agreement
    difference: float


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    """The agreement of two annotators.

    Attributes:
        first: A person, or :data:`PEOPLE` for their merged grades, or a model.
        second: Another person or a model; the same model if it was asked twice.
        kind: Two people; people and a model; or two answers of a model to the same questions.
        pairs: The number of documents that both graded, over all queries.
        queries: The number of queries of these.
        agreed: The number of these documents with the same grade.
        kappas: Cohen's kappa by weighting: ``none``, ``linear``, ``quadratic``.
        alpha: Krippendorff's alpha for ordinal grades.
        difference: The mean grade of the second minus that of the first.
        confusion: The numbers of documents by the grade of the first (rows) and of the second.
        runs: The agreement on each run's documents; without runs that have none.
    """

    first: str
    second: str
    kind: Literal["people", "model", "repeat"]
    pairs: int
    queries: int
    agreed: int
    kappas: dict[str, Agreement]
    alpha: Agreement
    difference: float
    confusion: tuple[tuple[int, ...], ...]
    runs: dict[str, RunAgreement]


@dataclass(frozen=True, slots=True)
class PlanAgreement:
    """The agreement of all who judged a plan.

    Attributes:
        pairs: Two people each, people and each model, and models that were asked twice; without
            those that have graded no document in common.
        alpha: Krippendorff's alpha of all people, for ordinal grades; ``None`` if no document has
            grades of two.
    """

    pairs: tuple[LabelAgreement, ...]
    alpha: Agreement | None

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values; undefined figures are null."""
        content: dict[str, Any] = nan_as_null(asdict(self))
        return {**content, "method": AGREEMENT_METHOD}


def find_agreement(
    folder: PlanFolder, labels: Sequence[Label], resampling: Resampling | None = None
) -> PlanAgreement:
    """Compare the grades of pooled documents.

    Documents without a grade of both do not count. Models are compared with the merged grades.

    Args:
        folder: The plan.
        labels: The labels of people and models.
        resampling: Settings of the intervals.

    Raises:
        UsageError: If an option is out of range.
    """
    resampling = resampling or Resampling()
    pooled = _pooled_pairs(folder)
    by_run = {
        run: frozenset(pair for pair, runs in pooled.items() if run in runs)
        for run in (one.name for one in folder.plan.runs)
    }

    def grades(chosen: Sequence[Label]) -> dict[Pair, int]:
        return {
            (query_id, doc_id): grade
            for query_id, found in merge_labels(chosen).items()
            for doc_id, grade in found.items()
            if grade is not None and (query_id, doc_id) in pooled
        }

    people = _people(labels)
    pairs = [
        _compare(first, second, kind, by_run, resampling)
        for first, second, kind in _comparisons(labels, people, grades)
        if first[1].keys() & second[1].keys()
    ]
    return PlanAgreement(tuple(pairs), _alpha([grades(one) for one in people.values()], resampling))


Named = tuple[str, dict[Pair, int]]
"""The name of an annotator, and the grades."""
Comparison = tuple[Named, Named, Literal["people", "model", "repeat"]]


def _comparisons(
    labels: Sequence[Label],
    people: Mapping[str, list[Label]],
    grades: Callable[[Sequence[Label]], dict[Pair, int]],
) -> Iterator[Comparison]:
    for (first, ours), (second, theirs) in combinations(people.items(), 2):
        yield (first, grades(ours)), (second, grades(theirs)), "people"
    merged = grades([one for one in labels if one.kind == "person"])
    models = group_models(labels)
    for name, answers in models.items():
        yield (PEOPLE, merged), (name, grades(answers)), "model"
    for name, answers in models.items():
        again = [one.model_copy(update={"repeat": 0}) for one in answers if one.repeat > 0]
        yield (name, grades(answers)), (name, grades(again)), "repeat"


def _people(labels: Sequence[Label]) -> dict[str, list[Label]]:
    """Return the labels of each person."""
    found: dict[str, list[Label]] = {}
    for label in labels:
        if label.kind == "person":
            found.setdefault(label.annotator, []).append(label)
    return found


def _pooled_pairs(folder: PlanFolder) -> dict[Pair, frozenset[str]]:
    """Return the runs of each pooled document."""
    return {
        (one.query_id, one.doc_id): frozenset(one.ranks)
        for pool in folder.pool.values()
        for one in pool
    }


def _compare(
    one: Named,
    other: Named,
    kind: Literal["people", "model", "repeat"],
    by_run: Mapping[str, frozenset[Pair]],
    resampling: Resampling,
) -> LabelAgreement:
    both = sorted(one[1].keys() & other[1].keys())
    first, second = ([grades[pair] for pair in both] for grades in (one[1], other[1]))
    queries = [query_id for query_id, _ in both]
    options = _options(resampling)
    confusion = np.zeros((len(_GRADES), len(_GRADES)), dtype=np.int64)
    np.add.at(confusion, (first, second), 1)
    runs: dict[str, RunAgreement] = {}
    for run, pooled in by_run.items():
        places = [place for place, pair in enumerate(both) if pair in pooled]
        if not places:
            continue
        ours, theirs = ([grades[place] for place in places] for grades in (first, second))
        clusters = [queries[place] for place in places]
        kappa = cohens_kappa(ours, theirs, categories=_GRADES, clusters=clusters, **options)
        runs[run] = RunAgreement(
            len(places), _count_equal(ours, theirs), kappa, _mean_difference(ours, theirs)
        )
    return LabelAgreement(
        first=one[0],
        second=other[0],
        kind=kind,
        pairs=len(both),
        queries=len(set(queries)),
        agreed=_count_equal(first, second),
        kappas={
            weights: cohens_kappa(
                first, second, weights=weights, categories=_GRADES, clusters=queries, **options
            )
            for weights in WEIGHTS
        },
        alpha=krippendorffs_alpha(
            np.column_stack([first, second]), metric="ordinal", clusters=queries, **options
        ),
        difference=_mean_difference(first, second),
        confusion=tuple(tuple(row) for row in confusion.tolist()),
        runs=runs,
    )


def _alpha(people: Sequence[Mapping[Pair, int]], resampling: Resampling) -> Agreement | None:
    """Return Krippendorff's alpha of all people."""
    pairs = sorted(set().union(*people))
    ratings = [[grades.get(pair) for grades in people] for pair in pairs]
    if not any(sum(grade is not None for grade in row) > 1 for row in ratings):
        return None
    return krippendorffs_alpha(
        np.array(ratings, dtype=object),
        metric="ordinal",
        clusters=[query_id for query_id, _ in pairs],
        **_options(resampling),
    )


def _options(resampling: Resampling) -> dict[str, Any]:
    content = asdict(resampling)
    del content["interval"]
    return content


def _count_equal(first: Sequence[int], second: Sequence[int]) -> int:
    return sum(one == other for one, other in zip(first, second, strict=True))


def _mean_difference(first: Sequence[int], second: Sequence[int]) -> float:
    return (sum(second) - sum(first)) / len(first)


def nan_as_null(content: Any) -> Any:
    """Return JSON values with null for every undefined figure."""
    if isinstance(content, dict):
        return {name: nan_as_null(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [nan_as_null(value) for value in content]
    return None if isinstance(content, float) and np.isnan(content) else content
