from importlib.metadata import version

import ir_measures
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures import evaluate, parse_measure, parse_measures
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.measures.scoring import find_judged, score_judged

DOCUMENTS = st.permutations("abcdefgh").flatmap(lambda d: st.integers(1, 8).map(lambda n: d[:n]))
GRADES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 3), min_size=1)


def score(names, run, qrels):
    queries = JudgedQueries.of(Qrels.from_dict(qrels))
    measures = parse_measures(names)
    return score_judged(measures, find_judged(measures, queries, Run.from_dict(run)))


@given(st.dictionaries(st.sampled_from("123"), DOCUMENTS, min_size=1), GRADES)
def test_equals_ir_measures_on_rankings_without_ties(rankings, grades):
    run = {
        query: {doc: 8.0 - place for place, doc in enumerate(docs)}
        for query, docs in rankings.items()
    }
    qrels = {query: {**grades, "r": 1} for query in "123"}
    measures = [ir_measures.Compat(p=0.9), ir_measures.Compat]
    theirs = {}
    for metric in ir_measures.iter_calc(measures, qrels, run):
        theirs[metric.query_id, metric.measure] = metric.value
    ours = score([repr(measure) for measure in measures], run, qrels)
    assert ours.tolist() == [[theirs[query, measure] for measure in measures] for query in "123"]


def test_ties_are_in_canonical_order():
    """ir_measures' own Compat puts a before b here."""
    run = {"1": {"a": 1.0, "b": 1.0}}
    assert score(["Compat(p=0.5)"], run, {"1": {"b": 1}})[0, 0] > 0.8
    assert score(["Compat(p=0.5)"], run, {"1": {"a": 1}})[0, 0] < 0.6


def test_failure_of_a_provider_is_an_error_that_names_it(monkeypatch):
    measure = parse_measure("Accuracy")
    monkeypatch.setattr(type(measure.computed_by), "_evaluator", lambda *_: [][0])
    with pytest.raises(UsageError, match=r"IndexError.*ir_measures"):
        score([measure], {"1": {"a": 1.0}}, {"1": {"a": 1}})


def test_accuracy_is_undefined_without_an_irrelevant_document_retrieved():
    """ir_measures divides by zero there; the other queries keep their values."""
    run = {"1": {"a": 1.0}, "2": {"x": 3.0, "a": 2.0, "y": 1.0}, "3": {"a": 2.0, "x": 1.0}}
    values = score(["Accuracy"], run, {query: {"a": 1} for query in "123"})
    np.testing.assert_array_equal(values, [[np.nan], [0.5], [1.0]])
    assert "were retrieved" in parse_measure("Accuracy").definition.averaged_over
    evaluation = evaluate({"1": {"a": 1}}, {"x": run}, ["Accuracy", "AP"])
    assert [note for note in evaluation.notes if "HitRate@k" in note]


SUBTOPICS = [
    ("1", "1", "a", 1),
    ("1", "2", "b", 1),
    ("1", "3", "c", 1),
    ("2", "1", "b", 1),
    ("2", "4", "d", 1),
]


def test_measures_of_diversity_get_the_subtopics():
    pytest.importorskip("pyndeval", reason="pip install 'trectools-plus[measures]'")
    columns = ("query_id", "iteration", "doc_id", "relevance")
    qrels = Qrels(pl.DataFrame(SUBTOPICS, schema=columns, orient="row"))
    run = {"1": {"b": 3.0, "x": 2.0, "a": 1.0}, "2": {"d": 2.0, "b": 1.0}}
    names = ["alpha_nDCG@10", "ERR_IA@2", "StRecall@1", "NRBP", "P_IA@2"]
    evaluation = evaluate(qrels, Run.from_dict(run), names)
    theirs = ir_measures.calc_aggregate(
        [ir_measures.parse_measure(name) for name in names],
        [ir_measures.Qrel(query, doc, grade, topic) for query, topic, doc, grade in SUBTOPICS],
        run,
    )
    assert {name: evaluation.mean(name) for name in names} == pytest.approx(
        {repr(measure): value for measure, value in theirs.items()}
    )


def test_measures_of_diversity_need_subtopics():
    pytest.importorskip("pyndeval", reason="pip install 'trectools-plus[measures]'")
    qrels, run = Qrels.from_dict({"1": {"a": 1}}), Run.from_dict({"1": {"a": 1.0}})
    with pytest.raises(UsageError, match=r"alpha_nDCG@10"):
        evaluate(qrels, run, ["alpha_nDCG@10"])


@pytest.mark.parametrize("name", ["BPM(max_rel=2)@10", "INST(max_rel=2)", "SDCG(max_rel=2)@10"])
def test_measures_of_cwl_eval(name):
    pytest.importorskip("cwl", reason="pip install 'trectools-plus[measures]'")
    grades, run = {"1": {"a": 1, "b": 2}}, {"1": {"a": 3.0, "x": 2.0, "b": 1.0}}
    if Version(version("cwl-eval")) < Version("1.0.10"):
        with pytest.raises(UsageError, match=r"1\.0\.10"):
            parse_measure(name)
        return
    theirs = ir_measures.calc_aggregate([ir_measures.parse_measure(name)], grades, run)
    assert score([name], run, grades).tolist() == [list(theirs.values())]


def test_a_missing_library_is_named_by_its_extra(monkeypatch):
    for name in ("pyndeval", "cwl_eval"):
        monkeypatch.setattr(type(getattr(ir_measures, name)), "is_available", lambda _: False)
    for name in ("alpha_nDCG@10", "BPM(max_rel=2)@10"):
        with pytest.raises(UsageError) as error:
            parse_measure(name)
        assert str(error.value) == (
            f"{name} needs the extra 'measures' — pip install 'trectools-plus[measures]'"
        )
