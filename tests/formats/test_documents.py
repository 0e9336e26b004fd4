"""Documents in memory and streamed: the same results and the same hash."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import InputError
from trectools_plus.formats.collection import CatalogueDataset
from trectools_plus.formats.corpus import load_corpus
from trectools_plus.formats.tables import Corpus


def corpus_of(*rows: tuple[str, str, str]) -> Corpus:
    return Corpus(pl.DataFrame(rows, schema=["doc_id", "title", "text"], orient="row"))


def survey(documents: Corpus) -> tuple[int, str]:
    documents.in_index_order()
    return len(documents), documents.sha256()


TEXTS = st.text(alphabet="ab é", max_size=4)
DOCUMENTS = st.lists(
    st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=5, unique_by=lambda row: row[0]
)


@given(DOCUMENTS, DOCUMENTS)
def test_hashes_are_equal_exactly_for_the_same_documents_in_any_order(one, other) -> None:
    same = sorted(one) == sorted(other)
    assert (survey(corpus_of(*one)) == survey(corpus_of(*other))) == same
    assert survey(corpus_of(*one)) == survey(corpus_of(*one[::-1]))


def test_an_id_occurs_once() -> None:
    with pytest.raises(InputError, match="b"):
        survey(corpus_of(("a", "", "1"), ("b", "", "1"), ("b", "", "")))


def test_no_documents() -> None:
    with pytest.raises(InputError):
        survey(corpus_of())


def test_a_file_a_corpus_and_the_catalogue_give_the_same(
    tmp_path: Path, ir_datasets_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(ir_datasets_home))
    dataset = CatalogueDataset("cranfield")
    file = tmp_path / "corpus.jsonl"
    with file.open("w") as stream:
        for document in dataset.read_corpus():
            row = {"_id": document.doc_id, "title": document.title, "text": document.text}
            stream.write(json.dumps(row) + "\n")
    expected = survey(dataset.read_corpus())
    assert expected[0] == 1400
    assert survey(load_corpus(file)) == expected


def test_hash_distinguishes_different_splits_of_the_same_bytes() -> None:
    hashes = {
        corpus_of(("1", "a", "bc")).sha256(),
        corpus_of(("1", "ab", "c")).sha256(),
        corpus_of(("1a", "", "bc")).sha256(),
        corpus_of(("1", "", "abc")).sha256(),
        corpus_of(("1", "", "ab"), ("2", "", "c")).sha256(),
    }
    assert len(hashes) == 5


def test_refuses_repeated_ids_and_empty_corpora() -> None:
    with pytest.raises(InputError, match="d1"):
        corpus_of(("d1", "", "a"), ("d2", "", "b"), ("d1", "", "c")).in_index_order()
    with pytest.raises(InputError):
        Corpus.from_dict({}).in_index_order()


BY_ID = st.dictionaries(st.text(min_size=1, max_size=3), st.text(max_size=5), min_size=1)


@given(BY_ID, st.randoms())
def test_index_order_is_kept_and_hashed_once(texts: dict[str, str], random: object) -> None:
    shuffled = list(texts.items())
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    ordered = Corpus.from_dict(dict(shuffled)).in_index_order()
    assert ordered.doc_ids == sorted(texts, reverse=True)
    assert ordered.in_index_order() is ordered
    assert ordered.sha256() == Corpus.from_dict(texts).sha256()
