import json
from pathlib import Path

import pytest

from trectools_plus.benchmark.compare.compare_reports import refuse_incomparable
from trectools_plus.benchmark.report import NearMiss, TermLabel
from trectools_plus.benchmark.run.config_file import load_config
from trectools_plus.benchmark.run.runner import run_benchmark
from trectools_plus.errors import IncomparableError
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.reporting.files import write_reports
from trectools_plus.reporting.verification.verify import verify_report

FOLDER = Path(__file__).parents[3] / "fixtures" / "ontology"
TOY, HPOA = FOLDER / "toy.obo", FOLDER / "toy.hpoa"
ANIMAL, MAMMAL, DOG, CAT, PUPPY, ROBOT_DOG = (f"TOY:000{i}" for i in range(4, 10))
ARTEFACT, OTHER_ANIMAL, HOUND = "TOY:0003", "TOY:0104", "TOY:0010"

CASES = {
    # query: expected terms, first result, what it is to which of them
    "hit": ([DOG], DOG, None),
    "parent": ([DOG], MAMMAL, ("parent", [DOG])),
    "child": ([DOG], PUPPY, ("child", [DOG])),
    "sibling": ([DOG], CAT, ("sibling", [DOG])),
    "far": ([DOG], ANIMAL, None),
    "nearest": ([PUPPY, CAT, DOG], MAMMAL, ("parent", [DOG, CAT])),
    "several": ([PUPPY, CAT], DOG, ("parent", [PUPPY])),
    "two": ([DOG, ARTEFACT], ROBOT_DOG, ("child", [ARTEFACT, DOG])),
    "same": ([ANIMAL, MAMMAL], OTHER_ANIMAL, None),
    "obsolete": ([PUPPY], HOUND, ("parent", [PUPPY])),
    "unknown": ([DOG], "nonsense", None),
}
LABELS = {DOG: "dog", CAT: "cat", PUPPY: "puppy", ARTEFACT: "artefact"}


@pytest.fixture
def options(tmp_path):
    qrels, topics = tmp_path / "qrels.txt", tmp_path / "topics.tsv"
    rows = [f"{q} 0 {d} 2\n" for q, (expected, _, _) in CASES.items() for d in expected]
    qrels.write_text("".join([*rows, f"child 0 {PUPPY} 0\n"]))
    topics.write_text("".join(f"{q}\twords of {q}\n" for q in CASES))
    lines = [f"{q} Q0 {first} 1 9 x\n{q} Q0 TOY:0001 2 3 x\n" for q, (_, first, _) in CASES.items()]
    for name, kept in (("all", lines), ("few", lines[:3])):
        (tmp_path / f"{name}.run").write_text("".join(kept))
    runs = {name: str(tmp_path / f"{name}.run") for name in ("all", "few")}
    given = {"runs": runs, "qrels": str(qrels), "topics": str(topics), "ontology": str(TOY)}
    figures = {"measures": ["RR"], "resamples": 100}
    return {**given, **figures, "output_dir": str(tmp_path / "out")}


def run(options, **further):
    return run_benchmark(load_config(options={**options, **further}))


def test_hand_worked_relations(options):
    report = run(options).report
    found = {(miss.query_id, miss.mode): miss for miss in report.near_misses}
    for query_id, (_, first, near) in CASES.items():
        miss = found.get((query_id, "all"))
        assert (miss and (miss.relation, sorted(t.doc_id for t in miss.expected))) == near, query_id
        if miss:
            assert miss.first.doc_id == first
            assert miss.text == f"words of {query_id}"
            assert all(LABELS[term.doc_id] == term.label for term in miss.expected)
    assert {key for key in found if key[1] == "few"} == {("parent", "few"), ("child", "few")}
    assert found["obsolete", "all"].first == TermLabel(doc_id=HOUND, label="dog")


def test_relations_agree_with_the_hierarchy(options):
    """A parent or child is an ancestor or descendant; siblings share a parent."""
    ontology = Ontology.from_obo(TOY)
    near = run(options).report.near_misses
    assert near
    for miss in near:
        for term in miss.expected:
            first, expected = (ontology.term(one.doc_id).term_id for one in (miss.first, term))
            parents, others = ontology.parents[first], ontology.parents[expected]
            if miss.relation == "sibling":
                assert set(parents) & set(others)
            else:
                assert first in others or expected in parents


def test_only_relevant_terms_are_expected(options):
    near = run(options, measures=["P(rel=3)@1"]).report.near_misses
    assert near == []


def test_without_an_ontology_there_are_no_near_misses(options):
    options = {key: value for key, value in options.items() if key != "ontology"}
    assert run(options, measures=["P@1"]).report.near_misses is None
    named = f"MaxOntSim(ontology={str(TOY)!r})@1"
    assert len(run(options, measures=["P@1", named]).report.near_misses) == 9


def test_the_files_are_recorded_and_change_the_figures(options, tmp_path):
    lin = "MaxOntSim(formula='lin')@1"
    plain = run(options, measures=[lin]).report
    annotated = run(options, measures=[lin], annotations=str(HPOA)).report
    figures = [report.modes["all"].measures[lin] for report in (plain, annotated)]
    assert figures[0].mean != figures[1].mean
    assert "from the graph" in figures[0].definition.formula
    assert str(HPOA) in figures[1].definition.formula
    files = annotated.manifest.dataset.files
    assert (files["ontology"].path, files["annotations"].path) == (str(TOY), str(HPOA))
    contents = annotated.manifest.dataset.contents
    assert contents["annotations"] == files["annotations"].sha256
    assert plain.manifest.dataset.sha256 != annotated.manifest.dataset.sha256
    refuse_incomparable(plain, annotated, ("a", "b"))  # one of them knows no annotations
    other = tmp_path / "other.hpoa"
    other.write_text(HPOA.read_text() + f"OMIM:9\tIda\t\t{DOG}\n")
    changed = run(options, measures=[lin], annotations=str(other)).report
    with pytest.raises(IncomparableError):
        refuse_incomparable(annotated, changed, ("a", "b"))


def test_a_report_over_terms_can_be_verified(options):
    result = run(options, measures=["RR", "MaxOntSim(formula='lin')@1"], annotations=str(HPOA))
    write_reports(result, plots=False)
    assert verify_report(options["output_dir"]).problems == []


def test_another_ontology_is_a_problem(options, tmp_path):
    toy = tmp_path / "toy.obo"
    toy.write_bytes(TOY.read_bytes())
    write_reports(run(options, ontology=str(toy)), plots=False)
    toy.write_text(TOY.read_text() + "\n[Term]\nid: TOY:0099\nis_a: TOY:0001\n")
    assert any("toy.obo" in problem for problem in verify_report(options["output_dir"]).problems)


def test_any_obo_file_is_a_corpus(tmp_path):
    cases = tmp_path / "cases.json"
    cases.write_text(
        json.dumps(
            [{"text": "hound", "hpo_ids": [DOG]}, {"text": "beast", "hpo_ids": [OTHER_ANIMAL]}]
        )
    )
    config = load_config(
        options={
            "dataset": "hpo", "ontology": str(TOY), "test_file": str(cases), "modes": ["lexical"],
            "resamples": 100, "output_dir": str(tmp_path / "out"),
        }
    )  # fmt: skip
    report = run_benchmark(config).report
    assert report.manifest.dataset.documents == 9
    assert report.modes["lexical"].measures["MaxOntSim@1"].mean == 1.0
    assert report.near_misses == []


def test_a_near_miss_reads_back():
    miss = NearMiss(
        query_id="q", text=None, mode="m", first=TermLabel(doc_id="a", label="A"),
        relation="child", expected=[TermLabel(doc_id="b", label="B")],
    )  # fmt: skip
    assert NearMiss.model_validate_json(miss.model_dump_json()) == miss
