"""``trectools-plus compare``: runs, the verdict, tables in every format, and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from harness.program import Done, Program

from trectools_plus import compare

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
QRELS = FIXTURES / "garden-trec" / "qrels.txt"
LEXICAL, VECTOR = FIXTURES / "runs" / "lexical.run", FIXTURES / "runs" / "vector.run"
PAIR = (f"a={LEXICAL}", f"b={VECTOR}")


@pytest.fixture(name="call")
def make_call(program: Program, tmp_path: Path) -> Any:
    def call(*words: object) -> Done:
        return program(["trectools-plus", "compare", *map(str, words)], tmp_path)

    return call


def test_the_first_file_has_the_judgments_without_qrels(call: Any) -> None:
    named = call(LEXICAL, VECTOR, "--qrels", QRELS)
    assert call(QRELS, LEXICAL, VECTOR).text == named.text
    assert "lexical" in named.text


def test_every_format_has_the_figures_of_python(call: Any) -> None:
    found = compare(QRELS, {"a": LEXICAL, "b": VECTOR}, ["AP", "RR"], baseline="a")
    options = (*PAIR, "--qrels", QRELS, "-m", "AP,RR", "--baseline", "a")
    assert json.loads(call(*options, "--format", "json").text) == json.loads(found.to_json())
    assert call(*options, "--format", "csv").text == found.to_csv()
    assert call(*options, "--format", "markdown").text == found.to_markdown()
    latex = call(*options, "--format", "latex", "--label", "tab:x", "--decimals", 2).text
    assert latex == found.to_latex(label="tab:x", decimals=2)


def test_runs_and_measures_are_those_of_eval(call: Any) -> None:
    named = call(LEXICAL, VECTOR, "--qrels", QRELS, "nDCG@10", "AP", "--format", "json")
    document = json.loads(named.text)
    assert list(document["modes"]) == ["lexical", "vector"]
    assert list(document["modes"]["lexical"]["measures"]) == ["nDCG@10", "AP"]
    spaced = call(QRELS, LEXICAL, VECTOR, "-m", "nDCG@10 AP", "--format", "json")
    assert spaced.text == named.text


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((*PAIR,), 2, "no judgments given — --qrels — add --qrels FILE"),
        ((LEXICAL,), 2, "no judgments given"),
        ((LEXICAL, LEXICAL, "--qrels", QRELS), 2, "lexical.run is given"),
        (("-", "x=-", "--qrels", QRELS), 2, "standard input"),
        ((*PAIR, "--qrels", QRELS, "--to", "x.docx"), 2, "unsupported table format: .docx"),
        ((*PAIR, "--qrels", QRELS, "--baseline", "c"), 2, "unknown baseline 'c'"),
        ((*PAIR, "--qrels", QRELS, "--confidence", "95"), 2, "confidence"),
        ((*PAIR, "--qrels", QRELS, "--correction", "x"), 2, "unknown correction 'x'"),
        ((*PAIR, "--qrels", QRELS, "--interval", "x"), 2, "x"),
        ((*PAIR, "--qrels", QRELS, "--primary-measure", "P@99"), 2, "P@99"),
        ((*PAIR, "--qrels", QRELS, "--label", "}"), 2, "invalid LaTeX label"),
        ((*PAIR, "--qrels", "none.txt"), 2, "none.txt"),
    ],
)
def test_errors_are_one_line(call: Any, words: Any, code: int, message: str) -> None:
    done = call(*words)
    assert (done.code, done.text) == (code, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert message in line


def test_runs_over_different_queries_are_not_comparable(call: Any, tmp_path: Path) -> None:
    few = tmp_path / "few.run"
    lines = VECTOR.read_text("utf-8").splitlines(keepends=True)
    first = lines[0].split()[0]
    few.write_text("".join(line for line in lines if line.split()[0] != first))
    done = call(LEXICAL, few, "--qrels", QRELS, "--missing", "drop")
    assert done.code == 3
    assert "averaged over" in done.stderr
    assert call(LEXICAL, few, "--qrels", QRELS).code == 0
    assert call(LEXICAL, f"r={few}", "--qrels", QRELS, "--strict-input").code in (0, 1)


def test_the_options_that_decide_reach_the_result(call: Any) -> None:
    words = (*PAIR, "--qrels", QRELS, "-m", "AP", "--format", "json")
    found = json.loads(
        call(
            *words, "--test", "t_test", "--correction", "bh", "--confidence", 0.9,
            "--resamples", 300, "--seed", 3, "--interval", "t",
        ).text
    )  # fmt: skip
    entry = found["comparisons"][0]
    assert (entry["test"], entry["correction"]) == ("t_test", "bh")
    assert (entry["ci"]["level"], entry["ci"]["method"]) == (0.9, "Student t")
    assert entry["p_adjusted"] == entry["t_test"]["p"]


def test_queries_are_side_by_side_with_the_worst_first(call: Any) -> None:
    words = (*PAIR, "--qrels", QRELS, "-m", "AP,MinRank", "--per-query")
    found = json.loads(call(*words, "--format", "json").text)
    for measure, sign in (("AP", 1), ("MinRank", -1)):
        rows = [row for row in found["per_query"] if row["measure"] == measure]
        (entry,) = (one for one in found["comparisons"] if one["measure"] == measure)
        pair = f"{entry['contrast']} − {entry['baseline']}"
        changes = [row["differences"][pair] for row in rows]
        known = [one for one in changes if one is not None]
        assert len(known) == entry["n"]
        assert known == sorted(known, key=lambda one: sign * one)
        assert sum(known) / len(known) == pytest.approx(entry["difference"])
        for row, change in zip(rows, changes, strict=True):
            values = row["values"]
            if change is not None:
                assert change == values[entry["contrast"]] - values[entry["baseline"]]
    few = json.loads(call(*words, "--worst", 2, "--format", "json").text)["per_query"]
    assert few == [*found["per_query"][:2], *rows[:2]]
    table = pl.read_csv(call(*words, "--worst", 2, "--format", "csv").text.encode())
    assert table.columns[:2] == ["query_id", "measure"]
    assert table[pair].to_list() == [row["differences"][pair] for row in few]
    assert call(*PAIR, "--qrels", QRELS, "--worst", 2).code == 2


def test_groups_of_queries_have_means_and_differences(call: Any, tmp_path: Path) -> None:
    topics = tmp_path / "topics.jsonl"
    words = (*PAIR, "--qrels", QRELS, "-m", "AP,RR")
    queries = json.loads(call(*words, "--per-query", "--format", "json").text)["per_query"]
    ids = sorted({row["query_id"] for row in queries})
    lines = [
        json.dumps({"query_id": one, "text": f"text {one}", "kind": "x" if place < 2 else "y"})
        for place, one in enumerate(ids)
    ]
    topics.write_text("\n".join(lines))
    options = ("--by", "kind", "--topics", topics)
    rows = json.loads(call(*words, *options, "--format", "json").text)["groups_of_queries"]
    assert [(row["kind"], row["queries"]) for row in rows[:2]] == [("y", len(ids) - 2), ("x", 2)]
    for row in rows:
        members = ids[:2] if row["kind"] == "x" else ids[2:]
        of_group = [
            one for one in queries
            if one["measure"] == row["measure"] and one["query_id"] in members
        ]  # fmt: skip
        for kind in ("values", "differences"):
            for name, figure in row[kind].items():
                total = sum(one[kind][name] for one in of_group)
                assert figure == pytest.approx(total / len(members))
    for form in ("markdown", "latex"):
        assert call(*words, *options, "--format", form).text.count("x (2)") == 2
    assert call(*words, "--by", "kind").code == 2
    assert call(*words, "--by", "nosuch", "--topics", topics).code == 2
    assert call(*words, *options, "--per-query", "--format", "csv").code == 2
