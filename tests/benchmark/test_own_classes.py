"""A class of measures that the user names is computed, also on reports of others."""

import shutil

import pytest

MEASURE = """
from trectools_plus.measures import BaseMeasure

class First(BaseMeasure):
    def score_query(self, ranked_doc_ids, qrels_of_query):
        return float(qrels_of_query.get(ranked_doc_ids[0], 0) > 0)
"""


@pytest.fixture(autouse=True)
def _own(tmp_path, monkeypatch):
    (tmp_path / "own_of_reader.py").write_text(MEASURE)
    monkeypatch.syspath_prepend(tmp_path)


def test_a_gate_uses_it(given, tmp_path, call_of):
    copy = shutil.copytree(given, tmp_path / "copy")
    words = ("--current", str(copy), "--baseline", str(given), "-m", "own_of_reader:First")
    code, out, err = call_of("benchmark gate")(*words)
    assert code == 0, err
    assert "First" in out
