"""``demo``, and ``--dataset sample`` in every command that takes a dataset."""

from pathlib import Path

import pytest

import trectools_plus
from trectools_plus.cli.commands.sets import demo as run_demo


@pytest.mark.parametrize("name", ["qrels.txt", "report/BenchmarkReport.html", "report/notes.txt"])
def test_files_of_others_are_never_overwritten(name, tmp_path, program, check_mistake):
    file = tmp_path / "mine" / name
    file.parent.mkdir(parents=True)
    file.write_text("mine", "utf-8")
    check_mistake(program("trectools-plus demo --output-dir mine", tmp_path), 2, "mine")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [file]
    assert file.read_text("utf-8") == "mine"


def test_an_interrupted_demo_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("trectools_plus.benchmark.run_benchmark", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_demo()
    assert list(tmp_path.iterdir()) == []


FAST = "-m RR@10 --set resamples=100"
COMMANDS = {
    "trectools-plus benchmark run": f"--modes lexical {FAST} --output-dir out",
    "trectools-plus runs fetch": "--modes lexical --output-dir out",
    "trectools-plus query": "mould --mode lexical",
    "trectools-plus index build": "--modes lexical",
    "trectools-plus judge plan": "{run} --output-dir plan",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_sample_is_a_dataset(name, tmp_path, program):
    run = Path(trectools_plus.__file__).parent / "formats" / "sample" / "runs" / "lexical.run"
    done = program(f"{name} --dataset sample {COMMANDS[name].format(run=run)}", tmp_path)
    assert done.code == 0, done.stderr
    assert "read as TSV" not in done.stderr
