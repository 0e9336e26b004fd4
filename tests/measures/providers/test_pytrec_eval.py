"""The fast path equals plain pytrec_eval on the original dictionaries, bit for bit."""

import math

import numpy as np
import pytest
import pytrec_eval
from hypothesis import example, given
from hypothesis import strategies as st

from trectools_plus.choices import Averaging
from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures import parse_measure, parse_measures
from trectools_plus.measures.evaluation import score_runs
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.measures.scoring import find_judged, score_judged

DOC_IDS = [
    "d1",
    "d10",
    "d2",
    "D2",
    "é",
    "ü",
    "z",
    "中",
    "👍",
    "\ue000",
    "a b".replace(" ", "_"),
    "0",
]
# 1.000000001 and 1.0 are equal in 32 bits only; 0.0 and -0.0 everywhere; 1e300 overflows.
SCORES = st.sampled_from([1.0, 1.000000001, 0.99999999, 0.0, -0.0, -1.5, 2.0, 16777217.0, 1e300])
GRADES = st.integers(-3, 4)
QUERY_IDS = ["q1", "q2", "01", "1", "ß"]


@st.composite
def collections(draw):
    """A run and qrels over few documents, so that ties, gaps and overlaps are common."""
    scores = st.dictionaries(st.sampled_from(DOC_IDS), SCORES, min_size=1, max_size=12)
    grades = st.dictionaries(st.sampled_from(DOC_IDS), GRADES, min_size=1, max_size=10)
    run = draw(st.dictionaries(st.sampled_from(QUERY_IDS), scores, min_size=1, max_size=4))
    qrels = draw(st.dictionaries(st.sampled_from(QUERY_IDS), grades, min_size=1, max_size=4))
    return run, qrels


def cut(run, depth):
    """The run's first documents in trec_eval's order."""

    def place(pair):
        with np.errstate(over="ignore"):
            return np.float32(pair[1]), pair[0].encode()

    return {
        query: dict(sorted(documents.items(), key=place, reverse=True)[:depth])
        for query, documents in run.items()
    }


def plain(run, qrels, request, level=1, judged_only=False, key=None):
    """pytrec_eval on the original dictionaries.

    It crashes at a query with negative grades only, which gets another document of grade 0.
    """
    scored = {
        query: docs if max(docs.values()) >= 0 else {**docs, "not retrieved": 0}
        for query, docs in qrels.items()
    }
    evaluator = pytrec_eval.RelevanceEvaluator(
        scored, {request}, relevance_level=level, judged_docs_only_flag=judged_only
    )
    answers = evaluator.evaluate(run)
    return [answers.get(query, {}).get(key or request, 0.0) for query in scored]


def ours(run, qrels, names):
    queries = JudgedQueries.of(Qrels.from_dict(qrels))
    measures = parse_measures(names)
    return score_judged(measures, find_judged(measures, queries, Run.from_dict(run)))


def assert_equal(column, expected):
    assert column.tobytes() == np.array(expected, float).tobytes(), (column.tolist(), expected)


BY_LEVEL = {
    "AP": "map",
    "AP@1": "map_cut_1",
    "AP@3": "map_cut_3",
    "AP@100": "map_cut_100",
    "RR": "recip_rank",
    "P@1": "P_1",
    "P@5": "P_5",
    "P@100": "P_100",
    "R@2": "recall_2",
    "R@7": "recall_7",
    "Success@1": "success_1",
    "Success@3": "success_3",
    "HitRate@3": "success_3",
    "Rprec": "Rprec",
    "Bpref": "bpref",
    "infAP": "infAP",
    "IPrec@0.0": "iprec_at_recall_0.00",
    "IPrec@0.35": "iprec_at_recall_0.35",
    "SetP": "set_P",
    "SetR": "set_recall",
    "SetF": "set_F",
    "SetAP": "set_map",
    "RelRet": "num_rel_ret",
}
WITHOUT_LEVEL = {
    "nDCG": "ndcg",
    "nDCG@1": "ndcg_cut_1",
    "nDCG@3": "ndcg_cut_3",
    "nDCG@10": "ndcg_cut_10",
}


def at_level(name, level):
    if level == 1:
        return name
    label, at, cutoff = name.partition("@")
    return f"{label}(rel={level}){at}{cutoff}"


@given(collections(), st.integers(1, 5))
@example(({"q1": {"d1": 1.0, "d2": 1.000000001}}, {"q1": {"d2": 1, "d1": -2}}), 1)
@example(({"q2": {"d1": 1.0}}, {"q1": {"d2": 1}}), 1)
def test_equal_bit_for_bit_at_any_level(collection, level):
    run, qrels = collection
    names = [at_level(name, level) for name in BY_LEVEL]
    table = ours(run, qrels, [*names, *WITHOUT_LEVEL])
    requests = [*BY_LEVEL.values(), *WITHOUT_LEVEL.values()]
    for column, request in zip(table.T, requests, strict=True):
        assert_equal(column, plain(run, qrels, request, level))


@given(collections(), st.integers(1, 12), st.integers(1, 3))
def test_rr_at_k_is_recip_rank_on_the_ranking_cut_at_k(collection, cutoff, level):
    run, qrels = collection
    table = ours(run, qrels, [f"RR(rel={level})@{cutoff}", f"RR(rel={level})", "AP@100"])
    assert_equal(table[:, 0], plain(cut(run, cutoff), qrels, "recip_rank", level))
    assert_equal(table[:, 1], plain(run, qrels, "recip_rank", level))
    if cutoff == 12:
        assert_equal(table[:, 0], table[:, 1])


@given(collections())
def test_exponential_gains_equal_pytrec_eval_on_qrels_with_those_gains(collection):
    run, qrels = collection
    exponential = {
        query: {doc: 2**grade - 1 if grade > 0 else 0 for doc, grade in docs.items()}
        for query, docs in qrels.items()
    }
    table = ours(run, qrels, ["nDCG(dcg='exp-log2')@3", "nDCG(dcg='exp-log2')", "nDCG@3"])
    assert_equal(table[:, 0], plain(run, exponential, "ndcg_cut_3"))
    assert_equal(table[:, 1], plain(run, exponential, "ndcg"))
    assert_equal(table[:, 2], plain(run, qrels, "ndcg_cut_3"))


def test_deep_rankings_and_shallow_cutoffs():
    rng = np.random.default_rng(7)
    run = {
        str(query): {f"d{doc}": round(float(score), 2) for doc, score in enumerate(scores)}
        for query, scores in enumerate(rng.random((5, 1_500)))
    }
    qrels = {
        str(query): {f"d{doc}": int(grade) for doc, grade in zip(docs, grades, strict=True)}
        for query, (docs, grades) in enumerate(
            zip(rng.integers(0, 2_000, (5, 60)), rng.integers(-1, 4, (5, 60)), strict=True)
        )
    }
    names = {**BY_LEVEL, **WITHOUT_LEVEL, "R@1000": "recall_1000", "nDCG@1000": "ndcg_cut_1000"}
    table = ours(run, qrels, names)
    for column, request in zip(table.T, names.values(), strict=True):
        assert_equal(column, plain(run, qrels, request))


@pytest.mark.parametrize(
    ("grade", "name", "limit"),
    [
        (27, "nDCG(dcg='exp-log2')@10", "100,000,000"),
        (127, "nDCG(dcg='exp-log2')", "10,000"),
        (100_000, "nDCG(dcg='exp-log2')@10", "100,000,000"),
        (10_001, "nDCG", "10,000"),
    ],
)
def test_grades_that_would_take_trec_eval_too_long_are_refused(grade, name, limit):
    with pytest.raises(UsageError, match=limit):
        ours({"7": {"a": 1.0}}, {"7": {"a": 1, "b": grade}}, [name])


def test_the_highest_grades_are_scored():
    assert ours({"7": {"a": 1.0}}, {"7": {"a": 2**20}}, ["nDCG@10", "AP"])[0].tolist() == [1.0, 1.0]
    run, qrels = {"7": {"a": 2.0, "b": 1.0}}, {"7": {"a": 1, "b": 10_000}}
    discount = 1 / math.log2(3)
    expected = (1 + 10_000 * discount) / (10_000 + discount)
    assert ours(run, qrels, ["nDCG", "nDCG@10"])[0] == pytest.approx([expected] * 2)


def test_agreeing_judgments_of_one_document_count_once():
    frame = Qrels.from_dict({"1": {"a": 1, "b": 1}}).frame
    twice = Qrels(frame.vstack(frame))
    run = Run.from_dict({"1": {"a": 2.0, "c": 1.0}})
    measures = [parse_measure("R@10"), parse_measure("APcap@10")]
    table = score_runs(twice, {"run": run}, measures, Averaging()).tables["run"]
    assert table.tolist() == [[0.5, 0.5]]
