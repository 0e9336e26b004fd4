"""Summarise the judgments of a plan: how far people and models are, and how well they agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from trectools_plus.judging.agreement import (
    AGREEMENT_METHOD,
    LabelAgreement,
    find_agreement,
    nan_as_null,
)
from trectools_plus.judging.labels import LABELS_FILE, Kind, Label, group_models, read_labels
from trectools_plus.judging.people import read_people
from trectools_plus.judging.plan import PlanFolder
from trectools_plus.judging.values import find_complete
from trectools_plus.statistics.arrays import Resampling


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
    for kind, found in (("person", by_person), ("model", group_models(models))):
        for name, labels in found.items():
            latest = {(one.query_id, one.doc_id): one for one in labels if one.repeat == 0}
            graded = sum(one.grade is not None for one in latest.values())
            complete = find_complete(folder, labels)
            yield AnnotatorLabels(
                name=name,
                kind="person" if kind == "person" else "model",
                complete=len(complete.grades),
                left_out=len(complete.left_out),
                graded=graded,
                missing=len(latest) - graded,
            )
