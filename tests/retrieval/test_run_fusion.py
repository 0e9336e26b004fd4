from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from trectools_plus.errors import UsageError
from trectools_plus.formats.ranking import rank_documents
from trectools_plus.formats.tables import Run
from trectools_plus.retrieval.fusion import Fusion, fuse

LEFT = Run.from_dict({"q2": {"a": 3.0, "b": 2.0}, "q1": {"a": 1.0}})
RIGHT = Run.from_dict({"q1": {"b": 7.0, "a": 9.0}, "q3": {"c": 1.0}})


def test_rrf_by_hand() -> None:
    fused = fuse([LEFT, RIGHT], Fusion(k=1), name="rrf")
    assert fused.name == "rrf"
    assert fused.query_ids == ["q2", "q1", "q3"]
    # RIGHT lists b first for q1, but a scores higher: a is rank 1 in both.
    table = fused.to_dict()
    assert table["q1"] == pytest.approx({"a": 1 / 2 + 1 / 2, "b": 1 / 3})
    assert table["q2"] == pytest.approx({"a": 1 / 2, "b": 1 / 3})
    assert table["q3"] == pytest.approx({"c": 1 / 2})
    assert fused.frame.equals(rank_documents(fused.frame).select(fused.frame.columns))


def test_an_empty_run_adds_nothing_and_ties_are_those_of_32_bits() -> None:
    nothing = Run(pl.DataFrame(schema=LEFT.frame.schema))
    assert fuse([LEFT, nothing], Fusion()).to_dict() == fuse([LEFT], Fusion()).to_dict()
    assert fuse([nothing], Fusion()).frame.height == 0
    tied = Run.from_dict({"q": {"a": 0.75000001, "b": 0.75}})
    assert fuse([tied], Fusion()).frame["doc_id"].to_list() == ["b", "a"]


@pytest.mark.parametrize(
    ("runs", "settings", "message"),
    [
        ([], {}, "no run"),
        ([LEFT, RIGHT], {"fusion": "weighted", "weights": (1.0,)}, r"2.*1"),
        ([LEFT], {"depth": 0}, "depth"),
    ],
)
def test_refuses(runs: list[Run], settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        fuse(runs, **settings)
