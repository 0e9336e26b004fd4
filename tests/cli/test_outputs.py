"""No command replaces a file that it reads, or a run, qrels or topics by a result."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from harness.observe import ROOT
from typer.testing import CliRunner

from trectools_plus.cli import app as commands
from trectools_plus.cli.app import load_command
from trectools_plus.errors import TrectoolsPlusError

FIXTURES = ROOT / "fixtures"
GROUPS = (
    commands.RUNS,
    commands.QRELS,
    commands.TOPICS,
    commands.TESTSET,
    commands.BENCHMARK,
    commands.EXTRACTION,
    commands.REVIEW,
    commands.JUDGE,
    commands.TOP,
)
OUTPUTS = {"--output", "--to", "--plot", "--table", "--textfile", "output"}
"""Options and arguments that name a file to write; the others name folders, or have a guard."""

Call = Callable[..., int]


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Call a command in a folder with data; a failed command must not change any file."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(FIXTURES / "runs", "runs")
    shutil.copy(FIXTURES / "garden-trec" / "qrels.txt", "q.txt")
    shutil.copy(FIXTURES / "garden-trec" / "topics.tsv", "topics.tsv")
    Path("link.run").symlink_to("runs/lexical.run")
    os.link("runs/lexical.run", "hard.run")
    Path("winner.run").write_bytes(Path("runs/tied.run").read_bytes())

    def contents():
        return {str(p): p.read_bytes() for p in Path().rglob("*") if p.is_file()}

    def called(line):
        before = contents()
        result = CliRunner().invoke(commands.app, line.split(), standalone_mode=False)
        error = result.exception
        if error is None:
            return 0
        assert isinstance(error, TrectoolsPlusError), result.exc_info
        assert contents() == before
        return error.exit_code

    return called


@pytest.mark.parametrize(
    ("name", "entry"), [pair for group in GROUPS for pair in group.items()], ids=str
)
def test_the_table_of_commands_names_every_output(name, entry):
    command = load_command(name, entry)
    files = [one for one in command.params if one.metavar in ("FILE", "OUTPUT")]
    outputs = {one.name for one in files if OUTPUTS & {*one.opts, one.name}}
    assert outputs <= {*entry.results, *entry.data}
    assert {*entry.results, *entry.data} <= {one.name for one in command.params}


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "line",
    [
        "eval q.txt runs/lexical.run -o runs/lexical.run",
        "eval q.txt runs/lexical.run -o ./runs/../runs/lexical.run",
        "eval q.txt runs/lexical.run -o link.run",
        "eval q.txt link.run -o runs/lexical.run",
        "eval q.txt runs/lexical.run -o hard.run",
        "eval q.txt name=runs/lexical.run -o runs/lexical.run",
        "eval q.txt runs/lexical.run -o q.txt",
        "eval q.txt -o runs/vector.run runs/lexical.run",
        "eval q.txt -o runs/lexical.run.gz runs/lexical.run",
        "eval q.txt runs/lexical.run --format json -o topics.tsv",
        "runs fuse runs/lexical.run runs/vector.run -o hard.run",
        "runs convert runs/lexical.run -o link.run",
        "qrels convert q.txt -o q.txt",
        "benchmark run --runs runs/lexical.run runs/vector.run --qrels q.txt -o .",
        "benchmark run --runs x=runs/lexical.run y=runs/vector.run --qrels q.txt -o . --modes x",
        "benchmark sweep --runs runs/lexical.run runs/vector.run --qrels q.txt -o .",
        "testset convert hpo-en-tiny . --to trec",
    ],
)
def test_files_of_the_user_are_never_replaced(call, line):
    if "--modes" in line:
        line = line.removesuffix(" --modes x")
        Path("runs/x.run").write_text("mine\n")
    if "testset" in line:
        Path("qrels.txt").write_text("mine\n")
    assert call(line) == 2


@pytest.mark.parametrize("kind", ["csv", "json", "table", "parquet"])
def test_a_result_replaces_a_result(call, kind):
    for more in ("", " --per-query", ""):
        assert call(f"eval q.txt runs/lexical.run --format {kind} -o s.{kind}{more}") == 0
    files = "--to t.json --to t.csv --to t.md --to t.tex"
    for _ in range(2):
        assert call(f"compare runs/lexical.run runs/vector.run --qrels q.txt {files}") == 0


DATA = {
    "run.json": '{"1": {"a": 1.5, "b": 0.5}}\n',
    "qrels.csv": "query_id,doc_id,relevance\n1,a,1\n",
    "set.json": json.dumps({"metadata": {}, "queries": [{"query_id": "1", "text": "x"}]}),
    "topics.xml": "<topics>\n<topic number='1'>x</topic>\n</topics>\n",
    "topics.trec": "<top>\n<num> Number: 1\n<title> x\n</top>\n",
    "topics.jsonl": '{"query_id": "1", "text": "x"}\n',
    "run.dev.tsv": "1\t12\t1\n1\t13\t2\n",
    "faulty.run": "# mine\n\n1 Q0 a 1 nan x\n1 Q0 b 2 0.5 x\n1 Q0 c 3 0.25 x\n",
    "qrels.tsv": "query-id\tcorpus-id\tscore\n1\ta\t1\n",
}


@pytest.mark.parametrize("name", DATA)
def test_no_data_of_any_form_is_replaced_by_a_result(call, name):
    Path(name).write_text(DATA[name])
    assert call(f"eval q.txt -o {name} runs/lexical.run") == 2


def test_a_benchmark_replaces_its_own_files_only(call):
    line = "benchmark run --runs runs/lexical.run runs/vector.run --qrels q.txt -o out"
    assert call(line) == 0
    assert call(line) == 0
    assert call(line.replace("runs/lexical.run", "out/runs/lexical.run")) == 2
    assert call(line.replace("q.txt", "out/qrels.txt")) == 2
    assert call("benchmark show out --table out/per_query.parquet") == 2
    assert call("benchmark metrics out --textfile out/BenchmarkReport.json") == 2
    for _ in range(2):
        assert call("benchmark show out --table out/table.md") == 0


def test_a_run_beside_a_report_is_kept(call):
    assert call("benchmark run --runs runs/lexical.run --qrels q.txt -o out") == 0
    shutil.copy("runs/tied.run", "out/runs/vector.run")
    line = "benchmark run --runs runs/lexical.run runs/vector.run --qrels q.txt -o out"
    assert call(line) == 2


def test_folders_with_a_manifest_are_written_again(call):
    for _ in range(2):
        assert call("testset convert hpo-en-tiny tiny --to trec") == 0
        assert call("testset split hpo-en-small -o parts") == 0
        assert (
            call("benchmark sweep --runs runs/lexical.run runs/vector.run --qrels q.txt -o s") == 0
        )
    assert call("testset convert tiny tiny/metadata.json") == 2
    next(Path("parts").glob("*.json")).write_text("{}")
    assert call("testset split hpo-en-small -o parts") == 2
