import math
from pathlib import Path

import pytest

from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.definitions.max_ont_sim import MaxOntSim, bind_files, check_files_used
from trectools_plus.measures.evaluation import evaluate
from trectools_plus.measures.parser import parse_measure
from trectools_plus.measures.scoring import open_files
from trectools_plus.ontology.similarity import FORMULAS

TOY = Path(__file__).parents[3] / "fixtures" / "ontology" / "toy.obo"
DOG, CAT, PUPPY, ROBOT_DOG = (f"TOY:000{i}" for i in range(6, 10))
HPOA = TOY.with_suffix(".hpoa")
ARTEFACT, HOUND = "TOY:0003", "TOY:0010"


def measure(cutoff: int | None = 10, **parameters) -> MaxOntSim:
    return MaxOntSim(cutoff, ontology=TOY, **parameters)


@pytest.mark.parametrize("formula", FORMULAS)
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


def test_irrelevant_documents_are_not_expected():
    assert measure().score_query([CAT], {DOG: 1, CAT: 0}) == pytest.approx(0.645)
    assert measure(rel=2).score_query([CAT], {DOG: 2, CAT: 1}) == pytest.approx(0.645)


def test_predicted_ids_that_are_no_terms_count_0():
    assert measure().score_query(["unknown"], {DOG: 1}) == 0
    assert measure().score_query(["unknown", CAT], {DOG: 1, "gone": 1}) == pytest.approx(0.645)


@pytest.mark.parametrize("ranking", [[DOG], ["d1"], ["d1", DOG], ["x", "d2"]])
def test_expected_ids_that_are_no_terms_are_refused_whatever_the_ranking(ranking):
    """An exact hit on an id that is no term would be 1.0."""
    qrels = Qrels.from_dict({"1": {"d1": 1, "d2": 2, DOG: 0}})
    run = Run.from_dict({"1": {doc: -float(place) for place, doc in enumerate(ranking)}})
    with pytest.raises(UsageError, match=r"d1.*d2") as error:
        evaluate(qrels, run, [measure()], missing="drop")
    assert "toy.obo" in str(error.value)
    assert "ontology='FILE'" in str(error.value)


def test_ids_that_are_no_terms_count_0_and_are_noted():
    qrels = Qrels.from_dict({"1": {DOG: 1}, "2": {"d1": 1, "d2": 1}, "3": {"d1": 1}})
    run = Run.from_dict({"1": {DOG: 2.0, "x": 1.0}, "2": {CAT: 2.0}, "3": {"d1": 1.0}}, name="mine")
    evaluation = evaluate(qrels, run, [measure()])
    assert evaluation.values("mine", measure().name).tolist() == [1.0, 0.0, 1.0]
    expected, predicted = evaluation.notes
    assert "similar only to an equal id" in expected
    assert "2 of 3 relevant documents of the qrels are not terms of" in expected
    assert "d1, d2" in expected
    assert "2 of 4 documents of run mine are not terms of" in predicted
    assert "x, d1" in predicted


def test_wrong_parameters_are_refused_before_anything_is_read():
    with pytest.raises(UsageError, match=r"hybrid_depth.*simple_resnik_like"):
        MaxOntSim(10, formula="lin?")
    with pytest.raises(UsageError):
        MaxOntSim(10, level=2)
    with pytest.raises(UsageError, match="cutoff"):
        MaxOntSim(0)
    with pytest.raises(UsageError, match="hybrid_depth"):
        MaxOntSim(10, formula="hybrid_depth", annotations="x")


MAMMAL_IC, DOG_IC, CAT_IC = (math.log(8 / n) for n in (4, 3, 1))  # see toy.hpoa
FROM_GRAPH, FROM_ANNOTATIONS = (
    2 * (1 - math.log(5) / math.log(9)) / 1.5,
    2 * MAMMAL_IC / (DOG_IC + CAT_IC),
)


def test_where_information_content_is_from():
    def score(one):
        return one.score_query([CAT], {DOG: 1})

    assert score(measure(formula="lin")) == pytest.approx(FROM_GRAPH)
    assert score(measure(formula="lin", annotations=HPOA)) == pytest.approx(FROM_ANNOTATIONS)
    bound = MaxOntSim(10, formula="lin").with_files(TOY, HPOA)
    assert score(bound) == pytest.approx(FROM_ANNOTATIONS)
    assert bound.name == "MaxOntSim(formula='lin')@10"
    assert "toy.hpoa" in bound.definition.formula
    assert "from the graph" in measure(formula="lin").definition.formula


def test_files_that_no_measure_looks_at_are_refused():
    hybrid, lin = MaxOntSim(10), MaxOntSim(10, formula="lin")
    check_files_used([hybrid, lin], TOY, HPOA)
    check_files_used([hybrid], TOY)
    with pytest.raises(UsageError, match="--annotations"):
        check_files_used([hybrid], TOY, HPOA)
    for measures in ([], [measure()], [parse_measure("P@5")]):
        with pytest.raises(UsageError, match="--ontology"):
            check_files_used(measures, TOY)
    assert bind_files([parse_measure("P@5")], TOY) == [parse_measure("P@5")]


def test_a_run_of_near_misses_alone_is_scored(tmp_path):
    """Nothing of it is judged, which would be a mistake for other measures."""
    run, qrels = Run.from_dict({"1": {CAT: 1.0}}, name="mine"), Qrels.from_dict({"1": {DOG: 1}})
    assert evaluate(qrels, run, [measure()]).mean("mine", measure().name) == pytest.approx(0.645)
    with pytest.raises(CheckFailedError, match="P105"):
        evaluate(qrels, run, ["P@1"])
    with pytest.raises(CheckFailedError, match="P101"):
        evaluate(Qrels.from_dict({"2": {DOG: 1}}), run, [measure()])
    (tmp_path / "run").write_text(f"1 Q0 {CAT} 1 1.0 mine\n")
    (tmp_path / "qrels").write_text(f"1 0 {DOG} 1\n")
    files = str(tmp_path / "qrels"), [str(tmp_path / "run")]
    assert open_files(*files, [measure()])[1][0].frame.height == 1
    with pytest.raises(CheckFailedError, match="P105"):
        open_files(*files, [parse_measure("P@1")])


def test_by_name_in_an_evaluation():
    name = f"MaxOntSim(formula='hybrid_depth',ontology='{TOY}')@1"
    run = Run.from_dict({"q1": {ROBOT_DOG: 2.0, CAT: 1.0}, "q2": {CAT: 1.0}})
    qrels = Qrels.from_dict({"q1": {DOG: 1}, "q2": {DOG: 3, CAT: 0}, "q3": {DOG: 1}})
    evaluation = evaluate(qrels, run, [name])
    assert evaluation.mean("run", name) == pytest.approx((1.0 + 0.645 + 0.0) / 3)
