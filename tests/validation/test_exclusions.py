"""Documents left out of runs and judgments: the figures are those of files without them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from harness.files import write
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus import compare, evaluate
from trectools_plus.errors import InputError, TrectoolsPlusError, UsageError
from trectools_plus.measures.exclusions import Exclusions

DOCUMENTS = [f"d{number}" for number in range(8)]
PAIRS = st.sets(st.tuples(st.sampled_from(["q1", "q2"]), st.sampled_from(DOCUMENTS[:6])))
MEASURES = ["nDCG@3", "P@2", "R@5", "AP", "Judged@5"]
QRELS = {
    "q1": {"d0": 1, "d2": 2, "d5": 0, "d7": 1},
    "q2": {"d1": 1, "d3": 0, "d6": 1, "d7": 0},
}


def without(table: dict[str, dict[str, Any]], pairs: set[tuple[str, str]]) -> dict[str, Any]:
    return {
        query: {doc_id: value for doc_id, value in row.items() if (query, doc_id) not in pairs}
        for query, row in table.items()
    }


@given(st.permutations(DOCUMENTS), st.permutations(DOCUMENTS), PAIRS)
def test_figures_are_those_without_the_documents(
    first: list[str], second: list[str], pairs: set[tuple[str, str]]
) -> None:
    run = {
        query: {doc_id: float(-rank) for rank, doc_id in enumerate(ranking)}
        for query, ranking in (("q1", first), ("q2", second))
    }
    expected = evaluate(without(QRELS, pairs), {"x": without(run, pairs)}, MEASURES)
    exclude: dict[str, list[str]] = {"q9": ["other"]}
    for query, doc_id in pairs:
        exclude.setdefault(query, []).append(doc_id)
    assert evaluate(QRELS, {"x": run}, MEASURES, exclude=exclude).to_dict() == expected.to_dict()


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "qrels.txt").write_text("1 0 a 1\n1 0 b 0\n1 0 c 1\n2 0 a 1\n2 0 b 0\n")
    for name, documents in (("x", "bac"), ("y", "abc")):
        (tmp_path / f"{name}.run").write_text(
            "".join(
                f"{query} Q0 {doc_id} {rank} {9 - rank} {name}\n"
                for query in (1, 2)
                for rank, doc_id in enumerate(documents, 1)
            )
        )
    (tmp_path / "pairs.txt").write_text("# seen\n1 b\n\n2 b\n")
    (tmp_path / "seen.qrels").write_text("1 0 b 2\n2 0 b 0\n")
    (tmp_path / "lists.json").write_text('{"1": ["b"], "2": ["b"]}\n')
    return tmp_path


@pytest.mark.parametrize("form", ["pairs.txt", "seen.qrels", "lists.json"])
def test_files_of_pairs_and_qrels(files: Path, form: str) -> None:
    qrels, exclude = str(files / "qrels.txt"), str(files / form)
    assert Exclusions.of(exclude).pairs.height == 2
    run = str(files / "x.run")
    assert evaluate(qrels, run, ["P@1"])["P@1"] == 0.0
    assert evaluate(qrels, run, ["P@1"], exclude=exclude)["P@1"] == 1.0
    found = compare(qrels, [run, str(files / "y.run")], ["P@1"], exclude=exclude)
    assert {name: means["P@1"] for name, means in found.means.items()} == {"x": 1.0, "y": 1.0}
    with pytest.raises(UsageError):
        compare(evaluate(qrels, run), exclude=exclude)


def test_commands_leave_out_and_record(files: Path, program: Any) -> None:
    options = ["-m", "P@1", "--exclude", "pairs.txt"]
    words = ["trectools-plus", "eval", "qrels.txt", "x.run", *options, "--format", "json"]
    document = json.loads(program(words, files).text)
    assert document["runs"][0]["measures"]["P@1"]["mean"] == 1.0
    assert document["exclude"]["pairs"] == 2
    runs = ["x.run", "y.run", "--qrels", "qrels.txt"]
    done = program(["trectools-plus", "compare", *runs, *options, "--format", "json"], files)
    document = json.loads(done.text)
    assert document["modes"]["x"]["measures"]["P@1"]["mean"] == 1.0
    assert document["config"]["exclude"]["sha256"]
    words = ["trectools-plus", "benchmark", "run", "--runs", "x=x.run", "y=y.run"]
    done = program([*words, "--qrels", "qrels.txt", *options, "--output-dir", "out"], files)
    assert done.code == 0, done.stderr
    report = json.loads((files / "out" / "BenchmarkReport.json").read_text())
    assert report["modes"]["x"]["measures"]["P@1"]["mean"] == 1.0
    assert report["manifest"]["dataset"]["files"]["exclude"]["path"] == "pairs.txt"
    assert " b " not in (files / "out" / "runs" / "x.run").read_text()
    assert program(["trectools-plus", "benchmark", "verify", "out"], files).code == 0


def read_rows(path: Path) -> list[list[str]]:
    return [row.split() for row in path.read_text().splitlines()]


def test_searches_go_deeper_so_that_enough_is_left(files: Path, program: Any) -> None:
    words = ["trectools-plus", "benchmark", "run", "--dataset", "sample", "--modes", "vector"]
    words += ["--depth", "5", "-m", "P@5"]
    assert program([*words, "--output-dir", "all"], files).code == 0
    rows = read_rows(files / "all" / "runs" / "vector.run")
    left_out = [(row[0], row[2]) for row in rows if row[0] in ("1", "2") and int(row[3]) <= 3]
    (files / "first.txt").write_text("".join(f"{query} {doc}\n" for query, doc in left_out))
    done = program([*words, "--exclude", "first.txt", "--output-dir", "rest"], files)
    assert done.code == 0, done.stderr
    kept = [
        row.split() for row in (files / "rest" / "runs" / "vector.run").read_text().splitlines()
    ]
    assert not {(row[0], row[2]) for row in kept} & {*left_out}
    assert sum(row[0] == "1" for row in kept) == 5
    assert [row for row in kept if row[0] == "3"] == [row for row in rows if row[0] == "3"]


@pytest.mark.parametrize(
    "text", ["1 b\n2\n", "1 b\n2 0 c 1\n", "", "# nothing\n", "1 0 b high\n", "one two three\n"]
)
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "exclude.txt", text)
    with pytest.raises(TrectoolsPlusError) as caught:
        Exclusions.of(str(path))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("documents", [["doc"], "doc"])
def test_leaving_out_all_judgments_is_refused(documents):
    with pytest.raises(InputError):
        evaluate({"q": {"doc": 1}}, {"x": {"q": {"doc": 1.0}}}, ["P@1"], exclude={"q": documents})
