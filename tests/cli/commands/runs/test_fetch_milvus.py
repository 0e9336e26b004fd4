"""Tests of the commands with ``--backend milvus``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trectools_plus.cli.app import app
from trectools_plus.formats import collection as collection_module
from trectools_plus.formats import corpus as corpus_module
from trectools_plus.formats.ir_datasets import CatalogueDataset

pytestmark = [pytest.mark.process, pytest.mark.slow("starts servers")]

SOURCES = ["--corpus", "corpus.jsonl", "--topics", "topics.tsv"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRECTOOLS_PLUS_CACHE", str(tmp_path / "cache"))
    Path("corpus.jsonl").write_text(
        '{"_id": "a", "text": "swept wing"}\n{"_id": "b", "text": "heat flow"}\n'
    )
    Path("topics.tsv").write_text("q1\twing flow\nq2\theat\n")
    Path("qrels.txt").write_text("q1 0 a 1\nq2 0 b 1\n")
    return tmp_path


@pytest.mark.usefixtures("milvus")
def test_fetches_a_file_without_reading_it_as_a_whole(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(path: object) -> None:
        raise AssertionError("the whole corpus was read")

    monkeypatch.setattr(corpus_module, "load_corpus", never)
    done = CliRunner().invoke(
        app, ["runs", "fetch", *SOURCES, "--milvus-uri", "own.db", "--output-dir", "out"]
    )
    assert done.exit_code == 0, done.output
    manifest = json.loads((folder / "out/hybrid.run.manifest.json").read_text())
    assert manifest["backend_settings"]["uri"] == "own.db"
    assert manifest["backend_settings"]["documents"]["path"] == "corpus.jsonl"


@pytest.mark.usefixtures("milvus", "folder")
def test_a_benchmark_from_a_configuration_file() -> None:
    Path("benchmark.yaml").write_text(
        "backend: milvus\nmilvus:\n  uri: own.db\n  vector_index: hnsw\n"
        "corpus: corpus.jsonl\ntopics: topics.tsv\nqrels: qrels.txt\n"
    )
    command = ["benchmark", "run", "--config", "benchmark.yaml", "--format", "json"]
    done = CliRunner().invoke(app, [*command, "--output-dir", "out", "--modes", "lexical,hybrid"])
    assert done.exit_code == 0, done.output
    report = json.loads(Path("out/BenchmarkReport.json").read_text())
    text = json.dumps(report)
    assert '"uri": "own.db"' in text
    assert "milvus_lite" in text


@pytest.mark.usefixtures("milvus", "folder")
@pytest.mark.parametrize("dataset", ["here", "irds:cranfield"])
def test_a_dataset_is_streamed_too(
    dataset: str, ir_datasets_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("the whole corpus was read")

    monkeypatch.setenv("IR_DATASETS_HOME", str(ir_datasets_home))
    monkeypatch.setattr(collection_module, "load_corpus", never)
    monkeypatch.setattr(CatalogueDataset, "read_corpus", never)
    Path("here").mkdir()
    for name in ("corpus.jsonl", "topics.tsv", "qrels.txt"):
        Path(name).rename(Path("here") / name)
    command = ["runs", "fetch", "--dataset", dataset, "--milvus-uri", "own.db"]
    done = CliRunner().invoke(app, [*command, "--modes", "lexical", "--output-dir", "out"])
    assert done.exit_code == 0, done.output
    manifest = json.loads(Path("out/lexical.run.manifest.json").read_text())
    assert manifest["backend_settings"]["documents"]["count"] == (2 if dataset == "here" else 1400)


@pytest.mark.usefixtures("milvus", "folder")
def test_cranfield_from_end_to_end(ir_datasets_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("the whole corpus was read")

    monkeypatch.setenv("IR_DATASETS_HOME", str(ir_datasets_home))
    monkeypatch.setattr(CatalogueDataset, "read_corpus", never)
    command = ["benchmark", "run", "--dataset", "irds:cranfield", "--backend", "milvus"]
    command += ["--milvus-uri", "cranfield.db", "--modes", "lexical,vector,hybrid"]
    done = CliRunner().invoke(app, [*command, "-m", "nDCG@10", "--output-dir", "out"])
    assert done.exit_code == 0, done.output
    modes = json.loads(Path("out/BenchmarkReport.json").read_text())["modes"]
    means = {mode: result["measures"]["nDCG@10"]["mean"] for mode, result in modes.items()}
    # The values of the embedded backend.
    assert means["lexical"] == pytest.approx(0.3227, abs=5e-5)
    assert means["vector"] == pytest.approx(0.2966, abs=5e-5)
    assert means["hybrid"] == pytest.approx(0.3531, abs=5e-5)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--milvus-uri", "http://root:pw@host:1"], "user or password"),
        (["--milvus-uri", "own"], "ends in .db"),
        (["--backend", "milvus", "--modes", "bm26"], "unknown mode 'bm26'"),
        (["--backend", "milvus", "--modes", "bm25,splade"], "'splade'"),
        (["--backend", "milvus", "--modes", "bm25,lexical"], "given twice"),
        (
            ["--backend", "python", "--milvus-uri", "own.db", "--retriever", "a:b"],
            "omit one",
        ),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_code_2(options: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["runs", "fetch", *SOURCES, "--output-dir", "out", *options])
    error = done.exception
    assert error is not None
    text = done.output + str(error)
    assert message in text
    assert "pw" not in text.replace("pip", "")
    assert not [*Path().rglob("*.run*")]
