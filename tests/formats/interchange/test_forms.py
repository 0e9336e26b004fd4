"""Every format of runs and qrels: a small example of each, in ``fixtures/``.

``NAME.run.EXT`` is a run, ``NAME.qrels.EXT`` qrels, and ``NAME.EXT`` both.
"""

from __future__ import annotations

import re
import struct
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from trectools_plus.formats.interchange.detection import FORMATS
from trectools_plus.validation.loading import convert_qrels, convert_run

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "fixtures" / "formats"
EXAMPLES = [
    (path.name, kind)
    for path in sorted(FOLDER.iterdir())
    for kind in ("run", "qrels")
    if path.name.split(".")[1:-1] in ([], [kind])
]
GRADES = [("q1", "d1", 2), ("q1", "d2", 0), ("q2", "d3", 1)]
RELEVANT = [("q1", "d1", 1), ("q2", "d3", 1)]
SCORES = [("q1", "d1", 2.5), ("q1", "d2", 1.5), ("q2", "d3", 3.0)]
RANKED = [("q1", "d1", -1.0), ("q1", "d2", -2.0), ("q2", "d3", -1.0)]
HAS_SCORES = rb"2\.5|" + re.escape(struct.pack("<d", 2.5))
HAS_GRADES = rb"(?<![qd\d.])2(?![\w.])"
KINDS: dict[str, Any] = {
    "run": (convert_run, "score", HAS_SCORES, SCORES, RANKED),
    "qrels": (convert_qrels, "relevance", HAS_GRADES, GRADES, RELEVANT),
}


@pytest.mark.parametrize(("name", "kind"), EXAMPLES)
def test_examples_of_every_format_are_read(name: str, kind: str) -> None:
    convert, value, mark, with_values, listed = KINDS[kind]
    frame = convert(FOLDER / name).table.frame.select("query_id", "doc_id", value)
    has_values = re.search(mark, (FOLDER / name).read_bytes())
    assert frame.rows() == (with_values if has_values else listed)


def test_every_format_has_an_example() -> None:
    assert {name for name, _ in EXAMPLES} == {path.name for path in FOLDER.iterdir()}
    labels = {KINDS[kind][0](FOLDER / name).format for name, kind in EXAMPLES}
    assert labels == {form.label for form in FORMATS}


def test_tables_of_formats_are_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts" / "site")
    page = (ROOT / "docs" / "formats.md").read_text("utf-8")
    assert import_module("reference").with_formats(page) == page, "run scripts/docs"
