"""The documents as a Milvus collection: analysed words, vectors, and an index over each.

The words of a document are analysed here, as the embedded lexical mode does it, and stored with
blanks between; Milvus only splits them again. So stemmer and stop words mean the same everywhere.
A collection is filled under a name of its own and gets its final one, which carries the hash of
all that shapes it, when it is whole; a half-filled collection is never searched.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any
from uuid import uuid4

from trectools_plus.errors import InputError
from trectools_plus.formats.documents import Documents
from trectools_plus.progress import Progress, no_progress
from trectools_plus.retrieval.backends.milvus_connection import MilvusConnection
from trectools_plus.retrieval.backends.milvus_filling import fill
from trectools_plus.retrieval.backends.milvus_schema import create_collection, create_indexes
from trectools_plus.retrieval.backends.milvus_settings import VectorIndex
from trectools_plus.retrieval.encoder import DIMENSIONS, TextEncoder
from trectools_plus.retrieval.index_cache import IndexRecipe
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
        progress: Told of reading and inserting.

    Raises:
        InputError: If there are no documents, an id occurs twice, or the server fails.
    """
    documents.check(progress)
    count, digest = len(documents), documents.sha256()
    recipe = _recipe([count, digest], settings, vector_index, connection.has_full_text)
    name = f"{_PREFIX}_{recipe.key[:32]}"
    if not _is_whole(connection, name, count):
        _make(connection, name, recipe, documents, settings, vector_index, progress)
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


def _is_whole(connection: MilvusConnection, name: str, count: int) -> bool:
    """Whether the collection is there with all its documents; loads it if so."""
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
    name: str,
    recipe: IndexRecipe,
    documents: Documents,
    settings: RetrievalSettings,
    vector_index: VectorIndex,
    progress: Progress,
) -> None:
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
