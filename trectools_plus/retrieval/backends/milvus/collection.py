"""The documents as a Milvus collection: analysed words, vectors, and an index over each.

The words of a document are analysed here, as the embedded lexical mode does it, and stored with
blanks between; Milvus only splits them again. So stemmer and stop words mean the same everywhere.
A collection is filled under a name of its own and gets its final one, which carries the hash of
all that shapes it, when it is whole; a half-filled collection is never searched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any
from uuid import uuid4

from trectools_plus.errors import InputError
from trectools_plus.formats.documents import Documents
from trectools_plus.formats.hashing import MultisetHash
from trectools_plus.formats.tables import Document
from trectools_plus.progress import Progress, no_progress
from trectools_plus.retrieval.backends.milvus.connection import MilvusConnection
from trectools_plus.retrieval.backends.milvus.settings import VectorIndex
from trectools_plus.retrieval.index.analyzer import Analyzer
from trectools_plus.retrieval.index.cache import IndexRecipe
from trectools_plus.retrieval.index.encoder import DIMENSIONS, TextEncoder
from trectools_plus.retrieval.settings import RetrievalSettings

_LAYOUT = 2
_PREFIX = "trectools_plus"


@dataclass(frozen=True, slots=True)
class MilvusCollection:
    """A whole collection, loaded and ready to be searched.

    Attributes:
        connection: The server that holds it.
        name: Its name there.
        key: Hash of all that shapes it.
        count: Number of its documents.
        sha256: Hash of its documents.
        cut_documents: How many have more words than Milvus takes (65,535 bytes); their last words
            do not count in the lexical mode.
        vector_index: The kind of its vector index.
        reading: Options with which a search sees every document.
    """

    connection: MilvusConnection
    name: str
    key: str
    count: int
    sha256: str
    cut_documents: int
    vector_index: VectorIndex
    reading: Mapping[str, Any]


def open_collection(
    connection: MilvusConnection,
    documents: Documents,
    settings: RetrievalSettings,
    vector_index: VectorIndex = "flat",
    *,
    progress: Progress = no_progress,
) -> MilvusCollection:
    """Find the collection of these documents and settings on the server, or fill it.

    Args:
        connection: The server.
        documents: Read once for their hash, and once more if they have to be inserted.
        settings: ``k1``, ``b``, ``stemmer`` and ``stopwords`` shape the collection.
        vector_index: How vectors are searched.
        progress: Notified of reading and inserting.

    Raises:
        InputError: If there are no documents, an id occurs twice, or the server fails.
    """
    documents.check(progress)
    count, digest = len(documents), documents.sha256()
    recipe = _recipe([count, digest], settings, vector_index, connection.has_full_text)
    name = _name_of(recipe)
    if not _is_whole(connection, name, count):
        _make(connection, recipe, documents, settings, vector_index, progress)
    cut = _count(connection, name, "is_cut == true")
    reading = _reading(connection, name)
    return MilvusCollection(connection, name, recipe.key, count, digest, cut, vector_index, reading)


def _recipe(
    documents: list[int | str],
    settings: RetrievalSettings,
    vector_index: VectorIndex,
    has_words: bool,
) -> IndexRecipe:
    facts = {
        "layout": _LAYOUT,
        "documents": documents,
        "settings": settings.model_dump(include={"k1", "b", "stemmer", "stopwords"}, mode="json"),
        "packages": {name: version(name) for name in ("bm25s", "pystemmer")},
        "encoder": TextEncoder.facts(),
        "vector_index": vector_index,
        "has_words": has_words,
    }
    return IndexRecipe("milvus", facts)


def _name_of(recipe: IndexRecipe) -> str:
    return f"{_PREFIX}_{recipe.key[:32]}"


def _is_whole(connection: MilvusConnection, name: str, count: int) -> bool:
    """Return whether the collection is there with all its documents; loads it if so."""
    if not connection.call("has_collection", name):
        return False
    connection.call("load_collection", name)
    if _count(connection, name) == count:
        return True
    connection.call("drop_collection", name)
    return False


def _reading(connection: MilvusConnection, name: str) -> dict[str, Any]:
    """Options with which a search sees all that is there now, without waiting for it.

    At level Strong a server waits for the next tick of its clock, up to 400 ms, before it answers.
    Nothing is written to a whole collection: what one such search saw is enough for all later
    ones, and servers since 2.4 say which moment that was.
    """
    anything = [1.0] + [0.0] * (DIMENSIONS - 1)
    seen = connection.call(
        "search",
        name,
        data=[anything],
        anns_field="vector",
        limit=1,
        search_params={"metric_type": "IP"},
        consistency_level="Strong",
    ).get_session_ts()
    if seen:
        return {"consistency_level": "Customized", "guarantee_timestamp": seen}
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


def _make(
    connection: MilvusConnection,
    recipe: IndexRecipe,
    documents: Documents,
    settings: RetrievalSettings,
    vector_index: VectorIndex,
    progress: Progress,
) -> None:
    name = _name_of(recipe)
    # Only one process at a time can have a local database, so what another left there is waste.
    local = connection.address.is_local
    workplace = f"{name}_building" if local else f"{name}_building_{uuid4().hex[:8]}"
    if local and connection.call("has_collection", workplace):
        connection.call("drop_collection", workplace)
    try:
        create_collection(connection, workplace, recipe.key)
        fill(connection, workplace, documents, settings, progress)
        create_indexes(connection, workplace, settings, vector_index)
        connection.call("load_collection", workplace)
        if (there := _count(connection, workplace)) != len(documents):
            raise InputError(
                f"{len(documents):,} documents were inserted but Milvus counts {there:,}",
                where=connection.address.uri,
                remedy="try again",
            )
        _rename(connection, workplace, name)
    except BaseException:
        with suppress(InputError):
            connection.call("drop_collection", workplace)
        raise


def _rename(connection: MilvusConnection, workplace: str, name: str) -> None:
    try:
        connection.call("rename_collection", workplace, name)
    except InputError:
        # Somebody else may have filled the same collection meanwhile.
        if not connection.call("has_collection", name):
            raise
        connection.call("drop_collection", workplace)
    connection.call("load_collection", name)


MAX_TEXT_BYTES = 65_535
"""Milvus' limit of a VARCHAR."""

_VECTOR_INDEXES: dict[VectorIndex, tuple[str, dict[str, int]]] = {
    "flat": ("FLAT", {}),
    "hnsw": ("HNSW", {"M": 16, "efConstruction": 200}),
    "auto": ("AUTOINDEX", {}),
}


def create_collection(connection: MilvusConnection, name: str, key: str) -> None:
    """Create an empty collection; servers without full-text search get no words.

    Args:
        connection: The server.
        name: The collection's name.
        key: Hash of all that shapes it, for its description.

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
        # milvus-lite knows no "whitespace"; its "standard" leaves analysed words as they are.
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
        # pymilvus sends the parameters one by one; milvus-lite looks for them under "params" and
        # takes its defaults without a word.
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
    # Vectors have length 1, or 0 for a text without words: their product is their cosine.
    indexes.add_index("vector", index_type=kind, metric_type="IP", params=nested(vectors))
    connection.call("create_index", name, indexes)


_ROWS_PER_BATCH = 1_000
_CHARACTERS_PER_BATCH = 4 << 20
# A word is remembered with its stem; a new analyzer forgets the words of the documents before.
_DOCUMENTS_PER_ANALYZER = 100_000


def fill(
    connection: MilvusConnection,
    name: str,
    documents: Documents,
    settings: RetrievalSettings,
    progress: Progress,
) -> None:
    """Insert all documents.

    Raises:
        InputError: If they are others than they were when their hash was taken, or the server
            fails.
    """
    encoder, hashed, count = TextEncoder(), MultisetHash(), len(documents)
    analyzer, used, done = Analyzer(settings), 0, 0
    progress("inserting documents", 0, count)
    for batch in batches(hashed.watch(documents)):
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
            remedy="leave the corpus alone while it is read, and try again",
        )
    connection.call("flush", name)


def batches(documents: Iterator[Document]) -> Iterator[list[Document]]:
    """Group documents so that neither their number nor their text grows beyond a request."""
    batch: list[Document] = []
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
    batch: list[Document], encoder: TextEncoder, analyzer: Analyzer | None
) -> list[dict[str, Any]]:
    """Documents as the collection holds them; without an analyzer it holds no words."""
    texts = [f"{document.title} {document.text}".strip() for document in batch]
    rows = []
    for document, text, vector in zip(batch, texts, encoder.embed(texts), strict=True):
        row = {"doc_id": document.doc_id, "is_cut": False, "vector": vector}
        if analyzer is not None:
            row["terms"], row["is_cut"] = fitting(analyzer.terms(text))
        rows.append(row)
    return rows


def fitting(terms: list[str]) -> tuple[str, bool]:
    """Join terms with blanks, as many as Milvus takes, and say whether some were dropped."""
    text = " ".join(terms)
    if len(text.encode()) <= MAX_TEXT_BYTES:
        return text, False
    kept = text.encode()[: MAX_TEXT_BYTES + 1].rpartition(b" ")[0]
    return kept.decode(), True
