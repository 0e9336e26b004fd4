"""Values per query, against pytrec_eval, and the rules for missing and several labels."""

import numpy as np
import pytest
import pytrec_eval
from harness.plans import grades_of, label, label_all, make_small

from trectools_plus.errors import UsageError
from trectools_plus.judging.values import find_complete, merge_labels, values_of


@pytest.mark.parametrize("kind", ["person", "model"])
def test_values_are_those_of_trec_eval_on_the_original_runs(plan, tmp_path, kind):
    labels = label_all(plan, 7, kind=kind)
    found = values_of(plan, labels)
    assert found.queries == plan.plan.queries[:7]
    evaluator = pytrec_eval.RelevanceEvaluator(grades_of(labels), {"ndcg_cut.4", "P.4"})
    for run in ("a", "b"):
        rows = [line.split() for line in (tmp_path / f"{run}.run").read_text().splitlines()]
        scores = {}
        for query_id, _, doc_id, _, score, _ in rows:
            scores.setdefault(query_id, {})[doc_id] = float(score)
        expected = evaluator.evaluate(scores)
        for name, theirs in (("nDCG@4", "ndcg_cut_4"), ("P@4", "P_4")):
            values = [expected[query_id][theirs] for query_id in found.queries]
            assert found.values[name][run].tolist() == pytest.approx(values, abs=0)


def test_a_query_without_relevant_documents_counts_0(plan):
    first, second = plan.plan.queries[:2]
    labels = [label(first, doc_id, 0) for doc_id in plan.judgeable[first]]
    labels += [label(second, doc_id, 3) for doc_id in plan.judgeable[second]]
    found = values_of(plan, labels)
    assert found.values["nDCG@4"]["a"].tolist() == [0.0, 1.0]
    assert found.values["P@4"]["b"].tolist() == [0.0, 1.0]


def test_a_tenth_of_a_pool_may_be_missing(tmp_path):
    plan = make_small(tmp_path, depth=15)
    first, second = plan.plan.queries[:2]
    sizes = {one: len(plan.judgeable[one]) for one in (first, second)}
    assert min(sizes.values()) >= 20
    allowed = sizes[first] // 10
    labels = label_all(plan, 2)
    for query_id, count in ((first, allowed), (second, sizes[second] // 10 + 1)):
        for doc_id in plan.judgeable[query_id][:count]:
            labels.append(label(query_id, doc_id, None))
    found = find_complete(plan, labels)
    assert list(found.grades) == [first]
    assert found.missing == allowed
    assert len(found.grades[first]) == sizes[first] - allowed
    reason = f"{sizes[second] // 10 + 1} of {sizes[second]} documents have no grade"
    assert found.left_out == {second: reason}
    # What is missing is unjudged, as if the qrels did not have it, and is no zero.
    assert set(plan.judgeable[first][:allowed]).isdisjoint(found.grades[first])


def test_a_value_that_is_not_defined_is_refused(plan):
    first = plan.plan.queries[0]
    labels = [label(first, doc_id, 0) for doc_id in plan.judgeable[first]]
    for name in ("nDCG@4", "RR@4", "Recall@4", "Judged@4", "RBP@4", "Success@4", "AP@4"):
        assert np.isfinite(values_of(plan, labels, [name]).values[name]["a"]).all()
    with pytest.raises(UsageError, match=f"undefined for query {first}"):
        values_of(plan, labels, ["MeanRank@4"])


def test_the_last_answer_of_a_model_counts_without_repeats():
    def asked(grade, repeat=0):
        return label("q", "d", grade, "m", "model").model_copy(update={"repeat": repeat})

    assert merge_labels([asked(None), asked(2), asked(0, repeat=1)]) == {"q": {"d": 2}}
    assert merge_labels([asked(3, repeat=1)]) == {}
