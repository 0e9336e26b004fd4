"""The user's glossaries and tables of translated names."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.tables import Corpus
from trectools_plus.retrieval.backends.embedded.backend import build_retrievers
from trectools_plus.retrieval.rewording.translations import add_names, read_translations
from trectools_plus.retrieval.settings import RetrievalSettings

HEADER = (
    "source_language",
    "translation_language",
    "subject_id",
    "predicate_id",
    "source_value",
    "translation_value",
    "translation_status",
)
ROWS = (
    ("en", "cs", "HP:0001250", "rdfs:label", "Seizure", "Záchvat", "OFFICIAL"),
    ("en", "cs", "HP:0001250", "oboInOwl:hasExactSynonym", "Fit", "Křeč", "CANDIDATE"),
    ("en", "cs", "HP_0000175", "rdfs:label", "Cleft palate", "Rozštěp patra", "OFFICIAL"),
    ("en", "cs", "HP:0000175", "IAO:0000115", "A cleft …", "Vrozená vada", "OFFICIAL"),
    ("en", "cs", "HP:0001903", "rdfs:label", "Anemia", "Anemia", "NOT_TRANSLATED"),
    ("en", "cs", "HP:0001903", "rdfs:label", "Anemia", "", "OFFICIAL"),
    ("en", "cs", "HP:9999999", "rdfs:label", "Other", "Jiné", "OFFICIAL"),
)


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "hp-cs.babelon.tsv"
    rows = ("\t".join(row) for row in (HEADER, *ROWS))
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def corpus() -> Corpus:
    terms = {"HP:0001250": "Seizure", "HP:0000175": "Cleft palate", "HP:0001903": "Anemia"}
    parts = pl.DataFrame(
        [(doc_id, "label", text) for doc_id, text in terms.items()],
        schema=["doc_id", "kind", "text"],
        orient="row",
    )
    frame = parts.select("doc_id", title="text", text=pl.lit(""))
    exact = {text.casefold(): [doc_id] for doc_id, text in terms.items()}
    return Corpus(frame, parts=parts, find_exact=lambda text: exact.get(text.casefold(), []))


def test_a_table_adds_labels_and_synonyms(corpus: Corpus, table: str) -> None:
    found = add_names(corpus, table)
    assert found.parts is not None
    assert found.parts.filter(kind="synonym").select("doc_id", "text").rows() == [
        ("HP:0001250", "Záchvat"),
        ("HP:0001250", "Křeč"),
        ("HP:0000175", "Rozštěp patra"),
    ]
    assert found.frame.equals(corpus.frame)
    assert found.find_exact is not None
    assert found.find_exact("rozštěp PATRA") == ["HP:0000175"]
    assert found.find_exact("seizure") == ["HP:0001250"]
    again = add_names(found, table)
    assert again.parts is not None
    assert again.parts.equals(found.parts)


@pytest.mark.parametrize("mode", ["ngram", "vector", "hybrid", "hybrid+exact"])
def test_translated_names_are_searched(corpus: Corpus, table: str, mode: str) -> None:
    settings = RetrievalSettings(translations=table)
    retriever = build_retrievers(corpus, [mode], settings)[mode]
    (found,) = retriever.search(["Rozštěp patra"], 1)
    assert found.doc_ids == ["HP:0000175"]


def test_a_glossary_adds_no_names(corpus: Corpus, tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("záchvat=seizure\n", encoding="utf-8")
    assert read_translations(str(path)) == {"záchvat": "seizure"}
    assert add_names(corpus, str(path)) is corpus
    assert add_names(corpus, None) is corpus


def test_tables_without_these_terms_are_refused(table: str) -> None:
    for other in (Corpus.from_dict({"HP:0001250": "x"}), Corpus.from_dict({"a": "x"})):
        with pytest.raises(FormatError):
            add_names(other, table)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.tsv"
    path.write_text("a\tb\n1\t2\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"subject_id.*translation_value"):
        read_translations(str(path))
    with pytest.raises(InputError):
        read_translations(str(tmp_path / "missing.tsv"))
