"""The differences of trec_eval 10."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.trec_eval import builtin
from trectools_plus.trec_eval.arguments import parse_arguments
from trectools_plus.trec_eval.inputs import Input
from trectools_plus.trec_eval.scoring import score

IDS = [f"d{number}" for number in range(12)]
GRADES = st.dictionaries(st.sampled_from(IDS), st.integers(-2, 4), min_size=1).filter(
    lambda judged: max(judged.values()) >= 0
)
RANKINGS = st.lists(st.sampled_from(IDS), min_size=1, unique=True)
LISTS = st.lists(st.tuples(GRADES, RANKINGS), min_size=1, max_size=3)


def tables(lists):
    """Qrels and run of ``(grades, ranking)`` pairs, and for each ranking the list of grades."""
    qrels = {str(number): grades for number, (grades, _) in enumerate(lists)}
    run = {
        str(number): {name: -float(at) for at, name in enumerate(ranking)}
        for number, (_, ranking) in enumerate(lists)
    }
    seen = [[grades.get(name, -1) for name in ranking] for grades, ranking in lists]
    return Input.from_tables(Qrels.from_dict(qrels), Run.from_dict(run)), seen, qrels, run


def of_version(data, version, *flags):
    return score(data, parse_arguments(["--trec-eval-version", version, *flags, "q", "r"]))


def test_10_rounds_where_9_cuts():
    # A tenth of 12 relevant documents is 1.2: version 9 takes int(2.1) = 2, version 10 takes 1.
    grades = dict.fromkeys(IDS, 1)
    data, *_ = tables([(grades, [IDS[0], "x", IDS[1]])])
    flags = ("-m", "iprec_at_recall.0.1", "-m", "11pt_avg.0.1")
    for version, expected in (("9", 2 / 3), ("10", 1.0)):
        values = of_version(data, version, *flags).values
        assert values["iprec_at_recall"].tolist() == [[expected]]
        assert values["11pt_avg"].tolist() == [[expected]]


@pytest.mark.parametrize(
    ("number", "rounded"),
    [(0.5, 1), (1.5, 2), (2.5, 3), (-0.5, -1), (0.49999999999999994, 0), (47.4, 47), (0.0, 0)],
)
def test_halves_go_away_from_zero(number, rounded):
    assert builtin.round_half_away(np.array([number])).tolist() == [rounded]


def test_scores_are_64_bits_wide():
    qrels = Qrels.from_dict({"1": {"a": 1, "b": 0}})
    data = Input.from_tables(qrels, Run.from_dict({"1": {"a": 1.000000001, "b": 1.0}}))
    assert of_version(data, "9", "-mrecip_rank").values["recip_rank"].tolist() == [[0.5]]
    assert of_version(data, "10", "-mrecip_rank").values["recip_rank"].tolist() == [[1.0]]


@given(lists=LISTS)
def test_rbp_its_residual_and_unj_spelled_out(lists):
    data, seen, qrels, _ = tables(lists)
    values = of_version(data, "10", "-mrbp", "-mrbp_resid", "-munj").values
    for number, grades in enumerate(seen):
        top = max(1, *qrels[str(number)].values())
        weight, gathered, unknown = 1.0, 0.0, 0.0
        for grade in grades:
            gathered += weight * (max(grade, 0) / top)
            unknown += weight * (grade < 0)
            weight *= 0.9
        assert values["rbp"][number, 0] == pytest.approx((1 - 0.9) * gathered, rel=1e-12)
        residual = weight + (1 - 0.9) * unknown if unknown else 0.0
        assert values["rbp_resid"][number, 0] == residual
        for column, cutoff in enumerate((5, 10, 20)):
            share = sum(grade < 0 for grade in grades[:cutoff]) / cutoff
            assert values["unj"][number, column] == share


def test_rbp_takes_p_and_gains():
    data, *_ = tables([({"d0": 1, "d1": 2}, ["d0", "x", "d1"])])
    flags = ("-m", "rbp.p=0.5,1=0.25,2=1", "-m", "rbp_resid.p=0.5")
    scores = of_version(data, "10", *flags)
    assert [one.names for one in scores.requested] == [
        ("rbp_p=0.5,1=0.25,2=1",),
        ("rbp_resid_p=0.5",),
    ]
    assert scores.values["rbp"].tolist() == [[0.5 * (0.25 + 0.25)]]
    assert scores.values["rbp_resid"].tolist() == [[0.125 + 0.5 * 0.5]]


@given(lists=LISTS)
def test_dcg_over_its_ideal_is_ndcg(lists):
    data, seen, *_ = tables(lists)
    values = of_version(data, "10", "-mdcg", "-mideal_dcg", "-mndcg").values
    for number, grades in enumerate(seen):
        dcg = sum(max(grade, 0) / math.log2(at + 2) for at, grade in enumerate(grades))
        assert values["dcg"][number, 0] == pytest.approx(dcg, rel=1e-12)
    ideal = values["ideal_dcg"]
    ratio = np.divide(values["dcg"], ideal, out=np.zeros_like(ideal), where=ideal > 0)
    assert ratio == pytest.approx(values["ndcg"], rel=1e-12)


def test_9_does_not_have_the_new_measures():
    for name in ("rbp", "rbp_resid", "unj", "dcg", "ideal_dcg"):
        with pytest.raises(UsageError, match=r"--trec-eval-version.*10"):
            parse_arguments(["-m", name, "q", "r"])


QRELS = "1 0 a 1\n1 0 b 2\n2 0 a 1\n2 0 x 0\n"
RUN = "1 Q0 b 1 3.0 tag\n1 Q0 x 2 2.0 tag\n"


def test_complete_prints_queries_without_results_in_10_only(printed):
    flags = ("-q", "-c", "-m", "num_ret", "-m", "relstring", "-m", "utility", "-m", "num_rel")
    of_9 = printed(QRELS, RUN, *flags)
    of_10 = printed(
        QRELS, RUN, *flags, "--trec-eval-version", "10", "-m", "unj.2", "-m", "rbp_resid"
    )
    assert [line.split()[:3] for line in of_9 if "\t2\t" in line] == []
    assert [line.split() for line in of_10 if "\t2\t" in line] == [
        ["num_ret", "2", "0"],
        ["num_rel", "2", "1"],
        ["relstring", "2", "''"],
        ["utility", "2", "0.0000"],
        ["rbp_resid", "2", "0.0000"],
        ["unj_2", "2", "0.0000"],
    ]
    summary_of_10 = [line for line in of_10 if "\tall\t" in line]
    assert [line for line in of_9 if "\tall\t" in line] == summary_of_10[:3]


def test_10_keeps_the_stand_in_where_the_name_has_parameters(printed):
    # Version 10 ranks one unjudged document for query 2, and takes its marks back by name.
    flags = ("-q", "-c", "--trec-eval-version", "10", "-m", "relstring.3", "-m", "utility.1,-1,0,0")
    lines = [line.split() for line in printed(QRELS, RUN, *flags) if "\t2\t" in line]
    assert lines == [["relstring_3", "2", "'-'"], ["utility_1,-1,0,0", "2", "-1.0000"]]
