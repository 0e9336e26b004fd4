import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from harness.observe import ROOT

from trectools_plus.errors import (
    CheckFailedError,
    InputError,
    SeveralFilesError,
    TrectoolsPlusError,
    UsageError,
)

FIXTURES = ROOT / "fixtures"
QRELS = "1 0 a 1\n1 0 b 2\n1 0 x 0\n2 0 a 1\n2 0 x 0\n3 0 a 0\n4 0 a 3\n"
FIRST = "1 Q0 b 1 3.0 first\n1 Q0 a 2 2.0 first\n2 Q0 x 1 2.0 first\n2 Q0 a 2 1.0 first\n"
SECOND = "1 Q0 x 1 3.0 second\n2 Q0 a 1 2.0 second\n4 Q0 a 1 2.0 second\n9 Q0 a 1 1.0 second\n"


@pytest.fixture
def run(call, tmp_path, monkeypatch):
    """Return a function that calls eval in a folder with qrels and two runs."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("qrels.txt", QRELS), ("a.run", FIRST), ("b.run", SECOND)):
        Path(name).write_text(text)
    return lambda *words, **options: call("eval", *words, **options)


@pytest.fixture
def scores(run):
    """Return a function that calls eval and returns the JSON document."""
    return lambda *words, **options: json.loads(run(*words, "--format", "json", **options).stdout)


def test_table(run):
    result = run("qrels.txt", "a.run", "b.run", "-m", "MRR@10", "-m", "nDCG@10")
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == ["measure", "a", "b"]
    assert lines[1] == ["MRR@10", "(RR@10)", "0.3750", "0.5000"]
    assert lines[2][0] == "nDCG@10"
    assert "4 of 4" in result.stdout
    assert "1 query of the qrels without a relevant document: counted 0" in result.stderr
    assert "not scored: 1 of 4 queries" in result.stderr


def test_queries_without_a_relevant_document_can_be_left_out(run, scores):
    Path("c.run").write_text(FIRST + "3 Q0 a 1 1.0 first\n")
    options = ("qrels.txt", "c.run", "-m", "RR")
    counted = run(*options, "--missing", "drop")
    assert ["RR", "0.5000"] in map(str.split, counted.stdout.splitlines())
    assert "3 of 4" in counted.stdout
    dropped = run(*options, "--missing", "drop", "--no-relevant", "drop")
    assert ["RR", "0.7500"] in map(str.split, dropped.stdout.splitlines())
    assert "2 of 4" in dropped.stdout
    assert "left out of every mean" in dropped.stderr
    document = scores(*options, "--no-relevant", "drop")
    assert (document["missing"], document["no_relevant"]) == ("zero", "drop")
    assert document["runs"][0]["counts"]["n_scored"] == 3


def test_json_per_query_and_undefined_mean(scores):
    Path("c.run").write_text("1 Q0 x 1 1.0 c\n")
    document = scores("qrels.txt", "c.run", "--per-query", "--missing", "drop", "-m", "MinRank@1")
    expected = {"mean": None, "n": 0, "undefined": 1, "per_query": {"1": None}}
    assert document["runs"][0]["measures"] == {"MinRank@1": expected}


def test_run_from_standard_input(scores):
    scored = scores("qrels.txt", "-", "-m", "RR", stdin=FIRST)["runs"][0]
    assert (scored["path"], scored["sha256"]) == ("-", None)
    assert scored["measures"]["RR"]["mean"] == 0.375


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
def test_runs_are_named_after_their_files(scores, given, names):
    for folder, text in (("copy", SECOND), ("same", FIRST)):
        Path(folder).mkdir()
        for name in "ab":
            Path(folder, f"{name}.run").write_text(text)
    Path("k=1.run").write_text(FIRST)
    document = scores("qrels.txt", *given, "-m", "AP")
    assert [scored["name"] for scored in document["runs"]] == names


@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        (("a.run", "a.run"), UsageError, "a.run"),
        (("x=a.run", "x=b.run"), UsageError, "x"),
        (("a.run", "-m", "nDGC@10"), UsageError, "nDGC@10.*nDCG@10"),
        (("a.run", "-m", ","), UsageError, "measure"),
        (("a.run", "-o", "s.tex"), UsageError, "tex"),
        (("a.run", "a@b.run"), InputError, r"a@b\.run"),
        (("twice.run",), CheckFailedError, "R131"),
        (("nan.run",), CheckFailedError, "R111"),
        (("other.run",), CheckFailedError, "P101"),
    ],
)
def test_what_cannot_be_scored_is_refused_and_named(run, words, error, text):
    Path("twice.run").write_text("1 Q0 a 1 1.0 t\n1 Q0 a 2 0.5 t\n")
    Path("nan.run").write_text("1 Q0 a 1 nan t\n")
    Path("other.run").write_text("77 Q0 a 1 1.0 t\n")
    with pytest.raises(error, match=text):
        run("qrels.txt", *words)


def test_every_run_that_cannot_be_scored_is_named(run):
    Path("c.run").write_text(FIRST.replace("3.0", "nan"))
    Path("d.run").write_text(FIRST.replace("1 Q0 a", "01 Q0 a"))
    with pytest.raises(SeveralFilesError) as caught:
        run("qrels.txt", "c.run", "a.run", "none.run", "d.run", "-m", "RR")
    lines = str(caught.value).splitlines()
    found = [re.findall("R111|no such file|P104", line) for line in lines]
    assert found == [["R111"], ["no such file"], ["P104"]]
    assert caught.value.exit_code == 2
    Path("qrels.txt").write_text(QRELS + "1 0 a 0\n")
    with pytest.raises(CheckFailedError, match="Q142"):
        run("qrels.txt", "c.run", "d.run")


def test_measures_with_commas(run):
    result = run("qrels.txt", "a.run", "-m", "P@10,AP(rel=2)@5", "-m", "P.5,10", "-m", "RR")
    names = [line.split()[0] for line in result.stdout.splitlines()[1:5]]
    assert names == ["P@10", "AP(rel=2)@5", "P.5", "RR"]


def test_a_grade_that_no_document_reaches_is_noted(run):
    result = run("qrels.txt", "a.run", "-m", "AP(rel=99)", "-m", "RR", "--format", "json")
    *_, note = json.loads(result.stdout)["notes"]
    assert note.startswith("AP(rel=99): ")
    assert f"note: {note}\n" in result.stderr


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_full_disk_behind_stdout_is_one_line(kind):
    command = "from trectools_plus.cli.app import main; main()"
    words = ["eval", FIXTURES / "garden-trec/qrels.txt", FIXTURES / "runs/lexical.run"]
    with Path("/dev/full").open("wb") as full:
        result = subprocess.run(
            [sys.executable, "-c", command, *map(str, words), "--format", kind],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert result.returncode == 2
    assert result.stderr.lower() == "error: no space left on device — standard output\n"


TOY = str(FIXTURES / "ontology" / "toy.obo")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-m", "P@1", "--ontology", TOY], "--ontology"),
        (["-m", "MaxOntSim@1", "--ontology", "none.obo"], "no such file — none.obo"),
        (["-m", "MaxOntSim@1", "--ontology", "a.run"], "OBO format"),
    ],
)
def test_files_about_terms_that_are_of_no_use(run, arguments, words):
    with pytest.raises(TrectoolsPlusError, match=words) as caught:
        run("qrels.txt", "a.run", *arguments)
    assert caught.value.exit_code == 2


def test_strict_input_refuses_every_error(run):
    Path("c.run").write_text(FIRST.replace(" b 1 ", " b 2 "))
    Path("other.txt").write_text("1 0 a 1\n2 0 a 1\n")
    Path("twice.txt").write_text("1 0 a 1.0\n2 0 a 1.0\n")
    for qrels, name, code in (
        ("qrels.txt", "c.run", "P103|R122"),
        ("other.txt", "c.run", "R122"),
        ("twice.txt", "a.run", "Q111"),
    ):
        run(qrels, name)
        with pytest.raises(CheckFailedError, match=code) as caught:
            run(qrels, name, "--strict-input")
        assert caught.value.exit_code == 1
    assert run("other.txt", "a.run", "--strict-input").stdout
