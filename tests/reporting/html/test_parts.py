"""The parts of the page: values to draw, encoded values, embedded JSON."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import polars as pl
import pytest

from trectools_plus.reporting.html.page import embed_json, make_title, spell_values
from trectools_plus.reporting.html.per_query import (
    PARTS,
    QueryEvidence,
    collect_queries,
    read_values,
)


def test_values_to_draw_are_numbers_or_dashes() -> None:
    assert spell_values(0.3417, None, 1234567.0) == "0.3417 - 1234567"
    assert spell_values() == ""


def test_the_title_names_modes_and_dataset(make_report: Any) -> None:
    tie = make_report({"a": {"RR@10": 0.5}, "b": {"RR@10": 0.5}}, best_mode={"RR@10": None})
    assert make_title(tie) == "a and b on irds:cranfield"


@pytest.mark.parametrize(
    "values",
    [
        [[0.0, 0.5, None], [1.0, 0.25, 0.3333]],
        [[None, None]],
        [[place / 997 for place in range(997)]],
        [[float(place) for place in range(998)]],
        [[-3.0, 12345.6789, None]],
    ],
)
def test_values_survive_their_encoding(make_report: Any, values: list[list[float | None]]) -> None:
    modes = {f"m{place}": {"RR@10": 0.5} for place in range(len(values))}
    rows = [
        (f"m{mode}", f"q{query}", "RR@10", value)
        for mode, found in enumerate(values)
        for query, value in enumerate(found)
    ]
    schema = {"run": pl.String, "query_id": pl.String, "measure": pl.String, "value": pl.Float64}
    report = make_report(modes)
    evidence = QueryEvidence(pl.DataFrame(rows, schema=schema, orient="row"))
    data = collect_queries(report, evidence, read_values(report, evidence.per_query, ["RR@10"]))
    (encoded,) = data["values"]
    octets = np.frombuffer(base64.b64decode(encoded["data"]), np.uint8)
    codes = [
        int.from_bytes(code.tobytes(), "little") for code in octets.reshape(-1, encoded["bytes"])
    ]
    missing = 2 ** (8 * encoded["bytes"]) - 1
    decoded = [None if code == missing else (code + encoded["from"]) / PARTS for code in codes]
    assert decoded == [
        None if value is None else round(value * PARTS) / PARTS
        for found in values
        for value in found
    ]


def test_json_cannot_end_its_element() -> None:
    text = "</script><!-- & \u2028\u2029 ü"
    embedded = embed_json({"text": text})
    assert not set("<>&\u2028\u2029") & set(embedded)
    assert json.loads(embedded) == {"text": text}
