"""Topics, qrels and documents of different collections are refused before any search."""

import pytest

from trectools_plus.benchmark.run.dataset import check_id_overlap
from trectools_plus.errors import CheckFailedError
from trectools_plus.formats import Corpus, Qrels, Topics

CORPUS = Corpus.from_dict({"d1": "a", "d2": "b"})
QRELS = Qrels.from_dict({"1": {"d1": 1}, "2": {"d2": 1}})


def error_of(corpus, topics, qrels=QRELS):
    with pytest.raises(CheckFailedError) as caught:
        check_id_overlap(corpus, topics, qrels, "irds:mine")
    return str(caught.value)


def test_parts_with_common_ids():
    check_id_overlap(CORPUS, Topics.from_dict({"1": "x", "9": "y"}), QRELS, "x")
    check_id_overlap(None, None, QRELS, "x")
    check_id_overlap(CORPUS, None, Qrels.from_dict({"1": {"d1": 1, "d9": 1}}), "x")


def test_topics_of_another_collection():
    words = error_of(None, Topics.from_dict({"a": "x", "b": "y"}))
    assert "a, b; qrels: 1, 2)" in words
    assert "irds:mine" in words


def test_documents_of_another_collection():
    words = error_of(CORPUS, None, Qrels.from_dict({"1": {"x9": 1}}))
    assert "(corpus: d1, d2; qrels: x9)" in words
