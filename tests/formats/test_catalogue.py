"""``irds:<id>`` wherever qrels and topics are read, without network access."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.files import write
from harness.program import Program

from trectools_plus import compare, evaluate, load_qrels, load_topics, validate
from trectools_plus.benchmark.run.dataset import load_collection
from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.topics import read_topics

NAME = "irds:cranfield"


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    """Write a run that retrieves the document 184 for queries of Cranfield."""
    return write(
        tmp_path / "my.run", "".join(f"{query} Q0 184 1 1.0 t\n" for query in range(1, 226))
    )


@pytest.mark.usefixtures("ir_datasets_home")
def test_readers_and_evaluation_accept_a_name(run_file: Path) -> None:
    assert len(load_qrels(NAME).frame) == 1837
    assert load_qrels(NAME).to_dict() == load_qrels(NAME).to_dict()
    assert load_topics(NAME).to_dict() == read_topics(NAME).to_dict()
    evaluation = evaluate(NAME, str(run_file), ["nDCG@10"])
    named = evaluate(load_qrels(NAME), str(run_file), ["nDCG@10"])
    run = evaluation.run_names[0]
    assert evaluation.mean(run, "nDCG@10") == named.mean(run, "nDCG@10") > 0
    assert validate(NAME).kind == "qrels"
    runs = {"a": str(run_file), "b": str(run_file)}
    (comparison,) = compare(NAME, runs, ["nDCG@10"], resamples=100)
    assert comparison.difference == 0


@pytest.mark.every(3)
@pytest.mark.process
@pytest.mark.usefixtures("ir_datasets_home")
@pytest.mark.parametrize(
    "line",
    [
        "trectools-plus eval irds:cranfield my.run",
        "trectools-plus eval irds:cranfield my.run --format json",
        "trectools-plus trec-eval irds:cranfield my.run",
        "trectools-plus runs validate my.run --qrels irds:cranfield --ignore R,P",
        "trectools-plus runs validate my.run --topics irds:cranfield --ignore R,P",
        "trectools-plus qrels validate irds:cranfield",
        "trectools-plus topics validate irds:cranfield",
        "benchmark run --dataset irds:cranfield --runs my.run --output-dir out",
        "benchmark run --qrels irds:cranfield --topics irds:cranfield --runs my.run -o out",
        "trectools-plus testset convert irds:cranfield set.json --qrels irds:cranfield",
    ],
)
def test_commands_accept_a_name(line: str, program: Program, run_file: Path) -> None:
    done = program(line, run_file.parent)
    assert (done.code, "Traceback" in done.stderr) == (0, False), done.stderr


def test_an_unknown_dataset_is_refused() -> None:
    for name in ("vaswani", "irds:vaswanni"):
        with pytest.raises(UsageError, match=f"{name.removeprefix('irds:')}.*irds|ir-datasets"):
            load_collection(name)


def test_a_failed_download_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ConnectionError("HTTPConnectionPool(host='a.org', port=80): with url: /b.gz (x)")

    monkeypatch.setattr("requests.get", refuse)
    monkeypatch.setattr("requests.Session.send", refuse)
    with pytest.raises(InputError) as caught:
        load_qrels("irds:vaswani")
    assert "\n" not in str(caught.value)
    assert "IR_DATASETS_HOME" in str(caught.value)
    assert capfd.readouterr().err == ""
