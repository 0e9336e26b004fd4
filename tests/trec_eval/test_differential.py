"""Every measure and flag against pytrec_eval on the original dictionaries, bit for bit."""

from __future__ import annotations

import math

import numpy as np
import pytest
import pytrec_eval_ext
from hypothesis import example, given, settings
from hypothesis import strategies as st

from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.definitions.trec_eval_measures import measures_of
from trectools_plus.trec_eval.arguments import parse_arguments
from trectools_plus.trec_eval.inputs import Input
from trectools_plus.trec_eval.output import MIN_GEO_MEAN, summarise
from trectools_plus.trec_eval.scoring import score

DOC_IDS = ["d1", "d10", "d2", "D2", "é", "中", "👍", "\ue000", "a", "b", "0", "z"]
# 1.000000001 and 1.0 are equal in 32 bits only.
SCORES = st.sampled_from([1.0, 1.000000001, 0.99999999, 0.0, -0.0, -1.5, 2.0, 16777217.0, 1e300])
QUERY_IDS = ["q1", "q2", "01", "1", "ß"]
PARAMETERS = {
    "iprec_at_recall": "..1,.333,.334,1.5,0",
    "P": ".3,1,7",
    "recall": ".2,5000",
    "Rprec_mult": ".5.0,0.35",
    "utility": ".2,-1,.5,-0.25",
    "11pt_avg": "..75,.25,.5",
    "G": ".1=3,2=9,0=-1",
    "ndcg": ".1=3,2=9,4=4.5",
    "ndcg_rel": ".1=3,3=1",
    "Rndcg": ".2=10,1=4",
    "ndcg_cut": ".1,2,1000",
    "map_cut": ".4",
    "relative_P": ".2,3",
    "success": ".2",
    "set_F": ".0.5",
}
SCORED = [
    name
    for name, one in measures_of(9).items()
    if one.needs in ("any", "qrels") and name not in ("runid", "relstring")
]
"""Measures of preferences and of several judges are compared with C in test_judges.py."""
ASKED = SCORED + [name + PARAMETERS[name] for name in SCORED if name in PARAMETERS]


def as_input(qrels, run):
    return Input.from_tables(Qrels.from_dict(qrels), Run.from_dict(run))


@st.composite
def collections(draw):
    """A run and qrels over few documents, so that ties, gaps and overlaps are common."""
    scores = st.dictionaries(st.sampled_from(DOC_IDS), SCORES, min_size=1, max_size=12)
    grades = st.dictionaries(st.sampled_from(DOC_IDS), st.integers(-3, 4), min_size=1, max_size=10)
    # Where all grades are negative, trec_eval reads beyond its counters.
    sound = grades.filter(lambda judged: max(judged.values()) >= 0)
    run = draw(st.dictionaries(st.sampled_from(QUERY_IDS), scores, min_size=1, max_size=4))
    qrels = draw(st.dictionaries(st.sampled_from(QUERY_IDS), sound, min_size=1, max_size=4))
    shared = draw(st.sampled_from(QUERY_IDS))
    run.setdefault(shared, {"d1": 1.0})
    qrels.setdefault(shared, {"d2": 1})
    return run, qrels


def in_order(documents):
    """Document ids as trec_eval 9 ranks them."""
    with np.errstate(over="ignore"):
        keyed = sorted(((np.float32(s), d.encode()) for d, s in documents.items()), reverse=True)
    return [name.decode() for _, name in keyed]


def plain(run, qrels, request, level, judged_only, depth):
    """Per query, in byte order, what pytrec_eval says to the original dictionaries."""
    if depth is not None:
        run = {q: {d: docs[d] for d in in_order(docs)[:depth]} for q, docs in run.items()}
    evaluator = pytrec_eval_ext.RelevanceEvaluator(qrels, {request}, level, judged_only)
    answers = evaluator.evaluate(run)
    return {query: [*answers[query].values()] for query in sorted(answers)}


def bits(values):
    return np.asarray(values, np.float64).view(np.int64).tolist()


def expected_figures(measure, rows, qrels, complete):
    """trec_eval's averages, spelled out."""
    n_queries = len(qrels) if complete else len(rows)
    if measure.name == "num_q":
        return [float(n_queries)]
    if measure.name == "num_rel" and complete:
        return [float(sum(grade > 0 for grades in qrels.values() for grade in grades.values()))]
    figures = []
    for column in zip(*rows, strict=True):
        total = 0.0
        for value in column:
            total += value
        if measure.average == "geometric":
            total += (n_queries - len(rows)) * math.log(MIN_GEO_MEAN)
            total = math.exp(total / n_queries)
        elif measure.average == "mean":
            total /= n_queries
        figures.append(total)
    return figures


@pytest.mark.parametrize("requested", ASKED)
@settings(max_examples=settings().max_examples // 4)
@given(
    data=collections(),
    level=st.integers(1, 3),
    judged_only=st.booleans(),
    depth=st.none() | st.integers(1, 6),
    complete=st.booleans(),
)
@example(
    # The only judged document is below an unjudged one.
    data=({"q": {"d1": 2.0, "d2": 1.0}}, {"q": {"d2": 0, "d3": 1}}),
    level=1,
    judged_only=True,
    depth=None,
    complete=False,
)
def test_each_measure_alone(requested, data, level, judged_only, depth, complete):
    run, qrels = data
    flags = ["-m", requested, f"-l{level}", *(["-J"] if judged_only else [])]
    flags += [*([f"-M{depth}"] if depth else []), *(["-c"] if complete else [])]
    arguments = parse_arguments([*flags, "q", "r"])
    scores = score(as_input(qrels, run), arguments)
    (one,) = arguments.requested
    # Lines of one name hide one another in pytrec_eval's answer; here none is like another.
    expected = plain(run, qrels, one.request(), level, judged_only, depth)
    assert scores.query_ids == [*expected]
    rows = [*expected.values()]
    if len({*one.names}) == len(one.names):
        assert bits(scores.values[one.measure.name]) == bits(rows)
        figures = expected_figures(one.measure, rows, qrels, complete)
        assert bits(summarise(one, scores, complete=complete)) == bits(figures)


@given(data=collections(), judged_only=st.booleans(), length=st.integers(-1, 14))
def test_relstring_spelled_out(data, judged_only, length):
    run, qrels = data
    flags = ["-m", f"relstring.{length}", *(["-J"] if judged_only else []), "q", "r"]
    scores = score(as_input(qrels, run), parse_arguments(flags))
    for query, text in zip(scores.query_ids, scores.values["relstring"][:, 0], strict=True):
        grades = [qrels[query].get(name) for name in in_order(run[query])]
        if judged_only:
            grades = [grade for grade in grades if grade is not None and grade >= 0]
        signs = ["-" if grade is None else "." if grade < 0 else str(grade) for grade in grades]
        assert text == "".join(signs[: max(length, 0)])


@settings(max_examples=settings().max_examples // 4)
@given(data=collections(), level=st.integers(1, 3), depth=st.none() | st.integers(1, 6))
def test_utility_with_a_collection_size(data, level, depth):
    run, qrels = data
    flags = ["-m", "utility.1,-1,2,0.5", "-N50", f"-l{level}", "q", "r"]
    flags += [f"-M{depth}"] if depth else []
    scores = score(as_input(qrels, run), parse_arguments(flags))
    for query, (value,) in zip(scores.query_ids, scores.values["utility"], strict=True):
        relevant = {name for name, grade in qrels[query].items() if grade >= level}
        retrieved = {*in_order(run[query])[:depth]}
        found, noise = len(relevant & retrieved), len(retrieved - relevant)
        missed = len(relevant - retrieved)
        assert value == found - noise + 2 * missed + 0.5 * (50 - found - noise - missed)


def test_points_of_one_name_keep_their_own_values():
    scores = {f"d{number:03}": float(-number) for number in range(300)}
    # 199 relevant documents behind one that is not: precision at n is (n - 1) / n.
    data = as_input(
        {"1": {name: int(0 < at < 200) for at, name in enumerate(scores)}}, {"1": scores}
    )
    near = score(data, parse_arguments(["-m", "Rprec_mult.0.996,1.004", "q", "r"]))
    assert near.requested[0].names == ("Rprec_mult_1.00",) * 2
    assert near.values["Rprec_mult"].tolist() == [[198 / 199, 199 / 200]]
