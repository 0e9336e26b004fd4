import json
from pathlib import Path

import pytest

from trectools_plus.formats import Run, write_run
from trectools_plus.retrieval.backends.selection import BACKENDS
from trectools_plus.validation import load_run


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TRECTOOLS_PLUS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def collection(tmp_path):
    documents = {"d1": "swept wing", "d2": "heat transfer in a wing", "d3": "heat conduction"}
    lines = [json.dumps({"_id": doc, "title": "", "text": text}) for doc, text in documents.items()]
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "topics.tsv").write_text("q1\tswept wing\nq2\tzeppelin\nd3\theat\n")
    return [
        "runs fetch",
        "--corpus",
        str(tmp_path / "corpus.jsonl"),
        "--topics",
        str(tmp_path / "topics.tsv"),
        "--output-dir",
        str(tmp_path / "out"),
    ]


def saved(folder, name, scores):
    path = folder / name
    write_run(Run.from_dict(scores, path.stem), path)
    return str(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--modes", "lexical,bm26"], "'bm26'"),
        (["--modes", ","], "no mode given"),
        (
            ["--backend", "nosuch"],
            f"unknown backend 'nosuch' — backend — use one of {', '.join(BACKENDS)}",
        ),
        (["--dataset", "hpo"], "exclude each other"),
        (["--test-file", "x.yaml"], "needs --dataset hpo"),
        (["--ontology", "x.obo"], "--ontology needs --dataset hpo"),
        (["--set", "k1"], "has no '='"),
        (["--set", "k1=much"], "retrieval.k1"),
        (["--set", "k9=1"], "unknown setting 'k9'"),
        (["--set", "fusion=rrf", "--set", "normalisation=z-score"], "no effect"),
        (["--set", "components=bm25"], "lexical, vector, splade"),
        (["--set", "fusion=rrf", "--set", "weights=0.7,0.3"], "no effect"),
        (
            ["--set", "fusion=rrf", "--set", "normalisation=none"],
            "no effect",
        ),
        (["--set", "fusion=median"], "retrieval.fusion"),
    ],
)
def test_fetch_refuses(refusal, collection, options, message):
    assert message in refusal(*collection, *options)


def test_fuse_refuses(refusal, tmp_path):
    good = saved(tmp_path, "good.run", {"1": {"a": 2.0}})
    bad = tmp_path / "bad.run"
    bad.write_text("1 Q0 a 1 2.0 t\n1 Q0 a 2 1.0 t\n")
    for words, message in (
        ((good,), "one run"),
        ((good, str(bad)), "R131"),
        ((good, good, "--method", "weighted", "--weights", "1"), "expected 2 weights but got 1"),
        ((good, good, "--method", "weighted", "--weights", "1;2"), "expected numbers"),
    ):
        assert message in refusal("runs fuse", *words, "--output", str(tmp_path / "fused.run"))
    assert not (tmp_path / "fused.run").exists()


def test_fuse_refuses_its_own_input(refusal, tmp_path):
    left = saved(tmp_path, "left.run", {"1": {"a": 2.0, "b": 1.0}})
    right = saved(tmp_path, "right.run", {"2": {"a": 2.0, "b": 1.0}})
    before = (tmp_path / "left.run").read_bytes()
    assert "overwrite the input" in refusal("runs fuse", left, right, "--output", left)
    assert (tmp_path / "left.run").read_bytes() == before


def test_a_file_names_the_data_as_for_a_benchmark(invoke, collection, tmp_path):
    del collection
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "topics.jsonl").write_text(
        '{"key": "q1", "text": "x", "words": "swept wing", "n": 1}\n'
        '{"key": "q2", "text": "x", "words": "heat", "n": 2}\n'
    )
    (folder / "fetch.yaml").write_text(
        "corpus: ../corpus.jsonl\ntopics: topics.jsonl\nid_field: key\ntext_fields: words\n"
        "qrels: nowhere.txt\nontology: nowhere.obo\nmodes: [lexical]\nretrieval: {k1: 1.5}\n"
        "measures: [AP]\n"
    )
    words = [
        "runs fetch",
        "--config",
        str(folder / "fetch.yaml"),
        "--output-dir",
        str(tmp_path / "out"),
    ]
    result = invoke(*words)
    assert result.exit_code == 0, result.output
    found = load_run(tmp_path / "out" / "lexical.run").to_dict()
    assert {query: set(documents) for query, documents in found.items()} == {
        "q1": {"d1", "d2"},
        "q2": {"d2", "d3"},
    }
    manifest = json.loads((tmp_path / "out" / "lexical.run.manifest.json").read_text())
    assert manifest["settings"]["k1"] == 1.5
    # Options take precedence.
    (tmp_path / "others.jsonl").write_text('{"key": "q7", "words": "heat", "n": 1}\n')
    words += ["--topics", str(tmp_path / "others.jsonl"), "--set", "k1=1.1"]
    assert invoke(*words).exit_code == 0
    assert load_run(tmp_path / "out" / "lexical.run").query_ids == ["q7"]
    manifest = json.loads((tmp_path / "out" / "lexical.run.manifest.json").read_text())
    assert manifest["settings"]["k1"] == 1.1


@pytest.mark.parametrize(
    ("written", "options"),
    [
        ("dataset: sample\n", ["--corpus", "corpus.jsonl", "--topics", "topics.tsv"]),
        ("dataset: hpo\nlanguage: de\n", ["--corpus", "corpus.jsonl", "--topics", "topics.tsv"]),
        ("dataset: sample\ncorpus: corpus.jsonl\n", ["--topics", "topics.tsv"]),
        ("topics: topics.tsv\nqrels: q.txt\n", ["--corpus", "corpus.jsonl"]),
        ("runs: {a: a.run}\nqrels: q.txt\ntopics: topics.tsv\n", ["--corpus", "corpus.jsonl"]),
    ],
)
@pytest.mark.usefixtures("collection")
def test_options_replace_the_data_of_the_file(invoke, written, options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("fetch.yaml").write_text(written + "modes: [lexical]\n")
    result = invoke("runs fetch", "--config", "fetch.yaml", *options, "--output-dir", "out")
    assert result.exit_code == 0, result.output
    assert load_run("out/lexical.run").query_ids == ["q1", "d3"]


def test_a_file_says_modes_and_depth_unless_options_do(invoke, collection, tmp_path):
    (tmp_path / "fetch.yaml").write_text("modes: [lexical]\ndepth: 1\nexclude_self: true\n")
    words = [*collection, "--config", str(tmp_path / "fetch.yaml")]
    assert invoke(*words).exit_code == 0
    assert [path.name for path in (tmp_path / "out").glob("*.run")] == ["lexical.run"]
    assert load_run(tmp_path / "out" / "lexical.run").to_dict().keys() == {"q1", "d3"}
    found = load_run(tmp_path / "out" / "lexical.run").to_dict()
    assert {query: len(documents) for query, documents in found.items()} == {"q1": 1, "d3": 1}
    assert "d3" not in found["d3"]
    assert invoke(*words, "--modes", "vector", "--depth", "2").exit_code == 0
    assert max(map(len, load_run(tmp_path / "out" / "vector.run").to_dict().values())) == 2
