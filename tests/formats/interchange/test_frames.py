"""Columns of pandas of every type become columns of Polars and back, without pyarrow."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trectools_plus as tp
from trectools_plus.errors import InputError
from trectools_plus.formats.interchange.frames import frame_of, to_pandas
from trectools_plus.formats.interchange.names import TOPICS

pytestmark = pytest.mark.installation

NOON = datetime.fromisoformat("2020-01-01T12:00:00")
# A column of pandas, and the values of the column of Polars.
COLUMNS: dict[str, tuple[pd.Series[Any], list[object]]] = {
    "integers": (pd.Series([1, 2]), [1, 2]),
    "small unsigned integers": (pd.Series([1, 255], dtype="uint8"), [1, 255]),
    "floats": (pd.Series([0.5, np.nan, np.inf]), [0.5, None, np.inf]),
    "half floats": (pd.Series([0.5, 2], dtype="float16"), [0.5, 2.0]),
    "booleans": (pd.Series([True, False]), [True, False]),
    "nullable integers": (pd.Series([1, None], dtype="Int64"), [1, None]),
    "large nullable integers": (pd.Series([2**62 + 1, None], dtype="Int64"), [2**62 + 1, None]),
    "nullable floats": (pd.Series([0.5, None], dtype="Float32"), [0.5, None]),
    "nullable booleans": (pd.Series([True, None], dtype="boolean"), [True, None]),
    "objects": (pd.Series(["a", np.nan, None], dtype=object), ["a", None, None]),
    "texts": (pd.Series(["a", None], dtype="string[python]"), ["a", None]),
    "inferred texts": (pd.Series(["a", "ü"]), ["a", "ü"]),
    "numpy integers as objects": (pd.Series([np.int64(3), 4], dtype=object), [3, 4]),
    "mixed ids": (pd.Series([10, "20"]), ["10", "20"]),
    "categories": (pd.Series(["b", None, "a", "b"], dtype="category"), ["b", None, "a", "b"]),
    "categories of integers": (pd.Series([7, 5]).astype("category"), [7, 5]),
    "no category": (pd.Series([None, None], dtype="category"), [None, None]),
    "sparse": (pd.Series([0, 3], dtype="Sparse[int]"), [0, 3]),
    "times": (pd.Series([NOON, pd.NaT]), [NOON, None]),
    "times with a zone": (pd.Series([NOON.replace(tzinfo=UTC)]), [NOON.replace(tzinfo=UTC)]),
    "dates": (pd.Series([date(2020, 1, 1)]), [date(2020, 1, 1)]),
    "lists": (pd.Series([["a"], ["b", "c"]]), [["a"], ["b", "c"]]),
    "nothing": (pd.Series([], dtype=object), []),
}


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("shifted", [False, True])
def test_columns_of_pandas(kind: str, shifted: bool) -> None:
    column, values = COLUMNS[kind]
    table = pd.DataFrame({"qid": range(len(values)), "query": "q", "field": column})
    if shifted:
        table.index = pd.Index([5] * len(values))
    assert frame_of(table, TOPICS)["field"].to_list() == values


def test_missing_and_wrong_values_are_errors() -> None:
    table = pd.DataFrame({"qid": ["1", None], "docno": ["a", "b"], "score": [1.0, 2.0]})
    with pytest.raises(InputError, match=r"1.*query_id"):
        tp.Run.from_pandas(table)
    table["qid"] = pd.period_range("2020", periods=2, freq="Y")
    with pytest.raises(InputError, match="query_id"):
        tp.Run.from_pandas(table)


CELLS: dict[pl.DataType, st.SearchStrategy[object]] = {
    pl.String(): st.text(),
    pl.Int64(): st.integers(-(2**53), 2**53),
    pl.Float64(): st.floats(allow_nan=False),
    pl.Boolean(): st.booleans(),
}


@given(st.data())
def test_a_frame_is_the_same_after_a_way_through_pandas(data: st.DataObject) -> None:
    rows = data.draw(st.integers(1, 5))
    columns = {}
    for place, (dtype, cells) in enumerate(CELLS.items()):
        values = data.draw(st.lists(st.none() | cells, min_size=rows, max_size=rows))
        columns[f"field{place}"] = pl.Series(values, dtype=dtype)
    frame = pl.DataFrame({"query_id": [str(n) for n in range(rows)], "text": "t", **columns})
    again = frame_of(to_pandas(frame), TOPICS)
    for name, column in columns.items():
        assert again[name].to_list() == column.to_list()


def test_types_in_pandas() -> None:
    frame = pl.DataFrame(
        {
            "text": ["a", None],
            "whole": [1, 2],
            "missing": [1, None],
            "yes": [True, False],
            "maybe": [True, None],
            "kind": pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"])),
            "words": [["a"], []],
        }
    )
    table = to_pandas(frame)
    text = str(pd.Series(["a"]).dtype)
    kinds = [text, "int64", "float64", "bool", "object", text]
    assert list(map(str, table.dtypes))[: len(kinds)] == kinds
    assert table["words"].to_list() == [["a"], []]
    table.loc[0, "whole"] = 7  # the table does not share memory with the frame
    assert frame["whole"][0] == 1
    assert to_pandas(pl.DataFrame()).empty


WITHOUT = """
import sys
sys.modules["pyarrow"] = None
import pandas as pd, polars as pl, trectools_plus as tp
run = pd.DataFrame({"qid": ["1", "1"], "docno": ["a", "b"], "score": [2.0, 1.0]})
qrels = pd.DataFrame({"qid": [1], "docno": pd.Categorical(["b"]), "label": [1]})
evaluation = tp.evaluate(qrels, run, ["RR"])
table = evaluation.to_pandas()
assert table["value"].tolist() == [0.5], table
assert tp.Run.from_pandas(run).to_pandas()["doc_id"].tolist() == ["a", "b"]
compared = tp.compare(qrels, {"x": run, "y": run}, ["RR"])
assert compared.to_pandas()["mean"].tolist() == [0.5, 0.5]
compared.write(sys.argv[1])
assert len(open(sys.argv[1]).readlines()) >= 3  # a header and two runs
"""


def test_nothing_needs_pyarrow(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(tmp_path / "table.csv")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
