"""Tests of ``benchmark run --ir-metadata``: the annotated runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from trectools_plus.cli.app import benchmark_app
from trectools_plus.cli.errors import run_command

FIXTURES = Path(__file__).parents[4] / "fixtures"


@pytest.mark.parametrize("asked", [True, False])
def test_runs_have_a_header_only_when_it_is_asked_for(
    asked: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    command = ["benchmark", "run", "--qrels", str(FIXTURES / "garden-trec" / "qrels.txt")]
    command += ["--runs", f"a={FIXTURES / 'runs' / 'lexical.run'}", "--set", "resamples=100"]
    command += ["--output-dir", str(tmp_path), *(["--ir-metadata"] if asked else [])]
    monkeypatch.setattr("sys.argv", command)
    with pytest.raises(SystemExit) as left:
        run_command(benchmark_app, "benchmark")
    assert left.value.code in (0, None)
    scored = (tmp_path / "runs" / "a.run").read_text("utf-8")
    assert not scored.startswith("#")
    annotated = tmp_path / "annotated" / "a.run"
    assert annotated.exists() == asked
    if asked:
        assert annotated.read_text("utf-8").endswith("# ir_metadata.end\n" + scored)
