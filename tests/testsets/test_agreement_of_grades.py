"""Two annotators' grades; kappa itself is tested with the statistics."""

import pytest

from trectools_plus.errors import IncomparableError, UsageError
from trectools_plus.formats import Qrels
from trectools_plus.statistics import Resampling
from trectools_plus.testsets import read_grades
from trectools_plus.testsets.agreement import grade_agreement
from trectools_plus.validation import FindingsError


def both(pairs):
    sides = (
        {f"q{at}": {"d": grade} for at, grade in enumerate(side)}
        for side in zip(*pairs, strict=True)
    )
    one, other = (Qrels.from_dict(side) for side in sides)
    return one, other


def test_only_pairs_that_both_graded_count():
    one = Qrels.from_dict({"1": {"a": 3, "b": 2, "c": 0}, "2": {"a": 1}})
    other = Qrels.from_dict({"1": {"a": 3, "b": 0, "x": 1}, "3": {"a": 1}})
    found = grade_agreement(one, other, resampling=Resampling(10))
    assert (found.pairs, found.agreed, found.only_first, found.only_second) == (2, 1, 2, 2)
    assert [(one.query_id, one.doc_id, one.first, one.second) for one in found.disagreements] == [
        ("1", "b", 2, 0)
    ]


def test_disagreements_begin_with_the_farthest_apart():
    found = grade_agreement(*both([(3, 2), (0, 3), (1, 1), (1, 0)]), resampling=Resampling(10))
    assert [one.query_id for one in found.disagreements] == ["q1", "q0", "q3"]


def test_accepted_is_above_and_not_at_the_threshold():
    pairs = [(0, 0)] * 4 + [(1, 1)] * 4 + [(0, 1)] + [(1, 0)]  # p_o = 0.8, p_e = 0.5: kappa 0.6
    found = grade_agreement(*both(pairs), resampling=Resampling(10))
    kappa = found.kappas["none"].value
    assert kappa == pytest.approx(0.6)
    for threshold, accepted in ((0.59, True), (kappa, False), (0.61, False)):
        agreement = grade_agreement(*both(pairs), threshold=threshold, resampling=Resampling(10))
        assert agreement.accepted == accepted
    better = grade_agreement(*both([*pairs, (1, 1), (0, 0)]), resampling=Resampling(10))
    assert better.accepted


def test_the_weighting_decides():
    pairs = [(grade, max(grade - 1, 0)) for grade in (0, 1, 2, 3)] * 3 + [(0, 0), (3, 3)]
    assert not grade_agreement(*both(pairs), resampling=Resampling(10)).accepted
    assert grade_agreement(*both(pairs), weights="quadratic", resampling=Resampling(10)).accepted
    with pytest.raises(UsageError):
        grade_agreement(*both(pairs), weights="cubic")


def test_nothing_in_common_is_not_comparable():
    with pytest.raises(IncomparableError):
        grade_agreement(Qrels.from_dict({"1": {"a": 1}}), Qrels.from_dict({"2": {"a": 1}}))


def test_test_sets_and_qrels_are_read(maker):
    rows = [{"query_id": "1", "text": "t", "relevant": {"a": 3, "b": 1}}]
    own, qrels = maker.write("a.json", rows), maker.write("a.qrels", "1 0 a 3\n1 0 b 1\n")
    beir = maker.write("a.tsv", "query-id\tcorpus-id\tscore\n1\ta\t3\n1\tb\t1\n")
    for path in (own, qrels, beir):
        assert read_grades(path).to_dict() == {"1": {"a": 3, "b": 1}}
    assert read_grades("hpo-en-tiny").query_ids[0] == "hpo-001"
    with pytest.raises(FindingsError):
        read_grades(maker.write("b.qrels", "1 0 a 3\n1 0 a 1\n"))
