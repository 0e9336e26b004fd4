"""Estimates from judgments of which some are missing."""

import pytest
from harness.plans import label_all, make_small, write_labels

from trectools_plus.judging.estimates import estimate


@pytest.fixture
def plan(tmp_path):
    return make_small(tmp_path, 30, depth=15, people=22)


def without(labels, *pairs):
    """Return labels without the grades of some pairs."""
    return [
        one.model_copy(update={"grade": None}) if (one.query_id, one.doc_id) in pairs else one
        for one in labels
    ]


def test_what_people_leave_blank_does_not_change_the_models_values(plan):
    pairs = [(query_id, plan.judgeable[query_id][0]) for query_id in plan.plan.queries[:22]]
    write_labels(plan, label_all(plan, 30, "m", "model", seed=1))
    complete = estimate(plan, people=label_all(plan, 22))
    found = estimate(plan, people=without(label_all(plan, 22), *pairs))
    assert (found.counts.people, found.counts.missing_people) == (22, 22)
    assert (complete.counts.missing_model, found.counts.missing_model) == (0, 0)

    def of_model(report):
        return {
            (row.measure, frozenset((row.run, row.baseline))): abs(row.estimates[0].model.mean)
            for row in report.estimates
        }

    assert of_model(found) == of_model(complete)


def test_a_query_that_people_left_out_leaves_both_counts(plan):
    query_id = plan.plan.queries[2]
    pairs = [(query_id, doc_id) for doc_id in plan.judgeable[query_id]]
    write_labels(plan, label_all(plan, 30, "m", "model", seed=1))
    found = estimate(plan, people=without(label_all(plan, 23), *pairs))
    assert (found.counts.people, found.counts.queries) == (22, 29)
    assert [one.query_id for one in found.counts.left_out] == [query_id]
    assert found.is_complete


def test_equal_values_have_no_interval_and_none_leaves_0_to_1(plan):
    write_labels(plan, label_all(plan, 30, "m", "model", seed=1))
    all_relevant = [one.model_copy(update={"grade": 3}) for one in label_all(plan, 22)]
    found = estimate(plan, people=all_relevant, measures=["P@4"])
    for row in found.estimates:
        for one in row.estimates:
            assert (one.people.low, one.people.high, one.combined) == (None, None, None)
            assert (one.weight, one.effective) == (None, None)
    assert not found.is_complete
    assert len(found.warnings) >= len(found.estimates)
    last = plan.plan.queries[21]
    nearly = [
        one.model_copy(update={"grade": 0}) if one.query_id == last else one for one in all_relevant
    ]
    found = estimate(plan, people=nearly, measures=["P@4"])
    for row in found.estimates[:2]:
        for one in row.estimates:
            for shown in (one.people, one.model, one.combined):
                assert shown is None or 0.0 <= (shown.low or 0.0) <= (shown.high or 1.0) <= 1.0
    assert found.estimates[0].estimates[0].people.high == 1.0


def test_a_query_for_which_the_model_has_no_grade_stays(plan):
    labels = label_all(plan, 30, "m", "model", seed=1)
    first = plan.plan.queries[0]
    pairs = [(first, doc_id) for doc_id in plan.judgeable[first]]
    write_labels(plan, without(labels, *pairs))
    found = estimate(plan, people=label_all(plan, 22))
    assert found.counts.missing_model == len(pairs)
    assert (found.counts.people, found.counts.queries) == (22, 30)
    assert found.estimates
