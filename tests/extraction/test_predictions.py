"""Predictions of other systems, in the forms that language models and tools write."""

import json

import pytest

from trectools_plus.errors import FormatError
from trectools_plus.extraction.predictions import read_predictions
from trectools_plus.extraction.runner import ExtractionOptions, run_extraction

FOUND = {"X:2": "affirmed", "X:4": "negated"}
RECORDS = [
    {"id": "X:2", "label": "Retinal coloboma"},
    {"id": "X:4", "label": "Seizure", "negated": True},
]
ANSWER = f"Here are the terms:\n```json\n{json.dumps(RECORDS)}\n```\nLet me know!"


def terms(found, doc_id="d1"):
    return {one.term_id: one.assertion for one in found.by_document[doc_id]}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", json.dumps([{"doc_id": "d1", **one} for one in RECORDS])),
        ("b.json", json.dumps({"d1": RECORDS, "d2": []}, indent=1)),
        ("c.jsonl", json.dumps({"doc_id": "d1", "phenotypes": RECORDS})),
        ("d.jsonl", json.dumps({"doc_id": "d1", "response": ANSWER})),
        (
            "e.json",
            json.dumps([{"document": "d1", "terms": [{"hpo_id": "X:2", "term": "Eye"}]}]).replace(
                '"term": "Eye"}', '"term": "retinal colobomas"}, {"hpo_id": "X_4", "excluded": 1}'
            ),
        ),
        (
            "f.csv",
            "doc_id,id,label,negated\nd1,X:2,Retinal coloboma,no\nd1,X:4,Seizure,true\n",
        ),
        ("g.tsv", "Document ID\tHPO ID\tAssertion\nd1\tX:2\t\nd1\tX:4\tabsent\n"),
        (
            "h.json",
            json.dumps(
                {
                    "id": "d1",
                    "phenotypicFeatures": [
                        {"type": {"id": "X:2", "label": "Retinal coloboma"}},
                        {"type": {"id": "X:4", "label": "Seizure"}, "excluded": True},
                    ],
                    "metaData": {"resources": [{"id": "x_1"}]},
                }
            ),
        ),
    ],
)
def test_usual_forms_are_read(tmp_path, ontology, name, content):
    path = tmp_path / name
    path.write_text(content)
    found = read_predictions(path, ["d1", "d2"], ontology)
    assert terms(found) == FOUND
    assert found.by_document["d2"] == []
    assert not any(found.problems.values())


@pytest.mark.parametrize("content", [json.dumps(RECORDS), ANSWER, json.dumps({"terms": RECORDS})])
def test_a_folder_has_a_file_for_each_document(tmp_path, ontology, content):
    (tmp_path / "d1.txt").write_text(content)
    (tmp_path / "d%2F2.json").write_text(json.dumps({"phenotypes": ["X:7"]}, indent=1))
    found = read_predictions(tmp_path, ["d1", "d/2"], ontology)
    assert terms(found) == FOUND
    assert terms(found, "d/2") == {"X:7": "affirmed"}


def test_wrong_ids_and_labels_are_counted_and_the_rest_is_scored(collection, obo_path, tmp_path):
    path = tmp_path / "p.json"
    given = [
        ("X:2", "Retinal coloboma"),
        ("X:999", "Blue hair"),
        ("X:998", ""),
        ("X:7", "Absent speech"),  # the name of another term
        ("X:6", "Ventricular septum with a defect"),  # in other words
        ("X:41", ""),
        ("X:42", ""),
    ]
    path.write_text(
        json.dumps([{"doc_id": "d1", "id": one, "label": label} for one, label in given], indent=1)
    )
    result = run_extraction(
        collection,
        ontology=obo_path,
        options=ExtractionOptions(predictions=path, intervals=False),
    )
    assert {one.term_id for one in result.predictions["d1"]} == {"X:2", "X:6", "X:4"}
    assert result.report.system.problems == {
        "invented": 2,
        "mislabelled": 1,
        "withdrawn": 1,
        "obsolete": 1,
    }
    assert result.report.notes[:2] == [
        "predicted ids that are not in the ontology (not scored): 2 (X:998, X:999 (Blue hair))",
        "predictions with a label that does not belong to the id (not scored): 1 "
        "(X:7 (Absent speech))",
    ]


def test_an_unknown_id_of_the_gold_terms_is_scored(tmp_path, ontology):
    (tmp_path / "p.jsonl").write_text('{"doc_id": "d1", "hpo_id": "Y:1"}\n')
    found = read_predictions(tmp_path / "p.jsonl", ["d1"], ontology, gold=["Y:1"])
    assert terms(found) == {"Y:1": "affirmed"}


def test_a_prediction_without_a_document_is_refused(tmp_path, ontology):
    (tmp_path / "p.json").write_text(json.dumps(RECORDS, indent=1))
    assert terms(read_predictions(tmp_path / "p.json", ["d1"], ontology)) == FOUND
    with pytest.raises(FormatError, match="names no document"):
        read_predictions(tmp_path / "p.json", ["d1", "d2"], ontology)
