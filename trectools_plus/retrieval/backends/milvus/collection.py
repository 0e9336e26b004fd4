"""Collections of documents in Milvus: analysed words and vectors, with an index for each.

The words of a document are analysed here, as in the embedded lexical mode, and stored with spaces
between them; Milvus only splits them again. So stemming and stop words are the same as in other
backends.
A collection is filled under a temporary name. When it is complete, it is renamed to its final
name, which contains the hash of its content. A half-filled collection is never searched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any
from uuid import uuid4

from trectools_plus.errors import InputError
from trectools_plus.formats.corpus import DocumentCollection
from trectools_plus.formats.files.index_cache import IndexRecipe
from trectools_plus.formats.hashing import MultisetHash
from trectools_plus.formats.tables import CorpusDocument
from trectools_plus.progress import Progress, no_progress
from trectools_plus.retrieval.backends.milvus.connection import MilvusConnection
from trectools_plus.retrieval.backends.milvus.support import VectorIndex
from trectools_plus.retrieval.index.encoder import DIMENSIONS, TextEncoder
from trectools_plus.retrieval.index.lexical import Analyzer
from trectools_plus.retrieval.settings import RetrievalSettings

_LAYOUT_VERSION = 2
_PREFIX = "trectools_plus"


@dataclass(frozen=True, slots=True)
class MilvusCollection:
    """A complete collection that is loaded and ready for searches.

    Attributes:
        connection: The connection to the server.
        name: The collection's name on the server.
        key: Hash of everything that determines its content.
        count: Number of documents.
        sha256: Hash of the documents.
        cut_documents: Number of documents whose words exceed Milvus' limit of 65,535 bytes; the
            lexical mode ignores the words after the limit.
        vector_index: The kind of the vector index.
        read_options: Options for searches that see every document.
    """

    connection: MilvusConnection
    name: str
    key: str
    count: int
    sha256: str
    cut_documents: int
    vector_index: VectorIndex
    read_options: Mapping[str, Any]


def open_collection(
    connection: MilvusConnection,
    documents: DocumentCollection,
    settings: RetrievalSettings,
    vector_index: VectorIndex = "flat",
    *,
    progress: Progress = no_progress,
) -> MilvusCollection:
    """Open the collection of these documents and settings; create and fill it if it is missing.

    Args:
        connection: The connection to the server.
        documents: Read once for their hash, and once more if they are inserted.
        settings: ``k1``, ``b``, ``stemmer`` and ``stopwords`` determine the collection.
        vector_index: The kind of the vector index.
        progress: Receives the progress of reading and inserting.

    Raises:
        InputError: If there are no documents, an id is repeated, or the server fails.
    """
    documents.check(progress)
    count, digest = len(documents), documents.sha256()
    facts = {
        "layout": _LAYOUT_VERSION,
        "documents": [count, digest],
        "settings": settings.model_dump(include={"k1", "b", "stemmer", "stopwords"}, mode="json"),
        "packages": {name: version(name) for name in ("bm25s", "pystemmer")},
        "encoder": TextEncoder.facts(),
        "vector_index": vector_index,
        "has_words": connection.has_full_text,
    }
    key = IndexRecipe("milvus", facts).key
    name = _name_of(key)
    if not _is_complete(connection, name, count):
        _build(connection, key, documents, settings, vector_index, progress)
    cut = _count(connection, name, "is_cut == true")
    read_options = _read_options(connection, name)
    return MilvusCollection(connection, name, key, count, digest, cut, vector_index, read_options)


def _name_of(key: str) -> str:
    return f"{_PREFIX}_{key[:32]}"


def _is_complete(connection: MilvusConnection, name: str, count: int) -> bool:
    """Return whether the collection exists with all documents, and load it; drop a partial one."""
    if not connection.call("has_collection", name):
        return False
    connection.call("load_collection", name)
    if _count(connection, name) == count:
        return True
    connection.call("drop_collection", name)
    return False


def _read_options(connection: MilvusConnection, name: str) -> dict[str, Any]:
    """Return options for searches that see all documents without waiting for the server's clock.

    At the consistency level Strong, a server waits for the next tick of its clock, up to 400 ms,
    before it answers. Nothing is written to a complete collection, so one such search is enough:
    later searches only need to see the same data. Servers since 2.4 return the time of that search.
    """
    timestamp = connection.call(
        "search",
        name,
        data=[[1.0] + [0.0] * (DIMENSIONS - 1)],
        anns_field="vector",
        limit=1,
        search_params={"metric_type": "IP"},
        consistency_level="Strong",
    ).get_session_ts()
    if timestamp:
        return {"consistency_level": "Customized", "guarantee_timestamp": timestamp}
    return {"consistency_level": "Bounded"}


def _count(connection: MilvusConnection, name: str, condition: str = "") -> int:
    rows = connection.call(
        "query",
        name,
        filter=condition,
        output_fields=["count(*)"],
        consistency_level="Strong",
    )
    return int(rows[0]["count(*)"])


def _build(
    connection: MilvusConnection,
    key: str,
    documents: DocumentCollection,
    settings: RetrievalSettings,
    vector_index: VectorIndex,
    progress: Progress,
) -> None:
    name = _name_of(key)
    # Only one process at a time can open a local database, so a temporary collection there is
    # left over from a process that ended.
    local = connection.address.is_local
    temporary = f"{name}_building" if local else f"{name}_building_{uuid4().hex[:8]}"
    if local and connection.call("has_collection", temporary):
        connection.call("drop_collection", temporary)
    try:
        create_collection(connection, temporary, key)
        insert_documents(connection, temporary, documents, settings, progress)
        create_indexes(connection, temporary, settings, vector_index)
        connection.call("load_collection", temporary)
        if (count := _count(connection, temporary)) != len(documents):
            raise InputError(
                f"{len(documents):,} documents were inserted but Milvus counts {count:,}",
                where=connection.address.uri,
                remedy="try again",
            )
        _rename(connection, temporary, name)
    except BaseException:
        with suppress(InputError):
            connection.call("drop_collection", temporary)
        raise


def _rename(connection: MilvusConnection, temporary: str, name: str) -> None:
    try:
        connection.call("rename_collection", temporary, name)
    except InputError:
        # Another process may have filled the same collection at the same time.
        if not connection.call("has_collection", name):
            raise
        connection.call("drop_collection", temporary)
    connection.call("load_collection", name)


MAX_TEXT_BYTES = 65_535
"""The maximum size of a Milvus VARCHAR in bytes."""

_VECTOR_INDEXES: dict[VectorIndex, tuple[str, dict[str, int]]] = {
    "flat": ("FLAT", {}),
    "hnsw": ("HNSW", {"M": 16, "efConstruction": 200}),
    "auto": ("AUTOINDEX", {}),
}


def create_collection(connection: MilvusConnection, name: str, key: str) -> None:
    """Create an empty collection; without full-text search, it has no field for words.

    Args:
        connection: The connection to the server.
        name: The collection's name.
        key: Hash of everything that determines its content, for its description.

    Raises:
        InputError: If the server fails.
    """
    from pymilvus import DataType, MilvusClient

    schema = MilvusClient.create_schema(
        auto_id=False,
        enable_dynamic_field=False,
        description=f"trectools-plus, hash of corpus and settings {key}",
    )
    schema.add_field("doc_id", DataType.VARCHAR, is_primary=True, max_length=MAX_TEXT_BYTES)
    schema.add_field("is_cut", DataType.BOOL)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=DIMENSIONS)
    if connection.has_full_text:
        _add_words(schema, connection)
    connection.call("create_collection", name, schema=schema, consistency_level="Strong")


def _add_words(schema: Any, connection: MilvusConnection) -> None:
    """Add the fields that the lexical mode searches."""
    from pymilvus import DataType, Function, FunctionType

    schema.add_field(
        "terms",
        DataType.VARCHAR,
        max_length=MAX_TEXT_BYTES,
        enable_analyzer=True,
        # milvus-lite has no tokenizer "whitespace"; its "standard" does not change analysed words.
        analyzer_params={"tokenizer": "standard" if connection.is_lite else "whitespace"},
    )
    schema.add_field("lexical", DataType.SPARSE_FLOAT_VECTOR)
    schema.add_function(
        Function(
            name="bm25",
            input_field_names=["terms"],
            output_field_names=["lexical"],
            function_type=FunctionType.BM25,
        )
    )


def create_indexes(
    connection: MilvusConnection, name: str, settings: RetrievalSettings, vector_index: VectorIndex
) -> None:
    """Create the indexes of a filled collection.

    Raises:
        InputError: If the server fails.
    """
    from pymilvus import MilvusClient

    def nested(params: dict[str, Any]) -> dict[str, Any]:
        # pymilvus sends each parameter separately; milvus-lite reads only those under "params" and
        # otherwise silently uses its defaults.
        return {"params": params} if connection.is_lite and params else params

    kind, vectors = _VECTOR_INDEXES[vector_index]
    indexes = MilvusClient.prepare_index_params()
    if connection.has_full_text:
        indexes.add_index(
            "lexical",
            index_type="SPARSE_INVERTED_INDEX",
            metric_type="BM25",
            params=nested({"bm25_k1": settings.k1, "bm25_b": settings.b}),
        )
    # Vectors have length 1, or 0 for a text without words, so their product is their cosine.
    indexes.add_index("vector", index_type=kind, metric_type="IP", params=nested(vectors))
    connection.call("create_index", name, indexes)


_ROWS_PER_BATCH = 1_000
_CHARACTERS_PER_BATCH = 4 << 20
# An analyzer caches the stem of each word; a new analyzer frees that memory.
_DOCUMENTS_PER_ANALYZER = 100_000


def insert_documents(
    connection: MilvusConnection,
    name: str,
    documents: DocumentCollection,
    settings: RetrievalSettings,
    progress: Progress,
) -> None:
    """Insert all documents.

    Raises:
        InputError: If the documents changed since their hash was computed, or the server fails.
    """
    encoder, hashed, count = TextEncoder(), MultisetHash(), len(documents)
    analyzer, used, done = Analyzer(settings), 0, 0
    progress("inserting documents", 0, count)
    for batch in split_into_batches(hashed.add_each(documents)):
        if used + len(batch) > _DOCUMENTS_PER_ANALYZER:
            analyzer, used = Analyzer(settings), 0
        rows = _rows(batch, encoder, analyzer if connection.has_full_text else None)
        connection.call("insert", name, rows)
        used += len(batch)
        done += len(batch)
        progress("inserting documents", done, count)
    if hashed.hexdigest() != documents.sha256():
        raise InputError(
            "the documents changed while they were inserted",
            where=documents.path,
            remedy="do not change the corpus while it is read, and try again",
        )
    connection.call("flush", name)


def split_into_batches(documents: Iterator[CorpusDocument]) -> Iterator[list[CorpusDocument]]:
    """Split documents into batches of limited number and size of documents."""
    batch: list[CorpusDocument] = []
    size = 0
    for document in documents:
        length = len(document.title) + len(document.text)
        if batch and (len(batch) == _ROWS_PER_BATCH or size + length > _CHARACTERS_PER_BATCH):
            yield batch
            batch, size = [], 0
        batch.append(document)
        size += length
    if batch:
        yield batch


def _rows(
    batch: list[CorpusDocument], encoder: TextEncoder, analyzer: Analyzer | None
) -> list[dict[str, Any]]:
    """Return documents as rows of the collection; without an analyzer, the rows have no words."""
    texts = [f"{document.title} {document.text}".strip() for document in batch]
    rows = []
    for document, text, vector in zip(batch, texts, encoder.embed_documents(texts), strict=True):
        row = {"doc_id": document.doc_id, "is_cut": False, "vector": vector}
        if analyzer is not None:
            row["terms"], row["is_cut"] = join_terms(analyzer.terms(text))
        rows.append(row)
    return rows


def join_terms(terms: list[str]) -> tuple[str, bool]:
    """Join terms with spaces up to Milvus' limit, and return whether terms were dropped."""
    text = " ".join(terms)
    if len(text.encode()) <= MAX_TEXT_BYTES:
        return text, False
    return text.encode()[: MAX_TEXT_BYTES + 1].rpartition(b" ")[0].decode(), True
