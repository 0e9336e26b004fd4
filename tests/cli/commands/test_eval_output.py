"""The format of eval's output, and its intervals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from trectools_plus import compare
from trectools_plus.cli.app import app

STARTS = {".csv": "run,", ".json": "{", ".tex": "% \\usepackage", ".md": "| ", ".txt": "measure"}


def _write(folder: Path) -> list[str]:
    rows = [(f"q{n}", f"d{d}", (n + d) % 3) for n in range(12) for d in range(5)]
    (folder / "q").write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in rows))
    (folder / "a.run").write_text(
        "".join(f"{q} Q0 {d} {n} {99 - n} a\n" for n, (q, d, _) in enumerate(rows, 1))
    )
    return [str(folder / "q"), str(folder / "a.run")]


def _eval(folder: Path, *arguments: str) -> Any:
    return CliRunner().invoke(app, ["eval", *_write(folder), *arguments])


@pytest.mark.parametrize("suffix", STARTS)
def test_the_suffix_decides_the_format(tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"s{suffix}"
    assert _eval(tmp_path, "-o", str(target)).exit_code == 0
    assert target.read_text().startswith(STARTS[suffix])
    assert _eval(tmp_path, "-o", str(tmp_path / "s.parquet")).exit_code == 0
    assert pl.read_parquet(tmp_path / "s.parquet").height == 6


@pytest.mark.parametrize(
    "arguments",
    [["-o", "s.csv", "--format", "json"], ["-o", "s.html"], ["-o", "s.tex", "--per-query"]],
)
def test_a_contradiction_is_refused(
    tmp_path: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _eval(tmp_path, *arguments).exit_code != 0
    assert not list(tmp_path.glob("s.*"))


def test_intervals_are_those_of_compare(tmp_path: Path) -> None:
    result = _eval(tmp_path, "--ci", "--format", "json", "-m", "nDCG@10,P@1")
    measures = json.loads(result.stdout)["runs"][0]["measures"]
    qrels, run = _write(tmp_path)
    modes = compare(qrels, {"a": run}, ["nDCG@10", "P@1"]).to_dict()["modes"]["a"]["measures"]
    for name, figures in modes.items():
        assert measures[name]["ci"] == figures["ci"]
        shown = _eval(tmp_path, "--ci", "-m", name).stdout
        assert f"[{figures['ci']['low']:.3f}, {figures['ci']['high']:.3f}]" in shown
    table = _eval(tmp_path, "--ci", "--format", "csv", "-m", "P@1").stdout.splitlines()
    assert "low,high" in table[0]
    assert str(modes["P@1"]["ci"]["low"]) in table[1]
