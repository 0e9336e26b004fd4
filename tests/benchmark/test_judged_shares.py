"""Shares of judged documents beside comparisons and sweeps."""

import pytest

from trectools_plus import compare, evaluate
from trectools_plus.measures.judged import has_few_judged

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"a": 0, "b": 1}}


def run_with(unjudged):
    """Return a run with two judged and some unjudged documents for each query."""
    documents = ["a", "b", *(f"x{number}" for number in range(unjudged))]
    return {
        query: {doc_id: -float(rank) for rank, doc_id in enumerate(documents)} for query in QRELS
    }


@pytest.mark.parametrize(
    ("shares", "few"),
    [
        ([1.0], False),
        ([0.8, 0.9], False),
        ([0.79, 0.79], True),
        ([0.85, 0.96], True),
        ([], False),
    ],
)
def test_limits(shares, few):
    assert has_few_judged(shares) is few


@pytest.mark.parametrize("measures", [["P@1"], ["nDCG@10", "Judged@10"], ["RR"]])
def test_evaluations_know_the_shares(measures):
    found = evaluate(QRELS, {"all": run_with(0), "few": run_with(3)}, measures)
    assert found.judged == {"all": 1.0, "few": pytest.approx(0.4)}
    assert found.measure_names == measures
    assert found.tables["all"].shape == (2, len(measures))
    compared = compare(QRELS, {"all": run_with(0), "few": run_with(3)}, measures)
    notes = [note for note in compared.evaluation.notes if "40%" in note]
    assert len(notes) == 1
    assert notes[0] in str(compared)
    assert not compare(QRELS, {"a": run_with(0), "b": run_with(0)}).evaluation.notes


def test_shares_are_those_of_queries_with_results():
    assert evaluate(QRELS, {"x": {"q1": run_with(0)["q1"]}}, ["P@1"]).judged == {"x": 1.0}


def test_qrels_of_relevant_documents_have_no_shares():
    assert evaluate({"q1": {"a": 1}}, {"x": run_with(5)}, ["P@1"]).judged == {}


def test_judgments_of_a_model_are_noted_in_python():
    import polars as pl

    rows = [
        (query, "model:m", doc_id, grade)
        for query in QRELS
        for doc_id, grade in QRELS[query].items()
    ]
    qrels = pl.DataFrame(
        rows, schema=["query_id", "iteration", "doc_id", "relevance"], orient="row"
    )
    found = compare(qrels, {"a": run_with(0), "b": run_with(0)})
    assert any("model" in note for note in found.evaluation.notes)
