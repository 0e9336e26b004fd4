import io
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
import typer
from typer.testing import CliRunner

from trectools_plus.cli.commands.eval import evaluate_runs
from trectools_plus.cli.commands.explain import explain_name
from trectools_plus.errors import (
    CheckFailedError,
    InputError,
    SeveralFilesError,
    TrectoolsPlusError,
    UsageError,
)

QRELS = "1 0 a 1\n1 0 b 2\n1 0 x 0\n2 0 a 1\n2 0 x 0\n3 0 a 0\n4 0 a 3\n"
FIRST = "1 Q0 b 1 3.0 first\n1 Q0 a 2 2.0 first\n2 Q0 x 1 2.0 first\n2 Q0 a 2 1.0 first\n"
SECOND = "1 Q0 x 1 3.0 second\n2 Q0 a 1 2.0 second\n4 Q0 a 1 2.0 second\n9 Q0 a 1 1.0 second\n"


@pytest.fixture
def app():
    application = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    application.command("eval")(evaluate_runs)
    application.command("explain")(explain_name)
    return application


@pytest.fixture
def run(app, tmp_path, monkeypatch):
    """Return a function that calls a command in a folder with qrels and two runs."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("qrels.txt", QRELS), ("a.run", FIRST), ("b.run", SECOND)):
        Path(name).write_text(text)

    def call(*arguments, **options):
        result = CliRunner().invoke(app, arguments, **options)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == 0, result.stderr
        return result

    return call


def test_table(run):
    result = run("eval", "qrels.txt", "a.run", "b.run", "-m", "MRR@10", "-m", "nDCG@10")
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == ["measure", "a", "b"]
    assert lines[2] == ["MRR@10", "(RR@10)", "0.3750", "0.5000"]
    assert lines[3][0] == "nDCG@10"
    assert "4 of 4" in result.stdout
    assert "1 query of the qrels without a relevant document: counted 0" in result.stderr
    assert "not scored: 1 of 4 queries" in result.stderr


def test_queries_without_a_relevant_document_can_be_left_out(run):
    Path("c.run").write_text(FIRST + "3 Q0 a 1 1.0 first\n")
    options = ("eval", "qrels.txt", "c.run", "-m", "RR")
    counted = run(*options, "--missing", "drop")
    assert ["RR", "0.5000"] in map(str.split, counted.stdout.splitlines())
    assert "3 of 4" in counted.stdout
    dropped = run(*options, "--missing", "drop", "--no-relevant", "drop")
    assert ["RR", "0.7500"] in map(str.split, dropped.stdout.splitlines())
    assert "2 of 4" in dropped.stdout
    assert "is left out" in dropped.stderr
    assert "Q131" not in counted.stderr + dropped.stderr
    document = json.loads(run(*options, "--no-relevant", "drop", "--format", "json").stdout)
    assert (document["missing"], document["no_relevant"]) == ("zero", "drop")
    assert document["runs"][0]["counts"]["n_scored"] == 3


def test_json_per_query_and_undefined_mean(run):
    options = ("--per-query", "--missing", "drop", "--format", "json", "-m", "MinRank@1")
    Path("c.run").write_text("1 Q0 x 1 1.0 c\n")
    measured = json.loads(run("eval", "qrels.txt", "c.run", *options).stdout)["runs"][0]["measures"]
    expected = {"mean": None, "n": 0, "undefined": 1, "per_query": {"1": None}}
    assert measured == {"MinRank@1": expected}


def test_csv_and_parquet(run):
    table = pl.read_csv(
        io.StringIO(run("eval", "qrels.txt", "a.run", "-m", "RR", "--format", "csv").stdout)
    )
    assert table.rows() == [("a", "RR", 0.375, 4, 4, 2, 4, 2, 0)]
    assert table.columns[:4] == ["run", "measure", "mean", "n"]
    options = ("-m", "RR", "--per-query", "--format", "parquet")
    piped = run("eval", "qrels.txt", "a.run", *options).stdout_bytes
    run("eval", "qrels.txt", "a.run", *options, "-o", "scores.parquet")
    assert Path("scores.parquet").read_bytes() == piped
    per_query = pl.read_parquet("scores.parquet")
    assert per_query.columns == ["run", "query_id", "measure", "value"]
    assert per_query["value"].to_list() == [1.0, 0.5, 0.0, 0.0]


def test_csv_has_no_formulas(run):
    Path("=cmd().run").write_text("1 Q0 x 1 1.0 t\n")
    shown = run("eval", "qrels.txt", "=cmd().run", "-m", "RR", "--format", "csv").stdout
    assert shown.splitlines()[1].startswith("'=cmd(),RR,")


def test_parquet_to_a_terminal_is_refused(run, monkeypatch):
    terminal = SimpleNamespace(stdout=_Terminal())
    monkeypatch.setattr("trectools_plus.cli.commands.eval.sys", terminal)
    with pytest.raises(UsageError):
        run("eval", "qrels.txt", "a.run", "--format", "parquet")


class _Terminal(io.StringIO):
    def isatty(self):
        return True


def test_run_from_standard_input(run):
    result = run("eval", "qrels.txt", "-", "-m", "RR", "--format", "json", input=FIRST)
    scored = json.loads(result.stdout)["runs"][0]
    assert (scored["path"], scored["sha256"]) == ("-", None)
    assert scored["measures"]["RR"]["mean"] == 0.375
    with pytest.raises(UsageError):
        run("eval", "-", "-", input=FIRST)


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (("a.run", "b.run"), ["a", "b"]),
        (("a.run", "copy/a.run"), ["first", "second"]),
        (("a.run", "same/a.run"), ["a", "same-a"]),
        (("mine=a.run", "copy/a.run"), ["mine", "a"]),
        (("second=a.run", "b.run", "copy/b.run"), ["second", "b", "copy-b"]),
        (("k=1.run",), ["k=1"]),
    ],
)
def test_runs_are_named_after_their_files(run, given, names):
    for folder, text in (("copy", SECOND), ("same", FIRST)):
        Path(folder).mkdir()
        for name in "ab":
            Path(folder, f"{name}.run").write_text(text)
    Path("k=1.run").write_text(FIRST)
    done = run("eval", "qrels.txt", *given, "--format", "json", "-m", "AP")
    assert [scored["name"] for scored in json.loads(done.stdout)["runs"]] == names


def test_a_run_that_is_given_twice_is_refused(run):
    with pytest.raises(UsageError):
        run("eval", "qrels.txt", "a.run", "a.run")
    with pytest.raises(UsageError, match="x"):
        run("eval", "qrels.txt", "x=a.run", "x=b.run")


@pytest.mark.parametrize(
    "words",
    [
        ("a.run", "nDCG@10", "AP", "RR"),
        ("a.run", "-m", "nDCG@10 AP RR"),
        ("a.run", "-m", "nDCG@10, AP", "RR"),
        ("a.run", "nDCG@10 AP", "RR"),
        ("nDCG@10", "AP", "RR", "a.run"),
    ],
)
def test_measures_may_follow_the_runs(run, words):
    expected = run("eval", "qrels.txt", "a.run", "-m", "nDCG@10", "-m", "AP", "-m", "RR").stdout
    assert run("eval", "qrels.txt", *words).stdout == expected


def test_a_file_wins_over_a_measure(run):
    Path("AP").write_text(SECOND)
    lines = run("eval", "qrels.txt", "a.run", "AP", "RR", "AP(rel=2)@5").stdout.splitlines()
    assert lines[0].split() == ["measure", "a", "AP"]
    assert [line.split()[0] for line in lines[2:4]] == ["RR", "AP(rel=2)@5"]


def test_wrong_arguments_say_what_is_missing(run):
    with pytest.raises(UsageError, match=r"qrels\.txt.*RUN.*-m.*AP,RR"):
        run("eval", "qrels.txt", "AP", "RR")
    with pytest.raises(UsageError, match=r"nDGC@10.*nDCG@10"):
        run("eval", "qrels.txt", "a.run", "nDGC@10")
    with pytest.raises(InputError, match=r"a@b\.run"):
        run("eval", "qrels.txt", "a.run", "a@b.run")


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ("1 Q0 a 1 1.0 t\n1 Q0 a 2 0.5 t\n", "R131"),
        ("1 Q0 a 1 nan t\n", "R111"),
        ("77 Q0 a 1 1.0 t\n", "P101"),
    ],
)
def test_bad_input_is_refused_and_named(run, bad, code):
    Path("bad.run").write_text(bad)
    with pytest.raises(CheckFailedError, match=code) as refusal:
        run("eval", "qrels.txt", "bad.run")
    assert refusal.value.exit_code == 1


def test_every_run_that_cannot_be_scored_is_named(run):
    Path("c.run").write_text(FIRST.replace("3.0", "nan"))
    Path("d.run").write_text(FIRST.replace("1 Q0 a", "01 Q0 a"))
    with pytest.raises(SeveralFilesError) as caught:
        run("eval", "qrels.txt", "c.run", "a.run", "none.run", "d.run", "-m", "RR")
    lines = str(caught.value).splitlines()
    assert [re.findall("R111|no such file|P104", line) for line in lines] == [
        ["R111"],
        ["no such file"],
        ["P104"],
    ]
    assert caught.value.exit_code == 2
    Path("qrels.txt").write_text(QRELS + "1 0 a 0\n")
    with pytest.raises(CheckFailedError, match="Q142"):
        run("eval", "qrels.txt", "c.run", "d.run")


def test_measures_with_commas(run):
    result = run("eval", "qrels.txt", "a.run", "-m", "P@10,AP(rel=2)@5", "-m", "P.5,10", "-m", "RR")
    names = [line.split()[0] for line in result.stdout.splitlines()[2:6]]
    assert names == ["P@10", "AP(rel=2)@5", "P.5", "RR"]
    assert "P@10: P.10" in result.stderr
    with pytest.raises(UsageError):
        run("eval", "qrels.txt", "a.run", "-m", ",")


def test_a_grade_that_no_document_reaches_is_noted(run):
    result = run("eval", "qrels.txt", "a.run", "-m", "AP(rel=99)", "-m", "RR", "--format", "json")
    *_, note = json.loads(result.stdout)["notes"]
    assert note.startswith("AP(rel=99): ")
    assert f"note: {note}\n" in result.stderr
    result = run("eval", "qrels.txt", "a.run", "-m", "AP(rel=2)")
    assert "of grade 2 or more for 1 of 4 queries" in result.stderr


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_full_disk_behind_stdout_is_one_line(kind):
    fixtures = Path(__file__).parents[3] / "fixtures"
    call = "from trectools_plus.cli.app import main; main()"
    arguments = ["eval", fixtures / "garden-trec/qrels.txt", fixtures / "runs/lexical.run"]
    with Path("/dev/full").open("wb") as full:
        result = subprocess.run(
            [sys.executable, "-c", call, *map(str, arguments), "--format", kind],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert result.returncode == 2
    assert result.stderr.lower() == "error: no space left on device — standard output\n"


def test_explain_a_name_of_several_rules_and_of_none(run):
    words = [line.split() for line in run("explain", "header-line").stdout.splitlines()]
    assert [line[1] for line in words if line[:1] == ["code"]] == ["R105", "Q103", "T103"]
    with pytest.raises(UsageError, match="R999"):
        run("explain", "R999")
    with pytest.raises(UsageError, match="'nDGC'"):
        run("explain", "nDGC")


TOY = Path(__file__).parents[3] / "fixtures" / "ontology" / "toy.obo"


@pytest.fixture
def terms(run):
    """Write a run with term ids of the toy ontology, and judgments."""
    Path("terms.txt").write_text("1 0 TOY:0006 1\n2 0 TOY:0007 1\n3 0 TOY:0104 1\n")
    Path("terms.run").write_text(
        "1 Q0 TOY:0009 1 3 t\n1 Q0 TOY:0006 2 2 t\n2 Q0 TOY:0006 1 3 t\n3 Q0 TOY:0004 1 3 t\n"
    )
    return run


def test_annotations_beside_an_ontology_file(terms):
    name = "MaxOntSim(formula='lin')@1"
    command = ["eval", "terms.txt", "terms.run", "-m", name, "--ontology", str(TOY)]
    command += ["--format", "json"]
    graph = json.loads(terms(*command).stdout)
    annotated = json.loads(terms(*command, "--annotations", str(TOY.with_suffix(".hpoa"))).stdout)
    means = {one["runs"][0]["measures"][name]["mean"] for one in (graph, annotated)}
    assert len(means) == 2
    assert "from the graph" in graph["definitions"][name]["formula"]
    assert "toy.hpoa" in annotated["definitions"][name]["formula"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-m", "P@1", "--ontology", str(TOY)], "--ontology"),
        (["--annotations", "x.hpoa"], "--annotations"),
        (["-m", "MaxOntSim@1", "--ontology", "none.obo"], "no such file — none.obo"),
        (["-m", "MaxOntSim@1", "--ontology", "terms.txt"], "OBO format"),
        (
            [
                "-m",
                "MaxOntSim(formula='lin')@1",
                "--ontology",
                str(TOY),
                "--annotations",
                "terms.txt",
            ],
            "terms.txt:1",
        ),
    ],
)
def test_files_about_terms_that_are_of_no_use(terms, arguments, words):
    with pytest.raises(TrectoolsPlusError) as caught:
        terms("eval", "terms.txt", "terms.run", *arguments)
    assert words in str(caught.value)
    assert caught.value.exit_code == 2


def test_findings_that_change_no_figure_are_one_note(run):
    Path("c.run").write_text("qid Q0 docno rank score tag\n" + FIRST.replace(" 1 ", " - "))
    Path("d.run").write_text("\ufeff" + SECOND.replace(" 1 ", " 0 "))
    plain = run("eval", "qrels.txt", "a.run", "-m", "AP")
    of_c = run("eval", "qrels.txt", "c.run", "-m", "AP")
    assert "figure:" not in of_c.stderr  # which is no terminal
    assert of_c.stdout == plain.stdout.replace("a\n", "c\n", 1)
    notes = json.loads(run("eval", "qrels.txt", "c.run", "--format", "json").stdout)["notes"]
    assert [note for note in notes if note.startswith("2 findings") and "R105, R120; see" in note]
    result = run("eval", "qrels.txt", "c.run", "d.run", "--format", "json")
    assert "R105, R120, " in json.loads(result.stdout)["notes"][-1]
    assert "d.run:1: F102 " in result.stderr


def test_strict_input_refuses_every_error(app, run):
    Path("c.run").write_text(FIRST.replace(" b 1 ", " b 2 "))
    for qrels, code in (("qrels.txt", "P103|R122"), ("other.txt", "R122")):
        Path("other.txt").write_text("1 0 a 1\n2 0 a 1\n")
        run("eval", qrels, "c.run")
        result = CliRunner().invoke(app, ["eval", qrels, "c.run", "--strict-input"])
        assert isinstance(result.exception, CheckFailedError)
        assert result.exception.exit_code == 1
        assert re.search(code, str(result.exception))
    Path("twice.txt").write_text("1 0 a 1.0\n2 0 a 1.0\n")
    result = CliRunner().invoke(app, ["eval", "twice.txt", "a.run", "--strict-input"])
    assert "Q111" in str(result.exception)
    assert run("eval", "other.txt", "a.run", "--strict-input").stdout
