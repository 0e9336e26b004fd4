"""Every public result has a short text form and an HTML form, whatever it contains."""

from __future__ import annotations

import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness.plans import make_small
from hypothesis import given
from hypothesis import strategies as st

import trectools_plus
from trectools_plus import Corpus, Qrels, Run, Topics, compare, evaluate, explain, load_ontology
from trectools_plus.display import (
    MAX_TABLE_ROWS,
    TextTable,
    as_cell,
)
from trectools_plus.reporting import html_table

ROOT = Path(trectools_plus.__file__).parent
NAME = '<b title="x">&\n]]>' + "\x00é" * 400
LIMIT = 2_000
ENTRIES = 40


def examples() -> dict[str, Any]:
    """Results whose content must be consistent."""
    name = NAME.replace("\n", "").replace("\x00", "")  # ids in files have neither
    queries = [f"{name}{number}" for number in range(ENTRIES)]
    qrels = Qrels.from_dict({query: {name: 1} for query in queries})
    run = Run.from_dict({query: {name: 1.0} for query in queries}, name)
    evaluation = evaluate(
        qrels, {f"{name}{number}": run for number in range(40)}, [f"P@{k}" for k in range(1, 30)]
    )
    few = evaluate(qrels, {f"{name}{number}": run for number in range(5)}, ["AP", "RR"])
    ontology = load_ontology(ROOT.parent / "fixtures" / "ontology" / "toy.obo")
    return {
        "PlanFolder": make_small(Path(tempfile.mkdtemp())),
        "Run": run,
        "Qrels": qrels,
        "Topics": Topics.from_dict(dict.fromkeys(queries, NAME * 100)),
        "Corpus": Corpus.from_dict(dict.fromkeys(queries, NAME * 100)),
        "Evaluation": evaluation,
        "Comparisons": compare(few, resamples=20),
        "Ontology": ontology,
        "InformationContent": ontology.information,
    }


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return examples()


def test_a_result_has_a_short_text_and_an_html_form(results: dict[str, Any]) -> None:
    for name, result in results.items():
        for shown in (str(result), repr(result)):
            assert 0 < len(shown.encode(errors="replace")) < LIMIT, name
        assert " object at 0x" not in str(result)
        page = ET.fromstring(f"<div>{result._repr_html_()}</div>")
        assert not [one for one in page.iter() if one.attrib.get("title") == "x"], "not escaped"
        tables = list(page.iter("table"))
        assert tables, name
        for table in tables:
            assert 1 <= len(list(table.iter("tr"))) <= MAX_TABLE_ROWS + 2
            widths = {len(list(row)) for row in table.iter("tr")}
            assert len(widths) <= 2, "every row has as many cells as the header, except the last"
        assert all(len(cell.text or "") <= 2_000 for cell in page.iter()), name


def test_values_are_shown_in_both_forms() -> None:
    qrels = Qrels.from_dict({"q1": {"d1": 1, "d2": 0}})
    assert str(qrels) == "<Qrels: 1 query, 2 judgments>"
    page = ET.fromstring(f"<div>{qrels._repr_html_()}</div>")
    rows = [[cell.text for cell in row] for row in page.iter("tr")]
    assert rows == [
        ["query_id", "iteration", "doc_id", "relevance"],
        ["q1", "0", "d1", "1"],
        ["q1", "0", "d2", "0"],
    ]
    assert as_cell(np.ones((2, 3))) == "array([[1., 1., 1.],        [1., 1., 1.]])"
    definition = explain("nDCG@10")
    assert "nDCG@10" in definition._repr_html_()
    assert str(definition).startswith("nDCG@10: ")


@given(st.lists(st.text(), min_size=1, max_size=4), st.text(min_size=1))
def test_any_text_is_escaped(cells: list[str], caption: str) -> None:
    table = TextTable.of([*cells, "x"], [[*cells, "x"]], caption=caption)
    page = ET.fromstring(f"<div>{html_table(table)}</div>")
    assert {one.tag for one in page.iter("table")} == {"table"}
    tags = {"div", "p", "table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert {one.tag for one in page.iter()} <= tags
