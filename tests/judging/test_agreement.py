"""Agreement of labels, against scikit-learn and counts made by hand."""

import numpy as np
import pytest
from harness.plans import grades_of, label, label_all
from sklearn.metrics import cohen_kappa_score, confusion_matrix

from trectools_plus.judging.labels import LabelOrigin
from trectools_plus.judging.values import PEOPLE, find_agreement
from trectools_plus.statistics import Resampling
from trectools_plus.statistics.agreement import krippendorffs_alpha

FEW = Resampling(200)


def noisy(labels, annotator, kind, seed, keep):
    """Return labels that keep a proportion of the grades."""
    generator = np.random.default_rng(seed)
    return [
        one.model_copy(
            update={
                "annotator": annotator,
                "kind": kind,
                "grade": one.grade if generator.random() < keep else int(generator.integers(4)),
            }
        )
        for one in labels
    ]


def flat(labels):
    return {
        (query_id, doc_id): grade
        for query_id, found in grades_of(labels).items()
        for doc_id, grade in found.items()
    }


def test_agreement_is_that_of_scikit_learn(plan):
    anna = label_all(plan, 8)
    ben = noisy(anna[:60], "Ben", "person", 1, 0.7)
    model = noisy(label_all(plan, 12), "m", "model", 2, 0.5)
    people, with_model = find_agreement(plan, [*anna, *ben, *model], FEW)
    assert (people.first, people.second, people.kind) == ("Anna", "Ben", "people")
    assert (with_model.first, with_model.second, with_model.kind) == (PEOPLE, "m", "model")
    merged = {**flat(anna)}
    for pair, grade in flat(ben).items():
        merged[pair] = min(merged[pair], grade)  # the lower of the two middle grades
    for one, first, second in (
        (people, flat(anna), flat(ben)),
        (with_model, merged, flat(model)),
    ):
        both = sorted(first.keys() & second.keys())
        ours, theirs = [first[pair] for pair in both], [second[pair] for pair in both]
        assert (one.pairs, one.queries) == (len(both), len({query for query, _ in both}))
        assert one.agreed == sum(np.array(ours) == np.array(theirs))
        for weights, kappa in one.kappas.items():
            expected = cohen_kappa_score(
                ours, theirs, labels=range(4), weights=None if weights == "none" else weights
            )
            assert kappa.value == pytest.approx(expected)
            assert kappa.low < kappa.value < kappa.high
        assert one.confusion == tuple(map(tuple, confusion_matrix(ours, theirs, labels=range(4))))
        assert one.difference == pytest.approx(np.mean(theirs) - np.mean(ours))
        alpha = krippendorffs_alpha(np.column_stack([ours, theirs]), metric="ordinal")
        assert one.alpha.value == alpha.value


def test_missing_labels_and_repeats(plan):
    query_id = plan.plan.queries[0]
    first, second, *_ = plan.judgeable[query_id]
    origin = LabelOrigin(model="m", prompt_sha256="0")

    def asked(doc_id, grade, repeat=0):
        one = label(query_id, doc_id, grade, "m", "model")
        return one.model_copy(update={"repeat": repeat, "origin": origin})

    labels = [
        label(query_id, first, 3),
        label(query_id, second, None),
        label(query_id, "not pooled", 3),
        asked(first, 3),
        asked(second, 2),
        asked("not pooled", 3),
        asked(first, 3, repeat=1),
        asked(second, 0, repeat=1),
    ]
    with_people, again = find_agreement(plan, labels, FEW)
    assert (with_people.kind, with_people.pairs, with_people.agreed) == ("model", 1, 1)
    assert (again.kind, again.first, again.second) == ("repeat", "m", "m")
    assert (again.pairs, again.agreed, again.difference) == (2, 1, -1.0)
    # A query alone has no interval.
    assert np.isnan(again.kappas["none"].low)
