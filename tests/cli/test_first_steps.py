"""What a new user writes first: names of commands, measures, tests and files."""

import json

import pytest
from harness.observe import ROOT

GARDEN = ROOT / "fixtures"
FILES = {
    "qrels": str(GARDEN / "garden-trec" / "qrels.txt"),
    "a": str(GARDEN / "runs" / "lexical.run"),
    "b": str(GARDEN / "runs" / "hybrid.run"),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("given", ["lexical", "lexical.run", FILES["a"]])
def test_a_baseline_may_be_named_by_its_file(program, tmp_path, given):
    runs = [FILES["a"], FILES["b"]]
    words = ["trectools-plus", "compare", *runs, "--qrels", FILES["qrels"], "--format", "json"]
    done = program([*words, "--baseline", given, "--test", "ttest"], tmp_path)
    document = json.loads(done.text)
    assert {entry["baseline"] for entry in document["comparisons"]} == {"lexical"}
    assert document["config"]["test"] == "t_test"
    words = ["trectools-plus", "benchmark", "run", "--runs", *runs, "--qrels", FILES["qrels"]]
    done = program([*words, "--baseline", given, "--output-dir", "out"], tmp_path)
    assert done.code == 0, done.stderr
