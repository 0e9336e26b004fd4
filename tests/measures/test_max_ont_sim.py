from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.evaluator import evaluate
from trectools_plus.measures.max_ont_sim import MaxOntSim
from trectools_plus.ontology.ontology import Ontology

TOY = Path(__file__).parents[2] / "fixtures" / "ontology" / "toy.obo"
DOG, CAT, PUPPY, ROBOT_DOG = (f"TOY:000{i}" for i in range(6, 10))
ARTEFACT, HOUND = "TOY:0003", "TOY:0010"


def measure(cutoff: int | None = 10, **parameters) -> MaxOntSim:
    return MaxOntSim(cutoff, ontology=TOY, **parameters)


@pytest.mark.parametrize("formula", ["hybrid", "hybrid_depth", "simple_resnik_like"])
def test_an_exact_hit_is_1_by_every_formula(formula):
    assert measure(formula=formula).score_query([CAT, DOG], {DOG: 1}) == 1.0
    assert measure(formula=formula).score_query([HOUND], {DOG: 1}) == 1.0  # replaced by dog
    assert measure(formula=formula).score_query(["unknown"], {"unknown": 1}) == 1.0


def test_values_by_hand():
    assert measure().score_query([CAT], {DOG: 1}) == pytest.approx(0.645)
    assert measure().score_query([ARTEFACT, CAT], {DOG: 2, PUPPY: 1}) == pytest.approx(0.645)
    assert measure().score_query([ROBOT_DOG], {DOG: 1}) == pytest.approx(0.81)
    assert measure(formula="hybrid_depth").score_query([ROBOT_DOG], {DOG: 1}) == 1.0
    assert measure(formula="simple_resnik_like").score_query([CAT], {DOG: 1}) == 0.6


def test_only_the_first_k_count():
    ranking = [ARTEFACT, CAT, DOG]
    values = [measure(k).score_query(ranking, {DOG: 1}) for k in (1, 2, 3, 10, None)]
    assert values == pytest.approx([0, 0.645, 1, 1, 1])


def test_irrelevant_documents_are_not_expected():
    assert measure().score_query([CAT], {DOG: 1, CAT: 0}) == pytest.approx(0.645)
    assert measure(rel=2).score_query([CAT], {DOG: 2, CAT: 1}) == pytest.approx(0.645)


def test_either_side_empty_is_0():
    assert measure().score_query([], {DOG: 1}) == 0
    assert measure().score_query([DOG], {}) == 0
    assert measure().value_without_results == 0


def test_predicted_ids_that_are_no_terms_count_0():
    assert measure().score_query(["unknown"], {DOG: 1}) == 0
    assert measure().score_query(["unknown", CAT], {DOG: 1, "gone": 1}) == pytest.approx(0.645)


@pytest.mark.parametrize("ranking", [[DOG], ["d1"], ["d1", DOG], ["x", "d2"]])
def test_expected_ids_that_are_no_terms_are_refused_whatever_the_ranking(ranking):
    """An exact hit on an id that is no term would be 1.0."""
    qrels = Qrels.from_dict({"1": {"d1": 1, "d2": 2, DOG: 0}})
    run = Run.from_dict({"1": {doc: -float(place) for place, doc in enumerate(ranking)}})
    with pytest.raises(
        UsageError, match=r"relevant documents of the qrels is one: d1, d2"
    ) as error:
        evaluate(qrels, run, [measure()], missing="drop")
    assert "toy.obo" in str(error.value)
    assert "ontology='FILE'" in str(error.value)


def test_runs_without_a_term_in_the_first_k_are_refused():
    qrels = Qrels.from_dict({"1": {DOG: 1}, "2": {CAT: 1, "d1": 1}})
    run = Run.from_dict({"1": {"x": 2.0, DOG: 1.0}, "2": {"d1": 2.0}}, name="mine")
    with pytest.raises(
        UsageError, match=r"none of the documents in the first 1 of run mine .* x, d1"
    ):
        evaluate(qrels, run, [measure(1)])
    assert evaluate(qrels, run, [measure(2)]).mean("mine", measure(2).name) == 1.0


def test_ids_that_are_no_terms_count_0_and_are_noted():
    qrels = Qrels.from_dict({"1": {DOG: 1}, "2": {"d1": 1, "d2": 1}, "3": {"d1": 1}})
    run = Run.from_dict({"1": {DOG: 2.0, "x": 1.0}, "2": {CAT: 2.0}, "3": {"d1": 1.0}}, name="mine")
    evaluation = evaluate(qrels, run, [measure()])
    assert evaluation.values("mine", measure().name).tolist() == [1.0, 0.0, 1.0]
    expected, predicted = evaluation.notes
    assert "similar to nothing but an equal id" in expected
    assert expected.endswith("2 of 3 relevant documents of the qrels: d1, d2")
    assert predicted.endswith("2 of 4 documents in the first 10 of run mine: x, d1")


def test_names():
    assert MaxOntSim(10).name == "MaxOntSim@10"
    assert MaxOntSim(10, formula="hybrid_depth").name == "MaxOntSim(formula='hybrid_depth')@10"
    assert MaxOntSim(1, formula="hybrid").name == "MaxOntSim@1"
    assert MaxOntSim(3, ontology=Path("a.obo")).name == "MaxOntSim(ontology='a.obo')@3"
    assert MaxOntSim(3, rel=2).name == "MaxOntSim(rel=2)@3"


def test_wrong_parameters_are_refused_before_anything_is_read():
    with pytest.raises(UsageError, match="hybrid, hybrid_depth, simple_resnik_like"):
        MaxOntSim(10, formula="lin?")
    with pytest.raises(UsageError, match="no parameter level"):
        MaxOntSim(10, level=2)
    with pytest.raises(UsageError, match="cutoff"):
        MaxOntSim(0)


def test_a_missing_ontology_is_an_input_error():
    with pytest.raises(InputError):
        MaxOntSim(10, ontology="nowhere.obo").score_query([DOG], {DOG: 1})


@pytest.mark.parametrize("formula", ["hybrid", "hybrid_depth", "simple_resnik_like"])
def test_the_definition_says_what_is_computed(formula):
    definition = measure(5, formula=formula, rel=2).definition
    assert definition.name == measure(5, formula=formula, rel=2).name
    assert definition.cutoff == 5
    assert definition.relevance_level == 2
    assert formula in definition.formula
    assert "depth(LCA)" in definition.formula or "As ``hybrid``" not in definition.formula
    assert "toy.obo" in definition.formula
    assert "the first 5" in definition.formula
    assert definition.trec_eval_call is None


IDS = st.lists(st.sampled_from([f"TOY:{i:04d}" for i in range(1, 10)]), min_size=1, unique=True)


@settings(deadline=None)
@given(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=4), st.integers(1, 4))
def test_many_queries_equal_one_by_one_and_the_ontology(queries, cutoff):
    ontology = Ontology.from_obo(TOY)
    rankings = [ranking for ranking, _ in queries]
    qrels = [dict.fromkeys(expected, 1) for _, expected in queries]
    values = measure(cutoff).score_queries(rankings, qrels)
    alone = [measure(cutoff).score_query(r, q) for r, q in zip(rankings, qrels, strict=True)]
    np.testing.assert_array_equal(values, alone)
    direct = [ontology.max_similarity(q, r[:cutoff]) for r, q in zip(rankings, qrels, strict=True)]
    np.testing.assert_array_equal(values, direct)
    assert (
        np.diff([measure(k).score_query(rankings[0], qrels[0]) for k in range(1, 9)]) >= 0
    ).all()


def test_by_name_in_an_evaluation():
    name = f"MaxOntSim(formula='hybrid_depth',ontology='{TOY}')@1"
    run = Run.from_dict({"q1": {ROBOT_DOG: 2.0, CAT: 1.0}, "q2": {CAT: 1.0}})
    qrels = Qrels.from_dict({"q1": {DOG: 1}, "q2": {DOG: 3, CAT: 0}, "q3": {DOG: 1}})
    evaluation = evaluate(qrels, run, [name])
    assert evaluation.mean("run", name) == pytest.approx((1.0 + 0.645 + 0.0) / 3)
