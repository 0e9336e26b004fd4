"""``trectools-plus compare``: runs, the verdict, tables in every format, and errors."""

import json

import pytest
from harness.observe import ROOT

from trectools_plus import compare

FIXTURES = ROOT / "fixtures"
QRELS = FIXTURES / "garden-trec" / "qrels.txt"
LEXICAL, VECTOR = FIXTURES / "runs" / "lexical.run", FIXTURES / "runs" / "vector.run"
PAIR = (f"a={LEXICAL}", f"b={VECTOR}")


def test_every_format_has_the_figures_of_python(call_here, tmp_path):
    found = compare(QRELS, {"a": LEXICAL, "b": VECTOR}, ["AP", "RR"], baseline="a")
    options = ("compare", *PAIR, "--qrels", QRELS, "-m", "AP,RR", "--baseline", "a", "--format")
    assert json.loads(call_here(*options, "json").text) == json.loads(found.to_json())
    found.write(tmp_path / "python.csv", tmp_path / "python.md")
    for form, name in (("csv", "python.csv"), ("markdown", "python.md")):
        assert call_here(*options, form).text == (tmp_path / name).read_text()
    latex = call_here(*options, "latex", "--label", "tab:x", "--decimals", 2).text
    assert latex == found.to_latex(label="tab:x", decimals=2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*PAIR,), "missing option '--qrels'"),
        (
            (LEXICAL, LEXICAL, "--qrels", QRELS),
            "two runs are named 'lexical'",
        ),
        ((*PAIR, "--qrels", QRELS, "--to", "x.docx"), "unsupported table format: .docx"),
        ((*PAIR, "--qrels", QRELS, "--baseline", "c"), "unknown baseline 'c'"),
        ((*PAIR, "--qrels", QRELS, "--confidence", "95"), "confidence"),
        ((*PAIR, "--qrels", QRELS, "--correction", "x"), "unknown correction 'x'"),
        ((*PAIR, "--qrels", QRELS, "--interval", "x"), "x"),
        ((*PAIR, "--qrels", QRELS, "--primary-measure", "P@99"), "P@99"),
        ((*PAIR, "--qrels", "none.txt"), "none.txt"),
    ],
)
def test_errors_are_one_line(call_here, check_mistake, words, message):
    check_mistake(call_here("compare", *words), 2, message)


def test_runs_over_different_queries_are_not_comparable(call_here, tmp_path):
    few = tmp_path / "few.run"
    lines = VECTOR.read_text("utf-8").splitlines(keepends=True)
    first = lines[0].split()[0]
    few.write_text("".join(line for line in lines if line.split()[0] != first))
    done = call_here("compare", LEXICAL, few, "--qrels", QRELS, "--missing", "drop")
    assert done.code == 3
    assert "averaged over" in done.stderr
    assert call_here("compare", LEXICAL, few, "--qrels", QRELS).code == 0
    assert call_here("compare", LEXICAL, f"r={few}", "--qrels", QRELS, "--strict-input").code in (
        0,
        1,
    )


def test_the_options_that_decide_reach_the_result(call_here):
    words = (*PAIR, "--qrels", QRELS, "-m", "AP", "--format", "json")
    found = json.loads(
        call_here(
            "compare", *words, "--test", "t_test", "--correction", "bh", "--confidence", 0.9,
            "--resamples", 300, "--seed", 3, "--interval", "t",
        ).text
    )  # fmt: skip
    entry = found["comparisons"][0]
    assert (entry["test"], entry["correction"]) == ("t_test", "bh")
    assert (entry["ci"]["level"], entry["ci"]["method"]) == (0.9, "Student t")
    assert entry["p_adjusted"] == entry["t_test"]["p"]


@pytest.mark.every(2)
@pytest.mark.parametrize("baseline", ["lexical", "lexical.run", LEXICAL])
def test_a_baseline_may_be_named_by_its_file(call_here, baseline):
    words = (LEXICAL, VECTOR, "--qrels", QRELS, "--baseline", baseline)
    document = json.loads(call_here("compare", *words, "--test", "ttest", "--format", "json").text)
    assert {entry["baseline"] for entry in document["comparisons"]} == {"lexical"}
    assert document["config"]["test"] == "t_test"
    assert call_here("benchmark", "run", "--runs", *words, "--output-dir", "out").code == 0
