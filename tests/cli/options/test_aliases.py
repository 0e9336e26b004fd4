"""Tests of options and commands of other tools that work without being listed in the help."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from harness.program import Program

ROOT = Path(__file__).resolve().parents[3]
SEARCH = "--corpus c.jsonl --format json"


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    corpus = ROOT / "fixtures/garden-trec/corpus.jsonl"
    (tmp_path / "c.jsonl").write_bytes(corpus.read_bytes())
    return tmp_path


@pytest.mark.every(2)
@pytest.mark.process
@pytest.mark.parametrize("quiet", [False, True])
def test_without_a_gpu_a_note_says_that_the_cpu_is_used(
    documents: Path, program: Program, quiet: bool
) -> None:
    options = "--gpu -q" if quiet else "--gpu"
    done = program(f"trectools-plus query slugs {SEARCH} {options}", documents)
    if "CUDA" in done.stderr:
        pytest.skip("this machine has a GPU")
    assert done.code == 0
    assert json.loads(done.text)["results"]
    assert ("note: no GPU found; models run on the CPU" in done.stderr) is not quiet


@pytest.mark.process
def test_an_alias_of_the_model_is_the_option(documents: Path, program: Program) -> None:
    messages = {
        program(f"trectools-plus query slugs {SEARCH} {option} nowhere", documents).stderr
        for option in ("--embedding-model", "--model-name", "--model")
    }
    assert len(messages) == 1
    assert re.search("nowhere|the extra 'neural'", messages.pop())


@pytest.mark.process
def test_the_group_extraction_is_also_below_benchmark(tmp_path: Path, program: Program) -> None:
    for start in ("trectools-plus", "trectools-plus benchmark", "benchmark"):
        done = program(f"{start} extraction compare . .", tmp_path)
        assert done.code == 2
        assert "ExtractionReport.json" in done.stderr
