"""Documents in memory and streamed: the same results and the same hash."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import FormatError, InputError, UsageError
from trectools_plus.formats.collection import stream_documents
from trectools_plus.formats.corpus import StreamedDocuments, load_corpus, stream_file
from trectools_plus.formats.ir_datasets import CatalogueDataset
from trectools_plus.formats.tables import Corpus, CorpusDocument


def corpus_of(*rows: tuple[str, str, str]) -> Corpus:
    return Corpus(pl.DataFrame(rows, schema=["doc_id", "title", "text"], orient="row"))


def streamed_from(corpus: Corpus) -> StreamedDocuments:
    return StreamedDocuments(lambda: corpus, corpus.path)


class Listed(StreamedDocuments):
    """Documents of a list that count how often they are read."""

    def __init__(self, documents):
        super().__init__(self._from_list, "listed")
        self.documents = documents
        self.passes = 0

    def _from_list(self):
        self.passes += 1
        return iter([CorpusDocument(*document) for document in self.documents])


def survey(documents: StreamedDocuments | Corpus) -> tuple[int, str]:
    documents.check()
    return len(documents), documents.sha256()


TEXTS = st.text(alphabet="ab é", max_size=4)
DOCUMENTS = st.lists(
    st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=5, unique_by=lambda row: row[0]
)


@given(DOCUMENTS, DOCUMENTS)
def test_hashes_are_equal_exactly_for_the_same_documents_in_any_order(one, other) -> None:
    same = sorted(one) == sorted(other)
    assert (survey(Listed(one)) == survey(Listed(other))) == same
    assert survey(Listed(one)) == survey(Listed(one[::-1]))


def test_ids_with_the_same_digest_are_not_repetitions(digests_of: Any) -> None:
    with digests_of(0) as digested:
        assert survey(Listed([("a", "", "1"), ("b", "", "1")]))[0] == 2
        assert {b"a", b"b"} <= {*digested}
        with pytest.raises(InputError, match="b"):
            survey(Listed([("a", "", "1"), ("b", "", "1"), ("b", "", "")]))


def test_no_documents() -> None:
    with pytest.raises(InputError):
        survey(Listed([]))


def test_a_file_a_corpus_and_the_catalogue_give_the_same(
    tmp_path: Path, ir_datasets_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(ir_datasets_home))
    dataset = CatalogueDataset("cranfield")
    file = tmp_path / "corpus.jsonl"
    with file.open("w") as stream:
        for document in dataset.iter_documents():
            row = {"_id": document.doc_id, "title": document.title, "text": document.text}
            stream.write(json.dumps(row) + "\n")
    expected = survey(dataset.read_corpus())
    assert expected[0] == 1400
    catalogue = stream_documents("irds:cranfield", None)
    assert survey(catalogue) == expected
    assert survey(stream_file(str(file))) == expected
    assert survey(load_corpus(file)) == expected
    assert stream_file(str(file)).path == str(file)
    assert catalogue.path == "irds:cranfield"


def test_a_file_can_be_read_again_and_repeats_are_found_by_check(tmp_path: Path) -> None:
    file = tmp_path / "corpus.jsonl"
    file.write_text('{"_id": "a", "text": "1"}\n{"_id": "a", "text": "2"}\n')
    documents = stream_file(str(file))
    assert [len([*iter(documents)]) for _ in range(2)] == [2, 2]
    with pytest.raises(InputError, match="a"):
        survey(documents)
    file.write_text("\n")
    with pytest.raises(FormatError):
        survey(documents)


def test_hash_distinguishes_different_splits_of_the_same_bytes() -> None:
    hashes = {
        corpus_of(("1", "a", "bc")).sha256(),
        corpus_of(("1", "ab", "c")).sha256(),
        corpus_of(("1a", "", "bc")).sha256(),
        corpus_of(("1", "", "abc")).sha256(),
        corpus_of(("1", "", "ab"), ("2", "", "c")).sha256(),
    }
    assert len(hashes) == 5


BY_ID = st.dictionaries(st.text(min_size=1, max_size=3), st.text(max_size=5), min_size=1)


@given(BY_ID, st.lists(st.text(min_size=1, max_size=3)))
def test_streamed_documents_equal_a_corpus_in_memory(
    texts: dict[str, str], asked: list[str]
) -> None:
    in_memory = Corpus.from_dict(texts)
    streamed = streamed_from(in_memory)
    wanted = pl.Series(asked, dtype=pl.String)
    assert len(streamed) == len(in_memory)
    assert streamed.doc_ids == in_memory.doc_ids
    assert streamed.sha256() == in_memory.sha256()
    assert streamed.has_any(wanted) == in_memory.has_any(wanted) == bool(set(asked) & set(texts))
    assert streamed.find(wanted).equals(in_memory.find(wanted))


def test_an_address(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    file = tmp_path / "corpus.jsonl"
    file.write_text(json.dumps({"_id": "a", "text": "wing"}) + "\n")
    streamed = stream_documents(None, file.as_uri())
    assert (streamed.path, streamed.doc_ids) == (file.as_uri(), ["a"])


@pytest.mark.skipif(os.name != "posix", reason="named pipes")
def test_a_pipe_cannot_be_read_again(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert stream_documents(None, str(tmp_path / "pipe")) is None


def test_can_be_read_twice(tmp_path: Path) -> None:
    file = tmp_path / "corpus.jsonl"
    file.write_text(json.dumps({"_id": "a", "text": "wing"}) + "\n")
    streamed = stream_documents(None, str(file))
    assert streamed.path == str(file)
    assert streamed.sha256() == load_corpus(file).sha256()
    assert stream_documents("hpo", None) is None
    assert stream_documents(None, "-") is None
    assert stream_documents(None, None) is None
    with pytest.raises(UsageError):
        stream_documents(str(tmp_path / "nowhere"), None)


def test_refuses_repeated_ids_and_empty_corpora() -> None:
    with pytest.raises(InputError, match="d1"):
        corpus_of(("d1", "", "a"), ("d2", "", "b"), ("d1", "", "c")).in_index_order()
    with pytest.raises(InputError):
        Corpus.from_dict({}).in_index_order()


@given(BY_ID, st.randoms())
def test_index_order_is_kept_and_hashed_once(texts: dict[str, str], random: object) -> None:
    shuffled = list(texts.items())
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    ordered = Corpus.from_dict(dict(shuffled)).in_index_order()
    assert ordered.doc_ids == sorted(texts, reverse=True)
    assert ordered.in_index_order() is ordered
    assert ordered.sha256() == Corpus.from_dict(texts).sha256()
