"""The registry: every label is made by its provider, and a new measure is one new file."""

from __future__ import annotations

from pathlib import Path

import pytest

from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures import definitions, evaluate, explain, parse_measure
from trectools_plus.measures.parser import (
    PROVIDERS,
    builtin_labels,
    ir_measures_labels,
    load_provider,
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

    @property
    def _definition(self):
        return self._define("documents retrieved", "1", "none")


MEASURES = (Depth,)
'''


def test_labels_are_declared_once() -> None:
    labels = builtin_labels()
    assert len({*labels}) == len(labels)
    assert labels[0] == "nDCG"
    assert labels.index("APcap") < labels.index("ERR") < labels.index("MaxOntSim")  # by file
    assert measure_labels()[: len(labels)] == labels


@pytest.mark.parametrize("label", builtin_labels())
def test_a_measure_names_the_provider_that_supports_it(label: str) -> None:
    by_hand = {"IPrec": "@0.1", "P": "@5", "R": "@5", "Success": "@5", "HitRate": "@5"}
    measure = parse_measure(label + by_hand.get(label, "@5" if label == "APcap" else ""))
    assert measure.name.startswith(label)
    providers = map(load_provider, PROVIDERS)
    first = next(one for one in providers if label in one.labels())
    if label == "MaxOntSim":  # declared with the built-in ones, computed query by query
        assert measure.provider.sees_documents
    else:
        assert type(measure.provider) is type(first)


def test_labels_of_ir_measures_are_further_ones() -> None:
    assert "Compat" in ir_measures_labels()
    assert parse_measure("Compat").provider.sees_documents
    assert "Compat" not in measure_labels()


def test_plain_names_are_declared_by_measures() -> None:
    assert [plain_name(label) for label in ("RR", "APcap", "MaxOntSim", "Judged")] == [
        "mrr",
        "map_capped",
        "max_ont_sim",
        "judged",
    ]
    assert plain_name("ERR") is plain_name("SetP") is plain_name("Unknown") is None


def test_a_built_in_measure_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "depth.py").write_text(DEPTH)
    monkeypatch.setattr(definitions, "__path__", [*definitions.__path__, str(tmp_path)])
    assert "Depth" in measure_labels()
    assert plain_name("Depth") == "depth"
    assert not explain("Depth").higher_is_better
    qrels, run = Qrels.from_dict({"1": {"a": 1}}), Run.from_dict({"1": {"a": 2.0, "b": 1.0}})
    assert evaluate(qrels, run, ["Depth"]).mean("run", "Depth") == 2.0
