"""Queries that people need, against SciPy and simulated judgments."""

import numpy as np
import pytest
from harness.plans import label, make_small, write_labels
from scipy import stats

from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.formats import Qrels
from trectools_plus.judging import pilot as module
from trectools_plus.judging import plan_people
from trectools_plus.judging.values import values_of
from trectools_plus.service.review.material import import_judgments

QUERIES = 80


@pytest.fixture
def judged(tmp_path):
    """A plan of which people have judged 15 queries, and the grades of all documents."""
    plan = make_small(tmp_path, QUERIES)
    generator = np.random.default_rng(3)
    truth = {}
    for query_id in plan.plan.queries:
        ease = generator.random()
        for doc_id in plan.judgeable[query_id]:
            truth[query_id, doc_id] = int(3 * (generator.random() < ease))
    grades = {
        query_id: {doc_id: truth[query_id, doc_id] for doc_id in plan.judgeable[query_id]}
        for query_id in plan.plan.queries[:15]
    }
    import_judgments(plan, Qrels.from_dict(grades), "Anna")
    return plan, truth


def test_without_a_model_the_numbers_are_those_of_the_t_interval(
    judged,
):
    plan, truth = judged
    found = plan_people(plan, 0.25, ["P@4"])
    labels = [label(*pair, grade) for pair, grade in truth.items()]
    values = values_of(plan, labels, ["P@4"]).values["P@4"]
    columns = {("a",): values["a"], ("b",): values["b"], ("a", "b"): values["a"] - values["b"]}
    assert [one.runs for one in found.needed] == list(columns)
    for one in found.needed:
        first = columns[one.runs][:15]
        low, high = stats.t.interval(0.95, 14, first.mean(), stats.sem(first))
        assert one.width == pytest.approx(high - low)
        deviation = float(first.std(ddof=1))

        def width(n, deviation=deviation):
            return float(2 * stats.t.ppf(0.975, n - 1) * deviation / np.sqrt(n))

        fits = [n for n in range(2, QUERIES + 1) if width(n) <= 0.25]
        assert one.without == (fits[0] if fits else None)
        assert (one.needed, one.correlation) == ({}, {})
    assert (found.people, found.total, found.models, found.pairs) == (15, QUERIES, {}, 1)


def test_too_little_is_refused(tmp_path):
    plan = make_small(tmp_path, 12)
    with pytest.raises(CheckFailedError, match=r"0.*10"):
        plan_people(plan, 0.1)
    for width in (0.0, -1.0, float("nan")):
        with pytest.raises(UsageError, match="0"):
            plan_people(plan, width)


def test_a_model_must_have_judged_the_queries_of_people(
    judged,
):
    plan, truth = judged
    lacking = plan.plan.queries[3]
    write_labels(plan, [label(*pair, 1, "m", "model") for pair in truth if pair[0] != lacking])
    assert plan_people(plan, 0.1).models == {}
    with pytest.raises(UsageError, match="4"):
        plan_people(plan, 0.1, ["AP"])
    assert module.MIN_PILOT == 10
