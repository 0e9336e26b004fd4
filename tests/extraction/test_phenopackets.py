import json

import pytest

from trectools_plus.errors import FormatError
from trectools_plus.extraction.inputs import phenopackets
from trectools_plus.extraction.inputs.predictions import read_predictions

FINDINGS = [("X:2", "affirmed"), ("X:4", "negated"), ("X:7", "uncertain"), ("X:6", "other_person")]


@pytest.fixture(autouse=True)
def fixed_time(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")


def test_a_phenopacket_has_the_findings_of_the_patient(ontology):
    found = phenopackets.make_phenopacket("d1", FINDINGS, ontology)
    assert found["phenotypicFeatures"] == [
        {"type": {"id": "X:2", "label": "Coloboma of the retina"}},
        {"type": {"id": "X:4", "label": "Seizure"}, "excluded": True},
        {"type": {"id": "X:7", "label": "Anemia"}, "description": "uncertain"},
    ]
    metadata = found["metaData"]
    assert (metadata["created"], metadata["phenopacketSchemaVersion"]) == (
        "1970-01-01T00:00:00Z",
        "2.0",
    )
    assert metadata["resources"][0]["version"] == "1"
    assert found["subject"] == {"id": "d1"}


def test_the_schema_accepts_what_is_written(ontology):
    # The package needs an older protobuf than the extras, so it is tested where somebody has it.
    schema = pytest.importorskip("phenopackets.schema.v2")
    from google.protobuf.json_format import ParseDict

    record = phenopackets.make_phenopacket("d1", FINDINGS, ontology)
    assert ParseDict(record, schema.Phenopacket()).id == "d1"


def test_predictions_are_read_from_what_is_written(ontology, tmp_path):
    folder = tmp_path / "annotations"
    files = phenopackets.write_phenopackets({"a/b": FINDINGS, "c": []}, folder, ontology)
    assert [file.name for file in files] == ["a%2Fb.json", "c.json"]
    expected = {"X:2": "affirmed", "X:4": "negated", "X:7": "uncertain"}
    read = read_predictions(folder, ["a/b", "c"], ontology)
    assert {one.term_id: one.assertion for one in read.by_document["a/b"]} == expected


@pytest.mark.parametrize("features", [[{}], ["X:1"], [{"type": {"label": "Seizure"}}]])
def test_a_finding_without_an_id_is_refused(tmp_path, ontology, features):
    path = tmp_path / "d.json"
    path.write_text(json.dumps({"id": "d", "phenotypicFeatures": features}, indent=1))
    with pytest.raises(FormatError, match=r"phenotypic feature|not a phenopacket"):
        read_predictions(path, ["d"], ontology)


def test_a_query_writes_its_results(call, obo_path, tmp_path):
    base = ("query", "retinal coloboma", "--mode", "lexical", "--depth", "1")
    code, _, _ = call(*base, "--ontology", obo_path, "--phenopackets", tmp_path / "p")
    assert code == 0
    record = json.loads((tmp_path / "p" / "query.json").read_text())
    assert record["phenotypicFeatures"] == [
        {"type": {"id": "X:2", "label": "Coloboma of the retina"}}
    ]
