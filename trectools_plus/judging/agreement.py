"""Agreement of people with each other and with models, and of models with themselves.

Documents of one query are not independent, so all intervals resample queries.
"""

from __future__ import annotations

from collections import Counter
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


def find_agreement(
    folder: PlanFolder, labels: Sequence[Label], resampling: Resampling | None = None
) -> tuple[LabelAgreement, ...]:
    """Compare the grades of pooled documents.

    Documents without a grade of both do not count. Models are compared with the merged grades.

    Args:
        folder: The plan.
        labels: The labels of people and models.
        resampling: Settings of the intervals.

    Returns:
        Two people each, people and each model, and models that were asked twice; without those that
        have graded no document in common.

    Raises:
        UsageError: If an option is out of range.
    """
    options = asdict(resampling or Resampling())

    def grades(chosen: Sequence[Label]) -> Grades:
        return {
            (query_id, doc_id): grade
            for query_id, merged in merge_labels(chosen).items()
            for doc_id, grade in merged.items()
            if grade is not None and (query_id, doc_id) in folder.extension_of
        }

    people: dict[str, list[Label]] = {}
    for label in labels:
        if label.kind == "person":
            people.setdefault(label.annotator, []).append(label)
    return tuple(
        _compare(names, kind, (first, second), options)
        for *names, kind, first, second in _comparisons(labels, people, grades)
        if first.keys() & second.keys()
    )


Grades = Mapping[Pair, int]
Kind = Literal["people", "model", "repeat"]


def _comparisons(
    labels: Sequence[Label],
    people: Mapping[str, list[Label]],
    grades: Callable[[Sequence[Label]], Grades],
) -> Iterator[tuple[str, str, Kind, Grades, Grades]]:
    for (first, ours), (second, theirs) in combinations(people.items(), 2):
        yield first, second, "people", grades(ours), grades(theirs)
    merged = grades([label for label in labels if label.kind == "person"])
    models = group_models(labels)
    for name, answers in models.items():
        yield PEOPLE, name, "model", merged, grades(answers)
    for name, answers in models.items():
        again = [one.model_copy(update={"repeat": 0}) for one in answers if one.repeat > 0]
        yield name, name, "repeat", grades(answers), grades(again)


def _compare(
    names: Sequence[str],
    kind: Kind,
    grades: tuple[Grades, Grades],
    options: dict[str, Any],
) -> LabelAgreement:
    first, second = grades
    both = sorted(first.keys() & second.keys())
    queries = [query_id for query_id, _ in both]
    table = np.array([[first[pair], second[pair]] for pair in both])
    differences = table[:, 1] - table[:, 0]
    confusion = Counter(map(tuple, table.tolist()))
    return LabelAgreement(
        first=names[0],
        second=names[1],
        kind=kind,
        pairs=len(both),
        queries=len(set(queries)),
        agreed=int((differences == 0).sum()),
        kappas={
            weights: cohens_kappa(
                *table.T, weights=weights, categories=_GRADES, clusters=queries, **options
            )
            for weights in WEIGHTS
        },
        alpha=krippendorffs_alpha(table, metric="ordinal", clusters=queries, **options),
        difference=float(differences.mean()),
        confusion=tuple(tuple(confusion[row, column] for column in _GRADES) for row in _GRADES),
    )


def nan_as_null(content: Any) -> Any:
    """Return JSON values with null for every undefined figure."""
    if isinstance(content, dict):
        return {name: nan_as_null(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [nan_as_null(value) for value in content]
    return None if isinstance(content, float) and np.isnan(content) else content
