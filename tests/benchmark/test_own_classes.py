"""A class of measures that the user names is computed, also on reports of others."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SAMPLE = Path(__file__).parents[2] / "trectools_plus/formats/sample"
MEASURE = """
from trectools_plus.measures import BaseMeasure

class First(BaseMeasure):
    def score_query(self, ranked_doc_ids, qrels_of_query):
        return float(qrels_of_query.get(ranked_doc_ids[0], 0) > 0)
"""
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_of_reader.py").write_text(MEASURE)
    monkeypatch.syspath_prepend(tmp_path)


def test_a_gate_uses_it(module_bench: Any, call_of: Callable[..., Call]) -> None:
    folder = module_bench.make("own", {"a": {n: n % 4 for n in range(60)}, "b": {8: 0}})
    copy = shutil.copytree(folder, folder.parent / "copy")
    words = ("--current", str(copy), "--baseline", str(folder), "-m", "own_of_reader:First")
    code, out, err = call_of("benchmark gate")(*words)
    assert code == 0, err
    assert "First" in out
