"""``extraction run``, ``extraction compare`` and ``extraction sweep`` as users call them."""

import io
import json

import pytest


@pytest.fixture
def words(collection, obo_path):
    return [collection, "--ontology", obo_path]


def test_sweep_writes_the_plot(call, words, tmp_path):
    code, _, _ = call(
        *("extraction", "sweep", *words, "--systems", "dictionary"),
        *("--values", "0.3,0.5,0.9", "--output-dir", tmp_path / "s"),
    )
    assert code == 0
    assert (tmp_path / "s" / "precision_recall_tradeoff.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "s" / "precision_recall_tradeoff.svg").is_file()
    record = json.loads((tmp_path / "s" / "sweep.json").read_text("utf-8"))
    assert len(record["curves"][0]["points"]) == 3


@pytest.mark.parametrize(
    ("further", "code", "said"),
    [
        (["--dataset", "none"], 2, "annotations"),
        (["--min-confidence", "3"], 2, "at most 1 but got 3.0 — min_confidence"),
        (["--similarity", "none"], 2, "removed"),
        (["--predictions", "none.jsonl"], 2, "none.jsonl"),
        (["--root", "X:99"], 2, "X:99 is not a term"),
        (["sweep", "--values", "low,high"], 2, "expected numbers"),
        (["sweep", "--values", "7"], 2, "at most 1 but got 7.0 — min_confidence"),
    ],
)
def test_what_cannot_be_run_is_one_line(call, words, further, code, said):
    command = "sweep" if further[0] == "sweep" else "run"
    method = ["--method", "dictionary"] if further[0] not in ("--predictions", "sweep") else []
    options = [one for one in further if one != command]
    got, out, err = call("extraction", command, *words, *method, *options)
    assert (got, out) == (code, "")
    assert said in err
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1


def test_root_filters_gold_and_predictions(call, words, tmp_path):
    """Gold: X:2, X:3 below X:1; X:6 and X:7 elsewhere, and X:4 is negated."""
    base = ("extraction", "run", *words, "--method", "dictionary", "--no-bootstrap-ci")
    _, out, _ = call(*base, "--root", "X:1", "--format", "json")
    report = json.loads(out)
    assert report["manifest"]["root"] == "X:1"
    assert (report["dataset"]["terms"], report["dataset"]["outside"]) == (2, 3)
    score = report["scores"]["present"]["exact"]["micro"]
    assert (score["precision"]["value"], score["recall"]["value"]) == (1, 1)


def test_plain_texts_are_extracted_and_not_scored(call, obo_path, tmp_path, monkeypatch):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("Retinal coloboma. No seizures.")
    (tmp_path / "texts" / "b.txt").write_text("Nothing.")
    base = ("--ontology", obo_path, "--format", "json")
    expected = [("X:2", "Coloboma of the retina", "affirmed"), ("X:4", "Seizure", "negated")]
    monkeypatch.setattr(
        "sys.stdin", io.TextIOWrapper(io.BytesIO(b"Retinal coloboma. No seizures."))
    )
    for number, source in enumerate((tmp_path / "texts", tmp_path / "texts" / "a.txt", "-")):
        folder = tmp_path / f"out{number}"
        code, out, _ = call("extraction", "run", source, *base, "--output-dir", folder)
        assert code == 0
        found = json.loads(out)["predictions"]
        assert [(one["hpo_id"], one["label"], one["assertion"]) for one in found] == expected
        assert {one["doc_id"] for one in found} == {"stdin" if source == "-" else "a"}
        assert [file.name for file in folder.iterdir()] == ["predictions.jsonl"]
        line = (folder / "predictions.jsonl").read_text().splitlines()[0]
        assert json.loads(line)["label"] == "Coloboma of the retina"
