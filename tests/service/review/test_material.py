"""The contents of the page: results and texts of a report."""

import json
import shutil

import pytest

from trectools_plus.errors import UsageError
from trectools_plus.service.review.material import load_material


def test_material_has_texts_where_the_dataset_can_be_read(report):
    material = load_material(report)
    assert material.modes == ("lexical", "vector", "hybrid")
    assert material.notes == ()
    (query,) = (query for query in material.queries if query.query_id == "2")
    assert query.text == "protect young plants from slugs"
    assert material.documents["g03"].title == "Slugs and snails"
    assert len(query.results["lexical"]) <= 10


def test_material_has_ids_where_the_dataset_changed(report, tmp_path):
    path = report / "BenchmarkReport.json"
    document = json.loads(path.read_text())
    garden = shutil.copytree(document["manifest"]["config"]["dataset"], tmp_path / "garden")
    document["manifest"]["config"]["dataset"] = str(garden)
    path.write_text(json.dumps(document))
    assert load_material(report).documents
    corpus = garden / "corpus.jsonl"
    corpus.write_text(corpus.read_text().replace("Slugs", "Snails"))
    for _ in ("changed", "absent"):
        material = load_material(report)
        assert material.documents == {}
        assert material.queries[0].text is None
        assert len(material.notes) == 1
        corpus.unlink(missing_ok=True)


def test_modes_out_of_range_and_no_results_are_refused(report):
    assert load_material(report, ["hybrid", "lexical"], 3).modes == ("lexical", "hybrid")
    for modes, depth in ((["lexical"], 3), (["lexical", "none"], 3), (None, 0)):
        with pytest.raises(UsageError):
            load_material(report, modes, depth)
