from __future__ import annotations

import polars as pl
import pytest

from trectools_plus.errors import InputError
from trectools_plus.formats.tables import Corpus, Topics
from trectools_plus.retrieval.document_set import DocumentSet, hash_topics


def corpus_of(*rows: tuple[str, str, str]) -> Corpus:
    return Corpus(pl.DataFrame(rows, schema=["doc_id", "title", "text"], orient="row"))


def test_ids_descend_by_bytes() -> None:
    documents = DocumentSet.from_corpus(Corpus.from_dict(dict.fromkeys(["a", "é", "z", "😀"], "x")))
    assert documents.doc_ids == ["😀", "é", "z", "a"]


def test_hash_of_topics_heeds_order() -> None:
    assert hash_topics(Topics.from_dict({"1": "a", "2": "b"})) != hash_topics(
        Topics.from_dict({"2": "b", "1": "a"})
    )


def test_refuses_repeated_ids_and_nothing() -> None:
    with pytest.raises(InputError, match="'d1' occurs more than once"):
        DocumentSet.from_corpus(corpus_of(("d1", "", "a"), ("d2", "", "b"), ("d1", "", "c")))
    with pytest.raises(InputError, match="no documents"):
        DocumentSet.from_corpus(Corpus.from_dict({}))
