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
from trectools_plus.measures.providers import pytrec_eval as provider
from trectools_plus.measures.scoring.scores import find_judged, score_judged

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
    queries = JudgedQueries.from_qrels(Qrels.from_dict(qrels))
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
    "SetP(relative=True)": "set_relative_P",
    "SetR": "set_recall",
    "SetAP": "set_map",
    "NumRet(rel=1)": "num_rel_ret",
    "RelRet": "num_rel_ret",
}
WITHOUT_LEVEL = {
    "nDCG": "ndcg",
    "nDCG@1": "ndcg_cut_1",
    "nDCG@3": "ndcg_cut_3",
    "nDCG@10": "ndcg_cut_10",
    "NumRet": "num_ret",
}
JUDGED_ONLY = {
    "AP": "map",
    "AP@3": "map_cut_3",
    "RR": "recip_rank",
    "P@5": "P_5",
    "R@2": "recall_2",
    "Success@1": "success_1",
    "Rprec": "Rprec",
    "SetP": "set_P",
    "SetAP": "set_map",
}


def at_level(name, level):
    if level == 1:
        return name
    label, at, cutoff = name.partition("@")
    inner = f"rel={level}"
    if label.endswith(")"):
        label = label.replace("rel=1", inner) if "rel=1" in label else f"{label[:-1]},{inner})"
    else:
        label = f"{label}({inner})"
    return f"{label}{at}{cutoff}"


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


@given(collections(), st.sampled_from([*BY_LEVEL, *WITHOUT_LEVEL]))
def test_equal_bit_for_bit_alone(collection, name):
    """One measure at a time, so that the ranking is cut as shallow as it can be."""
    run, qrels = collection
    expected = plain(run, qrels, {**BY_LEVEL, **WITHOUT_LEVEL}[name])
    assert_equal(ours(run, qrels, [name])[:, 0], expected)


@given(collections(), st.integers(1, 3))
def test_equal_bit_for_bit_with_judged_documents_only(collection, level):
    run, qrels = collection
    names = []
    for name in JUDGED_ONLY:
        label, at, cutoff = name.partition("@")
        names.append(f"{label}(rel={level},judged_only=True){at}{cutoff}")
    table = ours(run, qrels, [*names, "nDCG(judged_only=True)@3", "nDCG@3"])
    for column, request in zip(table.T, JUDGED_ONLY.values(), strict=False):
        assert_equal(column, plain(run, qrels, request, level, judged_only=True))
    assert_equal(table[:, -2], plain(run, qrels, "ndcg_cut_3", judged_only=True))
    assert_equal(table[:, -1], plain(run, qrels, "ndcg_cut_3"))


@given(collections(), st.integers(1, 12), st.integers(1, 3))
def test_rr_at_k_is_recip_rank_on_the_ranking_cut_at_k(collection, cutoff, level):
    run, qrels = collection
    table = ours(run, qrels, [f"RR(rel={level})@{cutoff}", f"RR(rel={level})", "AP@100"])
    assert_equal(table[:, 0], plain(cut(run, cutoff), qrels, "recip_rank", level))
    assert_equal(table[:, 1], plain(run, qrels, "recip_rank", level))
    if cutoff == 12:
        assert_equal(table[:, 0], table[:, 1])


@given(collections())
def test_gains_equal_pytrec_eval_on_qrels_with_those_gains(collection):
    run, qrels = collection
    exponential = {
        query: {doc: 2**grade - 1 if grade > 0 else 0 for doc, grade in docs.items()}
        for query, docs in qrels.items()
    }
    mapped = {
        query: {doc: {1: 7, 2: 3}.get(grade, grade) for doc, grade in docs.items()}
        for query, docs in qrels.items()
    }
    names = [
        "nDCG(dcg='exp-log2')@3",
        "nDCG(dcg='exp-log2')",
        "nDCG(gains={1:7,2:3})@3",
        "nDCG@3",
    ]
    table = ours(run, qrels, names)
    assert_equal(table[:, 0], plain(run, exponential, "ndcg_cut_3"))
    assert_equal(table[:, 1], plain(run, exponential, "ndcg"))
    assert_equal(table[:, 2], plain(run, mapped, "ndcg_cut_3"))
    assert_equal(table[:, 3], plain(run, qrels, "ndcg_cut_3"))


@given(collections())
def test_each_set_f_can_be_requested_alone(collection):
    run, qrels = collection
    table = ours(run, qrels, ["SetF", "SetF(beta=0.5)", "SetF(rel=2,beta=2.0)"])
    assert_equal(table[:, 0], plain(run, qrels, "set_F"))
    assert_equal(table[:, 1], plain(run, qrels, "set_F_0.5", key="set_F"))
    assert_equal(table[:, 2], plain(run, qrels, "set_F_2.0", level=2, key="set_F"))


@given(collections(), st.integers(1, 4))
def test_number_of_relevant_documents_follows_the_level(collection, level):
    """pytrec_eval's num_rel counts from grade 1 at any level.

    It does not depend on the run, as with ``trec_eval -c``.
    """
    run, qrels = collection
    expected = [sum(grade >= level for grade in docs.values()) for docs in qrels.values()]
    assert_equal(ours(run, qrels, [at_level("NumRel(rel=1)", level)])[:, 0], expected)


@given(collections())
def test_evaluating_twice_and_in_any_order_is_identical(collection):
    run, qrels = collection
    names = [*BY_LEVEL, *WITHOUT_LEVEL]
    first, second = ours(run, qrels, names), ours(run, qrels, names)
    assert first.tobytes() == second.tobytes()
    backwards = {
        query: dict(reversed(documents.items())) for query, documents in reversed(run.items())
    }
    assert ours(backwards, qrels, names[::-1])[:, ::-1].tobytes() == first.tobytes()


@given(collections())
def test_scores_lie_between_0_and_1(collection):
    counts = {"NumRet", "NumRet(rel=1)", "RelRet"}
    names = [name for name in (*BY_LEVEL, *WITHOUT_LEVEL) if name not in counts]
    table = ours(*collection, [*names, "APcap@3", "APcap(rel=2)@2", "Judged@2", "Judged"])
    assert ((table >= 0) & (table <= 1)).all()


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


def test_grades_too_large_for_an_exponential_gain_are_refused():
    qrels = {"7": {"a": 1, "b": 21}}
    with pytest.raises(UsageError, match=r"21.*1,048,576.*7"):
        ours({"7": {"a": 1.0}}, qrels, ["nDCG(dcg='exp-log2')@10"])
    with pytest.raises(UsageError, match="127"):
        ours({"7": {"a": 1.0}}, {"7": {"a": 127}}, ["nDCG(dcg='exp-log2')"])
    with pytest.raises(UsageError, match="100000"):
        ours({"7": {"a": 1.0}}, {"7": {"a": 100_000}}, ["nDCG(dcg='exp-log2')"])
    assert ours({"7": {"a": 1.0}}, {"7": {"a": 127}}, ["nDCG@10"])[0, 0] == 1.0


def test_query_without_a_gain_scores_0():
    """Custom gains may leave a query with negative ones only, which crashes trec_eval."""
    table = ours({"1": {"a": 1.0}}, {"1": {"a": 1}}, ["nDCG(gains={1:-2})@10"])
    assert table.tolist() == [[0.0]]


def test_agreeing_judgments_of_one_document_count_once():
    frame = Qrels.from_dict({"1": {"a": 1, "b": 1}}).frame
    twice = Qrels(frame.vstack(frame))
    run = Run.from_dict({"1": {"a": 2.0, "c": 1.0}})
    measures = [parse_measure("R@10"), parse_measure("APcap@10")]
    table = score_runs(twice, {"run": run}, measures, Averaging()).tables["run"]
    assert table.tolist() == [[0.5, 0.5]]


HIGH = [
    *["nDCG", "nDCG@3", "nDCG(gains={1:7})", "AP", "AP(rel=2)", "AP(rel=1500)", "AP(rel=5000)"],
    *["Bpref", "P(rel=2)@3", "RR", "Rprec", "infAP", "NumRel", "AP(judged_only=True)"],
]


@given(collections(), st.lists(st.sampled_from([1500, 1501, 4000]), min_size=1, max_size=3))
def test_high_grades_are_numbered_with_the_same_values(collection, highest):
    """trec_eval itself is slow for them, but not yet too slow."""
    run, qrels = collection
    for number, grade in enumerate(highest):
        qrels.setdefault("q1", {})[f"d{number}"] = grade
    run.setdefault("q1", {"d1": 1.0})
    numbered = ours(run, qrels, HIGH)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(provider, "_HIGHEST_CHEAP_GRADE", 10**9)
        assert np.array_equal(numbered, ours(run, qrels, HIGH), equal_nan=True)


def test_a_grade_of_a_hundred_million_is_scored():
    """Its nDCG in the code of trec_eval would take years."""
    run, qrels = {"7": {"a": 2.0, "b": 1.0}}, {"7": {"a": 1, "b": 10**8}}
    discount = 1 / math.log2(3)
    expected = (1 + 10**8 * discount) / (10**8 + discount)
    assert ours(run, qrels, ["nDCG", "nDCG@10"])[0] == pytest.approx([expected] * 2)
