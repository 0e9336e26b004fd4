"""Queries in memory or streamed; streamed queries are read again each time they are needed."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from heapq import nsmallest
from itertools import islice, repeat

import numpy as np
import polars as pl

from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.collection import SAMPLE, find_collection_files
from trectools_plus.formats.files.opening import can_be_read_twice
from trectools_plus.formats.hashing import (
    ROWS_PER_STEP,
    digest_id,
    find_suspects,
    sha256_columns,
    sha256_frames,
)
from trectools_plus.formats.ir_datasets import is_catalogue_name, open_catalogue
from trectools_plus.formats.tables import TOPICS_SCHEMA, Topics
from trectools_plus.formats.topic_records.model import DEFAULTS, TopicOptions
from trectools_plus.formats.topics import iter_topics
from trectools_plus.retrieval.source import Query, check_ids


class TopicsChangedError(InputError):
    """The topics changed since their hash was computed."""


class StreamedTopics:
    """Topics that are read again each time they are needed.

    Exact repetitions of a query are dropped. Only the number of queries and two hashes are kept in
    memory, and 8 bytes for each query during the first pass.

    Args:
        read: Returns a new iterator over all queries.
        path: The source of the queries, as the user named it.

    Attributes:
        read_as: The format and the fields that were read, if they are not the usual ones; set by
            the first pass.
    """

    def __init__(self, read: Callable[[], Iterator[Query]], path: str) -> None:
        self._read = read
        self.path = path
        self.read_as: str | None = None
        self._repeated: frozenset[str] = frozenset()
        self._count: int | None = None
        self._sha256 = ""
        self._content = b""

    def __len__(self) -> int:
        self._scan()
        assert self._count is not None
        return self._count

    def __iter__(self) -> Iterator[Query]:
        """Yield each query once, in the order of the source.

        Raises:
            TopicsChangedError: At the end, if the queries changed since the first pass.
        """
        self._scan()
        content = blake2b()
        yield from self._distinct(content)
        if content.digest() != self._content:
            raise TopicsChangedError(
                "the topics changed during the fetch",
                where=self.path,
                remedy="fetch again, and do not change the topics meanwhile",
            )

    @property
    def sha256(self) -> str:
        """The hash of :func:`hash_topics`."""
        self._scan()
        return self._sha256

    def _scan(self) -> None:
        """Count and hash the queries, once.

        Raises:
            InputError: If there are no queries, an id cannot be written to a run or is repeated
                with a different text, or the queries cannot be read.
        """
        if self._count is not None:
            return
        ids = array("Q")
        for query in self._read():
            ids.append(digest_id(query.query_id))
        if not ids:
            raise InputError("there are no topics", where=self.path)
        self._repeated = self._find_repeated(find_suspects(np.frombuffer(ids, dtype=np.uint64)))
        count, content = 0, blake2b()

        def frames() -> Iterator[pl.DataFrame]:
            nonlocal count
            queries = self._distinct(content)
            while part := list(islice(queries, ROWS_PER_STEP)):
                count += len(part)
                rows = [(query.query_id, query.text) for query in part]
                frame = pl.DataFrame(rows, schema=TOPICS_SCHEMA, orient="row")
                check_ids(frame["query_id"], "query", self.path)
                yield frame

        self._sha256 = sha256_frames(frames(), ["query_id", "text"])
        self._count, self._content = count, content.digest()

    def _find_repeated(self, suspects: frozenset[int]) -> frozenset[str]:
        """Return the ids that are repeated; different ids may have the same digest."""
        texts: dict[str, str] = {}
        repeated = set()
        for query in self._read() if suspects else ():
            if digest_id(query.query_id) not in suspects:
                continue
            if query.query_id not in texts:
                texts[query.query_id] = query.text
                continue
            if texts[query.query_id] != query.text:
                raise InputError(
                    f"query id '{query.query_id}' occurs more than once in the topics, with"
                    " different texts (T112)",
                    where=self.path,
                    remedy="give each query its own id",
                )
            repeated.add(query.query_id)
        return frozenset(repeated)

    def _distinct(self, content: blake2b) -> Iterator[Query]:
        """Yield the queries without repetitions, and add their ids and texts to a hash."""
        seen: set[str] = set()
        for query in self._read():
            if query.query_id in self._repeated:
                if query.query_id in seen:
                    continue
                seen.add(query.query_id)
            for part in (query.query_id.encode(), query.text.encode()):
                content.update(len(part).to_bytes(8, "little") + part)
            yield query


AnyTopics = Topics | StreamedTopics
"""Queries in memory or streamed."""


def stream_topics(
    dataset: str | None, file: str | None, options: TopicOptions = DEFAULTS
) -> StreamedTopics | None:
    """Return the queries of a dataset or a file as a stream.

    Args:
        dataset: ``irds:<id>``, a folder, ``hpo`` or ``sample``; ignored if there is a file.
        file: The path or address of topics, or ``irds:<id>``.
        options: The fields and the language of the topics in the file.

    Returns:
        ``None`` if there are neither, if the file is a pipe, which cannot be read twice, or for
        ``hpo`` and ``sample``, whose few queries are read into memory.

    Raises:
        UsageError: If the dataset does not exist.
        InputError: If a part of the dataset is missing.
    """
    if file is not None and not is_catalogue_name(file):
        return _stream_file(file, options) if can_be_read_twice(file) else None
    dataset = dataset if file is None else file
    if dataset is None or dataset in ("hpo", SAMPLE):
        return None
    if is_catalogue_name(dataset):
        catalogue = open_catalogue(dataset)
        return StreamedTopics(
            lambda: (Query(*pair) for pair in catalogue.iter_queries()), catalogue.name
        )
    return _stream_file(str(find_collection_files(dataset).topics))


def _stream_file(path: str, options: TopicOptions = DEFAULTS) -> StreamedTopics:
    def read() -> Iterator[Query]:
        return (Query(*pair) for pair in iter_topics(path, options, note))

    def note(read_as: str) -> None:
        topics.read_as = read_as

    topics = StreamedTopics(read, path)
    return topics


def iter_queries(topics: AnyTopics, fields: Sequence[str] = ()) -> Iterator[Query]:
    """Iterate over the queries, in memory or streamed.

    Args:
        topics: The queries.
        fields: Fields of topics in memory that the queries have too.
    """
    if isinstance(topics, StreamedTopics):
        return iter(topics)
    has_language = "language" in topics.frame.columns
    language = pl.col("language").cast(pl.String).fill_null("") if has_language else pl.lit("")
    rows = topics.frame.select("query_id", "text", language=language).iter_rows()
    further = topics.frame.select(fields).iter_rows(named=True) if fields else repeat({})
    return (
        Query(query_id, text, language=declared, fields=values)
        for (query_id, text, declared), values in zip(rows, further, strict=False)
    )


def sample_queries(topics: AnyTopics, size: int | None) -> frozenset[str] | None:
    """Return the ids of a sample of queries, which depends only on the ids.

    Args:
        topics: The queries.
        size: Maximum number of queries; ``None`` returns ``None``.
    """
    if size is None:
        return None
    return frozenset(nsmallest(size, (one.query_id for one in iter_queries(topics)), digest_id))


def hash_topics(topics: AnyTopics) -> str:
    """Return SHA-256 of the query ids and texts in their order; the same in memory or streamed."""
    if isinstance(topics, StreamedTopics):
        return topics.sha256
    return sha256_columns(topics.frame, ["query_id", "text"])


def check_topic_fields(topics: AnyTopics, fields: Sequence[str]) -> None:
    """Check that the topics have some fields.

    Raises:
        UsageError: If one is missing, or the topics are streamed, without fields.
    """
    known = [] if isinstance(topics, StreamedTopics) else topics.frame.columns
    missing = [name for name in fields if name not in known]
    if missing:
        raise UsageError(
            f"the topics have no field '{missing[0]}', which the request needs",
            where=topics.path,
            remedy=f"their fields are {', '.join(known)}" if known else "read them into memory",
        )


def check_topics(topics: Topics) -> None:
    """Check that there are queries, and that their ids can be written to a run.

    Raises:
        InputError: If there are no topics, or an id is repeated or cannot be written to a run.
    """
    if not topics.frame.height:
        raise InputError("there are no topics", where=topics.path)
    ids = topics.frame["query_id"]
    if ids.n_unique() < len(ids):
        repeated = ids.filter(ids.is_duplicated())[0]
        raise InputError(
            f"query id '{repeated}' occurs more than once in the topics",
            where=topics.path,
            remedy="give each query its own id",
        )
    check_ids(ids, "query", topics.path)
