"""Predictions in phenopackets."""

import json

import pytest

from trectools_plus.errors import FormatError
from trectools_plus.extraction.inputs import read_predictions

FEATURES = [
    {"type": {"id": "X:2", "label": "Coloboma of the retina"}},
    {"type": {"id": "X:4", "label": "Seizure"}, "excluded": True},
]


def test_a_folder_has_a_packet_for_each_document(ontology, tmp_path):
    for name, features in (("a%2Fb", FEATURES), ("c", [])):
        packet = {"id": "patient", "phenotypicFeatures": features}
        (tmp_path / f"{name}.json").write_text(json.dumps(packet))
    read = read_predictions(tmp_path, ["a/b", "c"], ontology)
    expected = {"X:2": "affirmed", "X:4": "negated"}
    assert {one.term_id: one.assertion for one in read.by_document["a/b"]} == expected
    assert read.by_document["c"] == []


@pytest.mark.parametrize("features", [[{}], [{"type": {"label": "Seizure"}}]])
def test_a_finding_without_an_id_is_refused(tmp_path, ontology, features):
    path = tmp_path / "d.json"
    path.write_text(json.dumps({"id": "d", "phenotypicFeatures": features}, indent=1))
    with pytest.raises(FormatError, match="id of a term"):
        read_predictions(path, ["d"], ontology)
