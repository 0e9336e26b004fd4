"""Every row of docs/coming-from.md: its commands and code run, its measures are the same.

Code spans of these kinds are checked in the second column, or in the first one if the second is
"the same"; other spans are names of options, paths and files.

- ``trectools-plus …``: a command, which must succeed.
- a measure: in both columns, the same measure, unless the first column says more than its name.
- ``name: value``: settings of a ``benchmark.yaml``.
- Python: statements or an expression, with the names of the package and of ``PYTHON_NAMES``.

In the first column, spans that begin with ``trectools-plus`` or ``from trectools_plus`` are used
too: they work, or print one line that contains a code span of the second column.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from harness.program import Done, Program

import trectools_plus
from trectools_plus.benchmark.run.config_file import load_config
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.measures.parser import parse_measures

pytestmark = [pytest.mark.process, pytest.mark.slow("runs every command of the page")]

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "coming-from.md"
GARDEN = ROOT / "fixtures/garden-trec"


def as_csv(path: Path, header: str, fields: tuple[int, ...]) -> str:
    """Return columns of a run or qrels as CSV with a header."""
    rows = [line.split() for line in path.read_text("utf-8").splitlines()]
    return "\n".join([header, *(",".join(row[field] for field in fields) for row in rows), ""])


FILES: dict[str, str | Path] = {
    "judgments.csv": as_csv(GARDEN / "qrels.txt", "query_id,doc_id,relevance", (0, 2, 3)),
    "results.csv": as_csv(ROOT / "fixtures/runs/lexical.run", "query_id,doc_id,score", (0, 2, 4)),
    "cases.csv": "query_id,query_text,doc_id,relevance\nq1,seizure,d1,2\nq1,seizure,d2,1\n",
    "queries.csv": "query_id,query_text\nq1,seizure\nq2,fever\n",
    "ranks.tsv": "1\ta\t1\n1\tb\t2\n",
    "run.json": '{"1": {"g06": 2.5, "g02": 1}, "2": {"g01": 1}}',
    "beir.tsv": "query-id\tcorpus-id\tscore\n1\ta\t1\n",
    "prels.txt": "20001 a 1 1 0.4\n20001 b 0 2 1.0\n",
    "levels.txt": "0001 a L2\n0001 b L0\n",
    "answers.jsonl": '{"run_id": "r", "topic_id": "1", "references": ["a", "b"], "answer": []}\n',
    "pm.xml": '<topic number="1"><disease>melanoma</disease><gene>BRAF</gene></topic>',
    "map.json": '{"a-1": "one", "a-2": "two"}',
    "colon.txt": "1:one\n2:two\n",
    "cran.qry": ".I 1\n.W\nfirst query\n",
    "cedr.tsv": "query\t1\tone\nquery\t2\ttwo\n",
    "other.jsonl": '{"key": "1", "words": "one", "x": 1}\n{"key": "2", "words": "two", "x": 1}\n',
    "my.run": ROOT / "fixtures/runs/lexical.run",
    "other.run": ROOT / "fixtures/runs/vector.run",
    "qrels.txt": GARDEN / "qrels.txt",
    "topics.tsv": GARDEN / "topics.tsv",
    "corpus.jsonl": GARDEN / "corpus.jsonl",
    "my_cases.json": ROOT / "fixtures/testsets/phentrieve-list.json",
    "mixed.json": json.dumps(
        [
            {"text": text, "hpo_ids": ["HP:0001250"], "language": language}
            for language, text in (("en", "seizures"), ("en", "fits"), ("de", "Krampfanfälle"))
        ]
    ),
    "review.db": ROOT / "tests/contract/inputs/review/review.db",
    "test_set_v1.yaml": ROOT / "fixtures/testsets/own-form.yaml",
    "german/70cases_gemini_v1.json": ROOT / "fixtures/testsets/phentrieve-list.json",
    "custom_metrics.py": (
        "from trectools_plus import BaseMetric\n\n\n"
        "class CustomMetric(BaseMetric):\n"
        "    def __init__(self):\n"
        '        super().__init__(name="custom_metric")\n\n'
        "    def calculate(self, results):\n"
        '        return float(results["ranked_ids"][0] in results["relevant"])\n'
    ),
    **{
        f"DIR/GeneReviews/annotations/{name}.json": json.dumps(
            {
                "doc_id": name,
                "full_text": "She has seizures and no fever.",
                "annotations": [{"hpo_id": "HP:0001250", "assertion_status": "affirmed"}],
            }
        )
        for name in ("d1", "d2")
    },
}
"""The files that rows mention, by name: their content, or a file to copy. A row mentions a file if
it contains the name of the file, or of its outermost folder."""

_REPORT = "trectools-plus benchmark run --qrels qrels.txt -m R@10,RR@10 --runs"
_EXTRACTION = "trectools-plus extraction run DIR --method dictionary --output-dir"
PREPARED = {
    "old": f"{_REPORT} my.run --output-dir old",
    "new": f"{_REPORT} my.run other.run --output-dir new",
    "A": f"{_EXTRACTION} A",
    "B": f"{_EXTRACTION} B",
}
"""Commands that write the folders that rows mention, by name."""

PYTHON_NAMES = """
import pandas
qrels = {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 2}}
run = {"q1": {"d1": 0.9, "d2": 0.5}, "q2": {"d1": 0.7, "d3": 0.6}}
"""
"""Statements that run before each Python cell."""


class Row(NamedTuple):
    section: str
    there: str
    here: str


def read_rows() -> list[Row]:
    rows = []
    for section in PAGE.read_text("utf-8").split("\n## ")[1:]:
        lines = [line for line in section.splitlines() if line.startswith("|")]
        assert lines[:2] == ["| There | Here |", "|---|---|"], section
        for line in lines[2:]:
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            assert len(cells) == 2, line
            title = section.partition("\n")[0]
            rows.append(Row(title, *(cell.replace(r"\|", "|") for cell in cells)))
    return rows


ROWS = read_rows()


def spans(cell: str) -> list[str]:
    """Return the code in a cell."""
    return re.findall(r"`([^`]+)`", cell)


class Checker:
    """Checks the code spans of a row.

    Args:
        folder: The folder in which commands and code run; contains the files of the row.
        program: The commands.
    """

    def __init__(self, folder: Path, program: Program) -> None:
        self.folder = folder
        self._program = program

    def run(self, command: str) -> Done:
        cache_folder = os.environ["TRECTOOLS_PLUS_CACHE"]
        done = self._program(command, self.folder, TRECTOOLS_PLUS_CACHE=cache_folder)
        assert "Traceback" not in done.stderr
        return done

    def check(self, code: str) -> None:
        """Check one code span by its kind."""
        if code.startswith("trectools-plus "):
            done = self.run(code)
            assert done.code == 0, done.stderr
        elif re.match(r"[a-z_]+: \S", code):
            path = self.folder / "benchmark.yaml"
            path.write_text(f"dataset: hpo\n{code}\n", "utf-8")
            load_config(path)
        elif not is_measure(code) and is_python(code):
            self._python(code)

    def _python(self, code: str) -> None:
        namespace: dict[str, Any] = {}
        exec(PYTHON_NAMES, namespace)
        names = set(re.findall(r"\w+", code)) & set(trectools_plus.__all__)
        namespace |= {name: getattr(trectools_plus, name) for name in names}
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.folder)
            patch.syspath_prepend(str(self.folder))
            exec(code, namespace)

    def check_there(self, code: str, here: list[str]) -> None:
        """Check a span of the first column: it works, or its message names the equivalent."""
        message = ""
        if code.startswith("trectools-plus "):
            done = self.run(code)
            message = done.stderr if done.code else ""
        elif code.startswith("from trectools_plus"):
            try:
                self._python(code)
            except ImportError as error:
                message = str(error)
        assert not message or any(equivalent in message for equivalent in here), message
        assert len(message.splitlines()) <= 1


def is_measure(code: str) -> bool:
    with suppress(TrectoolsPlusError):
        return bool(parse_measures([code]))
    return False


def is_python(code: str) -> bool:
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return False
    calls = (ast.Call, ast.Import, ast.ImportFrom, ast.ClassDef)
    return any(isinstance(node, calls) for node in ast.walk(tree))


def prepare(folder: Path, row: Row) -> None:
    """Write the files that a row mentions."""
    prepared = [command for name, command in PREPARED.items() if mentions(row, name)]
    text = " ".join([row.there, row.here, *prepared])
    for name, content in FILES.items():
        if not re.search(rf"\b{name.partition('/')[0]}\b", text):
            continue
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_text(content, "utf-8")
        else:
            shutil.copyfile(content, path)


def mentions(row: Row, name: str) -> bool:
    """Return whether a command of the row has a folder, or a file in it, as an argument."""
    return re.search(rf"(?<=[ \"]){name}(?=[/ `])", row.here) is not None


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.section[:16]}: {row.there[:60]}")
def test_row(row: Row, tmp_path: Path, program: Program, request: pytest.FixtureRequest) -> None:
    if "irds:" in row.there + row.here:
        request.getfixturevalue("ir_datasets_home")
    prepare(tmp_path, row)
    checker = Checker(tmp_path, program)
    for name, command in PREPARED.items():
        if mentions(row, name):
            assert checker.run(command).code == 0
    there, here = spans(row.there), spans(row.here)
    same = row.here == "the same"
    assert here or same, "the second column has no code"
    for code in there if same else here:
        checker.check(code)
    if not same:
        for code in there:
            checker.check_there(code, here)
    if len(there) == len(here) == 1 and row.there == f"`{there[0]}`" and is_measure(here[0]):
        assert is_measure(there[0]), "the first column is not a measure"
        assert parse_measures(there) == parse_measures(here)
