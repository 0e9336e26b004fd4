from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.catalogue import CatalogueDataset
from trectools_plus.formats.corpus import Document, read_corpus
from trectools_plus.formats.tables import Corpus
from trectools_plus.retrieval.document_stream import (
    CatalogueDocuments,
    CorpusDocuments,
    CorpusFile,
    survey,
)

from .conftest import digests_of


class Listed:
    """Documents of a list; counts how often they are read."""

    path = "listed"

    def __init__(self, documents):
        self.documents = documents
        self.passes = 0

    def __iter__(self):
        self.passes += 1
        return iter([Document(*document) for document in self.documents])


TEXTS = st.text(alphabet="ab é", max_size=4)
DOCUMENTS = st.lists(
    st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=5, unique_by=lambda row: row[0]
)


@given(DOCUMENTS, DOCUMENTS)
def test_hashes_are_equal_exactly_for_the_same_documents_in_any_order(one, other) -> None:
    same = sorted(one) == sorted(other)
    assert (survey(Listed(one)) == survey(Listed(other))) == same
    assert survey(Listed(one)) == survey(Listed(one[::-1]))


def test_a_count_and_one_pass() -> None:
    documents = Listed([("a", "", "x"), ("b", "", "x")])
    assert survey(documents).count == 2
    assert documents.passes == 1


def test_names_a_repeated_id() -> None:
    with pytest.raises(InputError, match="'b' occurs more than once in the corpus — listed"):
        survey(Listed([("a", "", "1"), ("b", "", "1"), ("c", "", ""), ("b", "", "2")]))


def test_ids_that_only_look_alike_are_no_repetition() -> None:
    with digests_of(0) as digested:
        assert survey(Listed([("a", "", "1"), ("b", "", "1")])).count == 2
        assert {b"a", b"b"} <= {*digested}
        with pytest.raises(InputError, match="'b' occurs"):
            survey(Listed([("a", "", "1"), ("b", "", "1"), ("b", "", "")]))


def test_no_documents() -> None:
    with pytest.raises(InputError, match="no documents"):
        survey(Listed([]))


def test_a_file_a_corpus_and_the_catalogue_give_the_same(
    tmp_path: Path, ir_datasets_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(ir_datasets_home))
    dataset = CatalogueDataset("cranfield")
    file = tmp_path / "corpus.jsonl"
    with file.open("w") as stream:
        for document in CatalogueDocuments(dataset):
            row = {"_id": document.doc_id, "title": document.title, "text": document.text}
            stream.write(json.dumps(row) + "\n")
    expected = survey(CorpusDocuments(dataset.read_corpus()))
    assert expected.count == 1400
    assert survey(CatalogueDocuments(dataset)) == expected
    assert survey(CorpusFile(file)) == expected
    assert survey(CorpusDocuments(read_corpus(file))) == expected
    assert CorpusFile(file).path == str(file)
    assert CatalogueDocuments(dataset).path == "irds:cranfield"


def test_a_file_can_be_read_again_and_leaves_repeats_to_the_survey(tmp_path: Path) -> None:
    file = tmp_path / "corpus.jsonl"
    file.write_text('{"_id": "a", "text": "1"}\n{"_id": "a", "text": "2"}\n')
    documents = CorpusFile(file)
    assert len(list(documents)) == len(list(documents)) == 2
    with pytest.raises(InputError, match="'a' occurs more than once"):
        survey(documents)
    file.write_text("\n")
    with pytest.raises(FormatError, match="no documents"):
        survey(documents)


def test_of_a_corpus_in_slices() -> None:
    corpus = Corpus.from_dict({f"d{number}": str(number) for number in range(20_000)})
    assert list(CorpusDocuments(corpus)) == [
        Document(one, "", text) for one, text in corpus.to_dict().items()
    ]
