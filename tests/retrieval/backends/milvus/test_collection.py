"""Collections are filled as a stream, found again, and never half-filled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from trectools_plus.errors import InputError
from trectools_plus.formats.corpus import StreamedDocuments
from trectools_plus.formats.tables import CorpusDocument
from trectools_plus.retrieval.backends.milvus import collection as milvus_collection
from trectools_plus.retrieval.settings import RetrievalSettings


class Listed:
    """Documents of a list; counts how often they are read, and may stop in the middle."""

    path: str | None = "listed"

    def __init__(self, count: int, text: str = "swept wing", stop: int | None = None) -> None:
        self.documents = [CorpusDocument(f"d{number}", "", text) for number in range(count)]
        self.passes = 0
        self.stop = stop

    def __iter__(self) -> Iterator[CorpusDocument]:
        self.passes += 1
        for number, document in enumerate(self.documents):
            if self.passes == 2 and number == self.stop:
                raise InputError("the disk is gone")
            yield document


def open_collection(
    connection: Any, documents: Listed, *args: Any, **options: Any
) -> milvus_collection.MilvusCollection:
    corpus = StreamedDocuments(lambda: documents, documents.path)
    return milvus_collection.open_collection(connection, corpus, *args, **options)


class Between:
    """A connection whose calls pass through a function first: ``change(call, method, ...)``."""

    def __init__(self, connection: Any, change: Callable[..., Any]) -> None:
        self._connection = connection
        self._change = change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def call(self, method: str, *rest: Any, **options: Any) -> Any:
        return self._change(self._connection.call, method, *rest, **options)


def collections(connection: Any) -> list[str]:
    return sorted(connection.call("list_collections"))


def test_a_collection_is_found_again(connect: Callable[..., Any]) -> None:
    documents, said = Listed(2100), []
    connection = connect()
    first = open_collection(
        connection, documents, RetrievalSettings(), progress=lambda *step: said.append(step)
    )
    assert [done for what, done, _ in said if what == "inserting documents"] == [
        0,
        1000,
        2000,
        2100,
    ]
    assert documents.passes == 2
    connection.close()

    connection = connect()
    documents = Listed(2100)
    documents.documents.reverse()
    again = open_collection(connection, documents, RetrievalSettings(rrf_k=7))
    assert documents.passes == 1, "hashed, not inserted"
    assert (again.name, again.key, again.sha256) == (first.name, first.key, first.sha256)
    assert again.count == first.count == 2100
    assert again.name.endswith(again.key[:32])
    assert collections(connection) == [first.name]


def test_what_shapes_a_collection_is_in_its_name(connect: Callable[..., Any]) -> None:
    connection = connect()
    variants = [
        open_collection(connection, Listed(2), RetrievalSettings()),
        open_collection(connection, Listed(3), RetrievalSettings()),
        open_collection(connection, Listed(2, text="heat"), RetrievalSettings()),
        open_collection(connection, Listed(2), RetrievalSettings(k1=1.2)),
        open_collection(connection, Listed(2), RetrievalSettings(stemmer=None)),
        open_collection(connection, Listed(2), RetrievalSettings(), "hnsw"),
    ]
    assert collections(connection) == sorted(one.name for one in variants)
    assert len({one.name for one in variants}) == len(variants)


def test_nothing_half_filled_stays(connect: Callable[..., Any]) -> None:
    connection = connect()
    with pytest.raises(InputError):
        open_collection(connection, Listed(5, stop=3), RetrievalSettings())
    assert collections(connection) == []


def test_what_a_killed_process_left_is_filled_anew(connect: Callable[..., Any]) -> None:
    connection = connect()

    def killed(call: Callable[..., Any], method: str, *rest: Any, **options: Any) -> Any:
        if method in ("rename_collection", "drop_collection"):
            raise KeyboardInterrupt
        return call(method, *rest, **options)

    with pytest.raises(KeyboardInterrupt):
        open_collection(Between(connection, killed), Listed(3), RetrievalSettings())
    assert [name.endswith("_building") for name in collections(connection)] == [True]
    found = open_collection(connection, Listed(3), RetrievalSettings())
    assert collections(connection) == [found.name]


def test_a_collection_that_lost_documents_is_filled_anew(connect: Callable[..., Any]) -> None:
    connection = connect()
    first = open_collection(connection, Listed(4), RetrievalSettings())
    connection.call("delete", first.name, ids=["d1"])
    documents = Listed(4)
    open_collection(connection, documents, RetrievalSettings())
    assert documents.passes == 2
    rows = connection.call("query", first.name, filter="", output_fields=["count(*)"])
    assert rows[0]["count(*)"] == 4


def test_documents_that_change_while_they_are_read(connect: Callable[..., Any]) -> None:
    class Growing(Listed):
        def __iter__(self) -> Iterator[CorpusDocument]:
            yield from super().__iter__()
            if self.passes == 2:
                yield CorpusDocument("late", "", "wing")

    connection = connect()
    with pytest.raises(InputError):
        open_collection(connection, Growing(4), RetrievalSettings())
    assert collections(connection) == []


def test_documents_that_change_between_hash_and_insertion(connect: Callable[..., Any]) -> None:
    """As many as before: only their content tells."""

    class Changing(Listed):
        def __iter__(self) -> Iterator[CorpusDocument]:
            for document in super().__iter__():
                yield document._replace(text=f"{document.text} {self.passes}")

    connection = connect()
    with pytest.raises(InputError):
        open_collection(connection, Changing(3), RetrievalSettings())
    assert collections(connection) == []


def test_documents_that_do_not_arrive(connect: Callable[..., Any]) -> None:
    connection = connect()

    def lossy(call: Callable[..., Any], method: str, name: str = "", *rest: Any, **kw: Any) -> Any:
        if method == "insert":
            rest = (rest[0][1:],)
        return call(method, *([name] if name else []), *rest, **kw)

    with pytest.raises(InputError, match=r"3.*2"):
        open_collection(Between(connection, lossy), Listed(3), RetrievalSettings())
    assert collections(connection) == []


def test_words_beyond_the_limit_are_cut_and_counted(connect: Callable[..., Any]) -> None:
    connection = connect()
    long = " ".join(f"w{number}" for number in range(12_000))
    documents = Listed(2)
    documents.documents.append(CorpusDocument("long", "", long))
    found = open_collection(connection, documents, RetrievalSettings())
    assert found.cut_documents == 1
