"""What a Milvus collection of documents is made of: its fields, and an index over each."""

from __future__ import annotations

from typing import Any

from trectools_plus.retrieval.backends.milvus_connection import MilvusConnection
from trectools_plus.retrieval.backends.milvus_settings import VectorIndex
from trectools_plus.retrieval.encoder import DIMENSIONS
from trectools_plus.retrieval.settings import RetrievalSettings

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
    """What the lexical mode searches."""
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
