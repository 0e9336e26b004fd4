import json

import pytest

from trectools_plus.errors import IncomparableError, UsageError
from trectools_plus.extraction.report import ExtractionSettings
from trectools_plus.extraction.runner import ExtractionOptions, run_extraction
from trectools_plus.extraction.scoring import compare_extractions


@pytest.fixture
def reports(collection, obo_path):
    def run(**values):
        settings = ExtractionSettings(method="dictionary", **values)
        return run_extraction(collection, ontology=obo_path, settings=settings).report

    return run


def test_two_systems(reports, collection, obo_path, tmp_path):
    file = tmp_path / "theirs.jsonl"
    records = [("d1", "X:3"), ("d2", "X:6"), ("d2", "X:8")]
    lines = [json.dumps({"doc_id": doc_id, "hpo_id": term}) for doc_id, term in records]
    file.write_text("\n".join(lines))
    theirs = run_extraction(
        collection, ontology=obo_path, options=ExtractionOptions(predictions=file)
    ).report
    comparison = compare_extractions(theirs, reports())
    by_name = {(one.average, one.figure): one for one in comparison.differences}
    recall = by_name["micro", "recall"]
    assert (recall.first, recall.second) == (0.5, 0.75)
    assert recall.low <= recall.difference <= recall.high
    assert comparison.f1.wins == 1
    assert list(comparison.by_document.ids) == ["d1", "d2", "d3"]


def test_a_system_does_not_differ_from_itself(reports):
    report = reports()
    for one in compare_extractions(report, report).differences:
        assert (one.difference, one.low, one.high) == (0, None, None)


def test_other_documents_are_refused(reports, collection):
    first = reports()
    path = collection / "small" / "annotations" / "d3.json"
    path.write_text(path.read_text("utf-8").replace("Nothing", "Little"), "utf-8")
    with pytest.raises(IncomparableError):
        compare_extractions(first, reports())


def test_one_document_is_no_comparison(reports, collection):
    for name in ("d2", "d3"):
        (collection / "small" / "annotations" / f"{name}.json").unlink()
    report = reports()
    with pytest.raises(UsageError):
        compare_extractions(report, report)
