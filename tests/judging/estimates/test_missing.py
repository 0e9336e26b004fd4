"""Estimates from judgments of which some are missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.plans import label_all, make_small

from trectools_plus.judging.estimates.estimate import estimate
from trectools_plus.judging.labels import Label
from trectools_plus.judging.plan import PlanFolder


@pytest.fixture
def plan(tmp_path: Path) -> PlanFolder:
    return make_small(tmp_path, 30, depth=15, people=22)


def without(labels: list[Label], *pairs: tuple[str, str]) -> list[Label]:
    """Return labels without the grades of some pairs."""
    return [
        one.model_copy(update={"grade": None}) if (one.query_id, one.doc_id) in pairs else one
        for one in labels
    ]


def write(plan: PlanFolder, labels: list[Label]) -> None:
    (plan.path / "labels.jsonl").write_text("".join(f"{one.model_dump_json()}\n" for one in labels))


def test_a_document_that_people_cannot_judge_is_unjudged_for_the_model_too(
    plan: PlanFolder,
) -> None:
    query_id = plan.plan.queries[2]
    doc_id = plan.judgeable[query_id][0]
    write(plan, label_all(plan, 30, "m", "model", seed=1))
    found = estimate(plan, people=without(label_all(plan, 22), (query_id, doc_id)))
    assert (found.counts.people, found.counts.missing_people) == (22, 1)
    assert found.counts.missing_model == 1


def test_a_query_for_which_the_model_has_no_grade_stays(plan: PlanFolder) -> None:
    labels = label_all(plan, 30, "m", "model", seed=1)
    first = plan.plan.queries[0]
    pairs = [(first, doc_id) for doc_id in plan.judgeable[first]]
    write(plan, without(labels, *pairs))
    found = estimate(plan, people=label_all(plan, 22))
    assert found.counts.missing_model == len(pairs)
    assert (found.counts.people, found.counts.queries) == (22, 30)
    assert found.estimates
