"""Values of measures per query, and agreement, from the labels of people and models.

Each kind of labels gives judgments of its own: a document without a grade is unjudged, and never
has grade 0. Queries of people are used if at most a tenth of their pool has no grade, those of a
model always: an estimate from both is right whatever the model does. Documents of one query are not
independent, so all intervals of the agreement resample queries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np

from trectools_plus.choices import Averaging
from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Qrels
from trectools_plus.judging.judgments import middle_grade
from trectools_plus.judging.labels import MAX_GRADE, Label, group_models
from trectools_plus.judging.plan import PlanFolder, has_too_many_missing, refuse_deeper
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.evaluation import score_runs
from trectools_plus.statistics.agreement import (
    WEIGHTS,
    Agreement,
    cohens_kappa,
    krippendorffs_alpha,
)
from trectools_plus.statistics.arrays import FloatArray, Resampling

Grades = Mapping[str, Mapping[str, int]]
"""Grades by query and document."""


@dataclass(frozen=True, slots=True)
class PlanValues:
    """The queries whose pool is judged, and the values of the plan's runs.

    Attributes:
        grades: The grades of their documents, without those that nobody could judge. Queries are
            in the plan's order.
        left_out: The reason for each query of people with too many documents without a grade.
        missing: The number of documents without a grade in the queries of ``grades``.
        values: Values by measure and run, shape (queries,), in the order of ``queries``.
    """

    grades: Grades
    left_out: Mapping[str, str]
    missing: int
    values: Mapping[str, Mapping[str, FloatArray]] = field(default_factory=dict)

    @property
    def queries(self) -> list[str]:
        """The queries, in the plan's order."""
        return list(self.grades)


def values_of(
    folder: PlanFolder, labels: Sequence[Label], measures: Sequence[str | Measure] | None = None
) -> PlanValues:
    """Evaluate the plan's runs on the queries whose pool is judged.

    A query without a relevant document counts 0, as in trec_eval.

    Args:
        folder: The plan.
        labels: The labels of people, or of one model (see
            :func:`~trectools_plus.judging.labels.group_models`).
        measures: Names of measures; those of the plan if ``None``.

    Raises:
        UsageError: If a measure looks deeper than the pool, is undefined for a query, or does not
            exist.
    """
    parsed = folder.parse_measures(measures)
    refuse_deeper(parsed, folder.plan.depth)
    complete = find_complete(folder, labels)
    names = [measure.requested_name for measure in parsed]
    if not any(complete.grades.values()):
        zeros = np.zeros(len(complete.grades))
        return replace(complete, values={name: dict.fromkeys(folder.runs, zeros) for name in names})
    scored = score_runs(Qrels.from_dict(complete.grades), folder.runs, parsed, Averaging())
    values: dict[str, dict[str, FloatArray]] = {name: {} for name in names}
    for run in folder.runs:
        place = {query_id: row for row, query_id in enumerate(scored.query_ids[run])}
        rows = [place.get(query_id, -1) for query_id in complete.grades]
        for name in names:
            # A query without any grade, of a model, counts 0.
            column = values[name][run] = np.append(scored.values(run, name), 0.0)[rows]
            if np.isnan(column).any():
                query_id = complete.queries[int(np.isnan(column).argmax())]
                raise UsageError(
                    f"{name} is undefined for query {query_id}",
                    where="-m",
                    remedy="use a measure that has a value for every query, for example nDCG@10",
                )
    return replace(complete, values=values)


def find_complete(folder: PlanFolder, labels: Sequence[Label]) -> PlanValues:
    """Return the queries whose pool is judged, in the plan's order.

    Queries of people end before the first one with a document that nobody has answered: so they are
    always a random sample. A model can judge in any order, and leaves no query out that it was
    asked about.
    """
    merged = merge_labels(labels)
    by_people = any(label.kind == "person" for label in labels)
    complete: dict[str, dict[str, int]] = {}
    left_out: dict[str, str] = {}
    missing = 0
    for query_id in folder.plan.queries:
        grade_of = merged.get(query_id, {})
        pool = [document.doc_id for document in folder.pool[query_id]]
        if by_people and any(doc_id not in grade_of for doc_id in folder.judgeable[query_id]):
            break
        if not grade_of:
            continue
        grades = {doc_id: grade for doc_id in pool if (grade := grade_of.get(doc_id)) is not None}
        lacking = len(pool) - len(grades)
        if by_people and has_too_many_missing(lacking, len(pool)):
            left_out[query_id] = f"{lacking} of {len(pool)} documents have no grade"
        else:
            complete[query_id] = grades
            missing += lacking
    return PlanValues(complete, left_out, missing)


def merge_labels(labels: Sequence[Label]) -> dict[str, dict[str, int | None]]:
    """Return one grade for each query and document; ``None`` if nobody could judge it.

    It is the median of the grades, and the lower one of two in the middle. Of a model, the last
    answer counts, without those that repeat a question.
    """
    answers: dict[tuple[str, str], dict[str, int | None]] = {}
    for label in labels:
        if label.repeat == 0:
            by_annotator = answers.setdefault((label.query_id, label.doc_id), {})
            by_annotator[label.annotator] = label.grade
    merged: dict[str, dict[str, int | None]] = {}
    for (query_id, doc_id), by_annotator in answers.items():
        grades = [grade for grade in by_annotator.values() if grade is not None]
        merged.setdefault(query_id, {})[doc_id] = middle_grade(grades)
    return merged


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

    def grades(chosen: Sequence[Label]) -> PairGrades:
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


PairGrades = Mapping[Pair, int]
Kind = Literal["people", "model", "repeat"]


def _comparisons(
    labels: Sequence[Label],
    people: Mapping[str, list[Label]],
    grades: Callable[[Sequence[Label]], PairGrades],
) -> Iterator[tuple[str, str, Kind, PairGrades, PairGrades]]:
    for (first, ours), (second, theirs) in combinations(people.items(), 2):
        yield first, second, "people", grades(ours), grades(theirs)
    merged = grades([label for label in labels if label.kind == "person"])
    models = group_models(labels)
    for name, answers in models.items():
        yield PEOPLE, name, "model", merged, grades(answers)
    for name, answers in models.items():
        again = [label.model_copy(update={"repeat": 0}) for label in answers if label.repeat > 0]
        yield name, name, "repeat", grades(answers), grades(again)


def _compare(
    names: Sequence[str],
    kind: Kind,
    grades: tuple[PairGrades, PairGrades],
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
