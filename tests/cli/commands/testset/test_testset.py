"""Tests of ``testset …`` and ``benchmark multilingual``: exit codes, outputs, files."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trectools_plus.cli.app import app
from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.testsets.loading import read_test_set

OWN = [
    {"query_id": "1", "text": "Seizures", "relevant": {"d1": 3, "d2": 1}, "language": "en"},
    {"query_id": "2", "text": "broad thumb", "relevant": {"d3": 3}, "language": "en"},
    {"query_id": "3", "text": "short neck", "relevant": {"d4": 3}, "language": "en"},
]
BAD = [{**OWN[0], "relevant": {"d1": 4}}]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.json").write_text(json.dumps(OWN), encoding="utf-8")
    (tmp_path / "bad.json").write_text(json.dumps(BAD), encoding="utf-8")
    return tmp_path


def invoke(*words):
    return CliRunner().invoke(app, ["testset", *words])


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("own.json",), 0),
        (("own.json", "hpo-de-tiny"), 0),
        (("bad.json",), 1),
        (("bad.json", "--ignore", "T211"), 0),
        (("bad.json", "--select", "grade-scale"), 1),
        (("own.json", "own.json"), 1),
        (("own.json", "--strict"), 0),
    ],
)
def test_validate_exit_codes(check_exit_code, words, code):
    check_exit_code("testset validate", words, code)


def test_refresh_records_the_annotators():
    pool = ("--pool", "hpo-en-comprehensive", "-n", "4", "--seed", "1")
    refresh = ("refresh", "hpo-en-standard", "next.json", *pool)
    assert isinstance(invoke(*refresh).exception, UsageError)
    document = json.loads(invoke(*refresh, "--accept-low-agreement", "--format", "json").stdout)
    added = [query["query_id"] for query in document["added"]]
    rows = [f"{query} 0 {doc} {grade}\n" for query in added for doc, grade in (("a", 3), ("b", 0))]
    Path("anna.qrels").write_text("".join(rows))
    Path("carl.qrels").write_text("".join(rows).translate(str.maketrans("ab", "ba")))
    Path("next.json").unlink()
    low = invoke(*refresh, "--annotators", "anna.qrels", "C=carl.qrels")
    assert isinstance(low.exception, CheckFailedError)
    assert "kappa is -1.0000, not above 0.6 — anna and C" in str(low.exception)
    assert not Path("next.json").exists()
    assert invoke(*refresh, "--annotators", "anna.qrels", "ben=anna.qrels").exit_code == 0
    (entry,) = read_test_set("next.json").metadata.model_extra["changes"]
    assert entry["agreement"]["annotators"] == ["anna", "ben"]


def test_convert_writes_one_file_per_language(folder):
    cases = [
        {"text": "seizures", "hpo_ids": ["HP:0001250"], "language": "en"},
        {"text": "Krampfanfälle", "hpo_ids": ["HP:0001250"], "language": "de"},
    ]
    (folder / "mixed.json").write_text(json.dumps(cases), "utf-8")
    done = invoke("convert", "mixed.json", "mix.json", "--split-languages")
    assert (done.exit_code, done.stdout) == (
        0,
        "1 query: mix-en.json\n1 query: mix-de.json\n",
    )
    assert [query.text for query in read_test_set("mix-de.json").queries] == ["Krampfanfälle"]
    assert (
        invoke("convert", "mixed.json", "out", "--to", "trec", "--split-languages").exit_code == 0
    )
    assert (folder / "out" / "de" / "topics.tsv").read_text("utf-8") == "case-002\tKrampfanfälle\n"
    assert invoke("convert", "mixed.json", "mix.yaml.gz", "--split-languages").exit_code == 0
    assert len(read_test_set("mix-en.yaml.gz").queries) == 1
    refused = invoke("convert", "mixed.json", "-", "--to", "json", "--split-languages")
    assert isinstance(refused.exception, UsageError)
