import json

import pytest
from harness.files import write

from trectools_plus.errors import FormatError, InputError, UsageError
from trectools_plus.extraction.inputs import write_predictions
from trectools_plus.extraction.report import (
    ExtractionSettings,
    extraction_report_schema,
    load_extraction_report,
)
from trectools_plus.extraction.runner import ExtractionOptions, run_extraction
from trectools_plus.reporting.export import render_json
from trectools_plus.reporting.extraction import write_extraction
from trectools_plus.statistics.arrays import Resampling

DICTIONARY = ExtractionSettings(method="dictionary")


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


def test_counts_by_hand(collection, obo_path):
    report = run_extraction(collection, ontology=obo_path, settings=DICTIONARY).report
    d1, d2, d3 = (document.counts["present"]["exact"] for document in report.documents)
    assert (d1.gold, d1.predicted, d1.credit_gold, d1.f1) == (2, 2, 2, 1)
    assert (d2.gold, d2.predicted, d2.credit_gold, d2.f1) == (2, 2, 1, 0.5)
    assert (d3.gold, d3.predicted, d3.f1) == (0, 0, 1)
    strict = report.documents[0].counts["strict"]["exact"]
    assert (strict.gold, strict.predicted, strict.f1) == (3, 3, 1)
    assert report.scores["present"]["exact"]["micro"].f1.value == 0.75
    (missed,), (spurious,) = report.mistakes.missed, report.mistakes.spurious
    assert (missed.term_id, spurious.term_id) == ("X:7", "X:8")
    assert spurious.text == "Severe anaemia"
    assert report.dataset.terms == report.dataset.annotations == 5


def test_own_predictions_score_the_same_when_read_back(collection, obo_path, tmp_path):
    result = run_extraction(collection, ontology=obo_path, settings=DICTIONARY)
    write_predictions(result.predictions, tmp_path / "p.jsonl")
    again = run_extraction(
        collection, ontology=obo_path, options=ExtractionOptions(predictions=tmp_path / "p.jsonl")
    )
    assert again.report.scores == result.report.scores
    assert again.report.documents == result.report.documents
    assert again.report.system.settings is None


@pytest.mark.parametrize(
    "record",
    [
        {"doc_id": "zz", "hpo_id": "X:4"},
        {"doc_id": "d1"},
        {"doc_id": "d1", "hpo_id": "X:4", "assertion": "perhaps"},
        {"doc_id": "d1", "hpo_id": "X:4", "score": "high"},
        {"doc_id": "d1", "hpo_id": 4},
    ],
)
def test_wrong_predictions_are_named_by_line(collection, obo_path, tmp_path, record):
    path = write(tmp_path / "p.jsonl", lines({"doc_id": "d1", "hpo_id": "X:4"}, record))
    with pytest.raises(FormatError) as caught:
        run_extraction(collection, ontology=obo_path, options=ExtractionOptions(predictions=path))
    assert caught.value.line == 2


def test_nothing_predicted_scores_nothing(collection, obo_path, tmp_path):
    (tmp_path / "p.jsonl").write_text("")
    report = run_extraction(
        collection, ontology=obo_path, options=ExtractionOptions(predictions=tmp_path / "p.jsonl")
    ).report
    assert report.scores["present"]["exact"]["micro"].f1.value == 0
    assert report.scores["present"]["exact"]["macro"].f1.value == pytest.approx(1 / 3)
    assert report.notes[-1] == "documents without a prediction: 3 of 3 (d1, d2, d3)"


def test_one_document_has_no_interval(collection, obo_path):
    for name in ("d2", "d3"):
        (collection / "small" / "annotations" / f"{name}.json").unlink()
    settings = ExtractionSettings(method="dictionary")
    report = run_extraction(collection, ontology=obo_path, settings=settings).report
    for by_matching in report.scores.values():
        for by_average in by_matching.values():
            assert {score.f1.ci for score in by_average.values()} == {None}
    assert report.notes[-1].startswith("no intervals: they need at least two")
    bare = run_extraction(
        collection, ontology=obo_path, settings=settings, options=ExtractionOptions(intervals=False)
    ).report
    assert not any(note.startswith("no intervals") for note in bare.notes)


def test_files_hold_the_report_and_repeat(collection, obo_path, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    contents = []
    for name in ("one", "two"):
        result = run_extraction(collection, ontology=obo_path, settings=DICTIONARY)
        files = write_extraction(result, tmp_path / name)
        assert load_extraction_report(tmp_path / name) == result.report
        contents.append([path.read_bytes() for path in files.values()])
    assert contents[0] == contents[1]


def test_the_report_follows_its_schema(collection, obo_path):
    from jsonschema import validate

    report = run_extraction(collection, ontology=obo_path, settings=DICTIONARY).report
    validate(json.loads(render_json(report)), extraction_report_schema())


def test_wrong_options_are_refused(collection, obo_path, tmp_path):
    with pytest.raises(UsageError):
        run_extraction(
            collection,
            ontology=obo_path,
            settings=DICTIONARY,
            options=ExtractionOptions(resampling=Resampling(0)),
        )
    (tmp_path / "ExtractionReport.json").write_text("{}")
    with pytest.raises(InputError):
        load_extraction_report(tmp_path)
