"""Tests that commands import heavy packages only if they use them, for a quick start."""

import shutil
import subprocess
import sys
import tarfile

import pytest
from harness.observe import INPUTS

pytestmark = [pytest.mark.process, pytest.mark.installation]

HEAVY = {"pandas", "matplotlib", "scipy", "torch", "sklearn", "numba", "ir_datasets", "bm25s"}
HEAVY |= {"wordllama", "pyhpo", "jinja2", "pyarrow", "lxml", "requests", "httpx"}
HEAVY |= {"distributed", "dask", "fsspec"}
SCORERS = {"pytrec_eval", "pytrec_eval_ext", "ir_measures"}
MODULES = "import sys; from trectools_plus.cli.app import main\n"
MODULES += "try: main()\nexcept SystemExit as end: assert not end.code, end.code\n"
MODULES += "print('loaded', *sys.modules, file=sys.stderr)"

RUN = "1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n2 Q0 a 1 2.0 t\n2 Q0 c 2 1.0 t\n"


REPORT = INPUTS / "reports/garden-1.0.tar.xz"


def loaded_modules(*words):
    """Return the modules that a command has imported at its end."""
    command = [sys.executable, "-c", MODULES, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stderr.splitlines()[-1].split()[1:]


def loaded(*words):
    """Top-level packages that a command has loaded when it is done."""
    return {name.split(".")[0] for name in loaded_modules(*words)}


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["runs", "--help"],
        ["trec-eval", "-h", "-m", "all_trec"],
    ],
)
def test_help_loads_no_tables(words):
    assert loaded(*words) & {*HEAVY, *SCORERS, "numpy", "polars", "pydantic"} == set()


def test_clean_files_load_no_tables(tmp_path):
    (tmp_path / "run").write_text(RUN, encoding="utf-8")
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n2 0 a 1\n2 0 c 0\n", encoding="utf-8")
    run, qrels = str(tmp_path / "run"), str(tmp_path / "qrels")
    heavy = {*HEAVY, *SCORERS, "pydantic"}
    assert loaded("qrels", "validate", qrels) & heavy == set()
    for words, used in (
        (["runs", "validate", run, "--max-depth", "1000"], set()),
        (["runs", "info", run, "--format", "json"], set()),
        (["eval", qrels, run, "-m", "AP,map,P@5,ndcg_cut.10", "--per-query"], {"pytrec_eval_ext"}),
        (["trec-eval", "-q", "-c", "-M1000", "-m", "map", qrels, run], {"pytrec_eval_ext"}),
    ):
        assert loaded(*words) & {"polars", *heavy} == used, words


def test_commands_on_reports_load_what_they_use(tmp_path):
    with tarfile.open(REPORT) as archive:
        archive.extractall(tmp_path, filter="data")
    computation = {"trectools_plus.measures.evaluation", "trectools_plus.statistics.paired"}
    report = next(tmp_path.rglob("BenchmarkReport.json")).parent
    gate = ["benchmark", "gate", "--current", str(report), "--baseline", str(tmp_path / "base")]
    shutil.copytree(report, tmp_path / "base")
    for words in (["benchmark", "list", str(tmp_path)], ["benchmark", "show", str(report)]):
        modules = loaded_modules(*words)
        assert {name.split(".")[0] for name in modules} & {*HEAVY, *SCORERS} == set()
        assert set(modules) & computation == set()
    # The quantiles of the t distribution are those of SciPy.
    assert loaded(*gate, "-m", "nDCG@10") & {*HEAVY, *SCORERS} <= {"scipy"}
