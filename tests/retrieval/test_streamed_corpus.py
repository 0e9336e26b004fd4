"""A corpus that is not held answers as one that is."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import UsageError
from trectools_plus.formats.corpus import Document, read_corpus
from trectools_plus.formats.tables import Corpus
from trectools_plus.retrieval.document_stream import CorpusDocuments, CorpusFile
from trectools_plus.retrieval.streamed_corpus import (
    StreamedCorpus,
    as_stream,
    hash_corpus,
    stream_corpus,
)


def corpus_of(*rows: tuple[str, str, str]) -> Corpus:
    return Corpus(pl.DataFrame(rows, schema=["doc_id", "title", "text"], orient="row"))


@given(st.dictionaries(st.text(min_size=1), st.text(), min_size=1), st.randoms())
def test_hash_ignores_order(texts: dict[str, str], random: object) -> None:
    shuffled = list(texts.items())
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert hash_corpus(Corpus.from_dict(texts)) == hash_corpus(Corpus.from_dict(dict(shuffled)))


def test_hash_tells_apart_where_the_bytes_are_the_same() -> None:
    hashes = {
        hash_corpus(corpus_of(("1", "a", "bc"))),
        hash_corpus(corpus_of(("1", "ab", "c"))),
        hash_corpus(corpus_of(("1a", "", "bc"))),
        hash_corpus(corpus_of(("1", "", "abc"))),
        hash_corpus(corpus_of(("1", "", "ab"), ("2", "", "c"))),
    }
    assert len(hashes) == 5


def test_nothing_has_a_hash_too() -> None:
    assert len(hash_corpus(Corpus.from_dict({}))) == 64


TEXTS = st.dictionaries(st.text(min_size=1, max_size=3), st.text(max_size=5), min_size=1)


@given(TEXTS, st.lists(st.text(min_size=1, max_size=3)))
def test_it_answers_as_a_corpus_in_memory(texts: dict[str, str], asked: list[str]) -> None:
    held = Corpus.from_dict(texts)
    streamed = as_stream(held)
    wanted = pl.Series(asked, dtype=pl.String)
    assert len(streamed) == len(held)
    assert streamed.doc_ids == held.doc_ids
    assert hash_corpus(streamed) == hash_corpus(held)
    assert streamed.has_any(wanted) == held.has_any(wanted) == bool(set(asked) & set(texts))
    assert streamed.find(wanted).equals(held.find(wanted))
    assert as_stream(streamed) is streamed


class Counting(CorpusDocuments):
    """Documents that say how many of them were read."""

    read = 0

    def __iter__(self) -> Iterator[Document]:
        for document in super().__iter__():
            type(self).read += 1
            yield document


def test_it_reads_no_more_than_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counting, "read", 0)
    corpus = StreamedCorpus(Counting(Corpus.from_dict({"a": "1", "b": "2", "c": "3"})))
    assert corpus.find(pl.Series([], dtype=pl.String)).is_empty()
    assert Counting.read == 0
    assert corpus.has_any(pl.Series(["c", "b"]))
    assert Counting.read == 2
    assert (len(corpus), len(hash_corpus(corpus)), len(corpus)) == (3, 64, 3)
    assert Counting.read == 5, "counted and hashed once"


def test_an_address(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    file = tmp_path / "corpus.jsonl"
    file.write_text(json.dumps({"_id": "a", "text": "wing"}) + "\n")
    streamed = stream_corpus(None, file.as_uri())
    assert streamed is not None
    assert (streamed.path, streamed.doc_ids) == (file.as_uri(), ["a"])


@pytest.mark.skipif(os.name != "posix", reason="named pipes")
def test_a_pipe_cannot_be_read_again(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert stream_corpus(None, str(tmp_path / "pipe")) is None


def test_what_can_be_read_again(tmp_path: Path) -> None:
    file = tmp_path / "corpus.jsonl"
    file.write_text(json.dumps({"_id": "a", "text": "wing"}) + "\n")
    streamed = stream_corpus(None, str(file))
    assert streamed is not None
    assert isinstance(streamed.documents, CorpusFile)
    assert streamed.path == str(file)
    assert hash_corpus(streamed) == hash_corpus(read_corpus(file))
    assert stream_corpus("hpo", None) is None
    assert stream_corpus(None, "-") is None
    assert stream_corpus(None, None) is None
    with pytest.raises(UsageError, match="no dataset"):
        stream_corpus(str(tmp_path / "nowhere"), None)
