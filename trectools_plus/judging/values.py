"""Values of measures per query, from the labels of people or of one model.

Each kind of labels gives judgments of its own: a document without a grade is unjudged, and never
has grade 0. Queries of people are used if at most a tenth of their pool has no grade, those of a
model always: an estimate from both is right whatever the model does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from trectools_plus.choices import Averaging
from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Qrels
from trectools_plus.judging.labels import Label
from trectools_plus.judging.plan import PlanFolder, has_too_many_missing, refuse_deeper
from trectools_plus.judging.review.judgments import middle_grade
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.evaluation import score_runs
from trectools_plus.statistics.arrays import FloatArray

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
        found = merged.get(query_id, {})
        pool = [one.doc_id for one in folder.pool[query_id]]
        if by_people and any(doc_id not in found for doc_id in folder.judgeable[query_id]):
            break
        if not found:
            continue
        grades = {doc_id: grade for doc_id in pool if (grade := found.get(doc_id)) is not None}
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
