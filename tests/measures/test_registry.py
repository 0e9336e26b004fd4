"""The registry: every label is made by its provider, and a new measure is one new file."""

from __future__ import annotations

from pathlib import Path

import pytest

from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures import definitions, evaluate, explain
from trectools_plus.measures.parser import (
    measure_labels,
    plain_name,
)

DEPTH = '''
"""How much is returned."""

from trectools_plus.measures.providers.builtin import ColumnMeasure


class Depth(ColumnMeasure):
    """Documents retrieved."""

    label = "Depth"
    plain_name = "depth"
    higher_is_better = False

    def score(self, run):
        return run.retrieved.astype(float)

    formula = "documents retrieved"
    gain = "1"


MEASURES = (Depth,)
'''


def test_a_built_in_measure_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "depth.py").write_text(DEPTH)
    monkeypatch.setattr(definitions, "__path__", [*definitions.__path__, str(tmp_path)])
    assert "Depth" in measure_labels()
    assert plain_name("Depth") == "depth"
    assert not explain("Depth").higher_is_better
    qrels, run = Qrels.from_dict({"1": {"a": 1}}), Run.from_dict({"1": {"a": 2.0, "b": 1.0}})
    assert evaluate(qrels, run, ["Depth"]).mean("run", "Depth") == 2.0
