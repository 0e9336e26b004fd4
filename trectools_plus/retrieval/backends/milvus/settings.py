"""Settings of the backend ``milvus``, and what Milvus can be asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from trectools_plus.errors import UsageError
from trectools_plus.retrieval.backends.embedded.modes import MODES, canonical_mode, check_modes
from trectools_plus.retrieval.backends.milvus.connection import MilvusConnection
from trectools_plus.retrieval.fusion import fusion_of
from trectools_plus.retrieval.settings import RetrievalSettings

VectorIndex = Literal["flat", "hnsw", "auto"]
"""``flat`` compares every vector, which is exact; ``hnsw`` follows a graph of neighbours, which is
fast and misses some; ``auto`` leaves the choice to the server."""


class MilvusSettings(BaseModel):
    """Where Milvus is and how it searches vectors.

    Attributes:
        uri: ``http://host:19530``, or the name of a local ``.db``; by default one in the cache
            folder. The token comes from the environment variable ``MILVUS_TOKEN``.
        vector_index: The index over the vectors.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    uri: str | None = None
    vector_index: VectorIndex = "flat"


MAX_RESULTS = 16_384
"""Milvus' limit of results for a query."""

_MOST_K1 = 3
_EMBEDDED_ONLY = ("multi_vector", "embedding_model", "reranker")


def check_milvus_modes(modes: Sequence[str]) -> None:
    """Check that all modes are among those that Milvus has, and none is asked for twice.

    Raises:
        UsageError: If not.
    """
    check_modes(modes)
    others = [mode for mode in modes if canonical_mode(mode) not in MODES]
    if others:
        raise UsageError(
            f"the backend milvus has no mode '{others[0]}'", remedy=f"it has {', '.join(MODES)}"
        )


def check_version(connection: MilvusConnection, modes: Sequence[str]) -> None:
    """Check that the server is new enough for the modes.

    Raises:
        UsageError: If it cannot search words, and a mode wants that.
    """
    of_words = [mode for mode in modes if canonical_mode(mode) != "vector"]
    if of_words and not connection.has_full_text:
        raise UsageError(
            f"Milvus {connection.server_version} has no full-text search, which"
            f" '{of_words[0]}' needs: it came with Milvus 2.5",
            where=connection.address.uri,
            remedy="ask for --modes vector, or use a newer server",
        )


def check_settings(settings: RetrievalSettings) -> None:
    """Check that Milvus can score and merge as the settings ask.

    Raises:
        UsageError: If not.
    """
    given = settings.model_dump()
    for name in _EMBEDDED_ONLY:
        if given[name]:
            raise UsageError(
                "the backend milvus has no reranker, and only the built-in embeddings of whole "
                "documents",
                where=f"--set {name}",
                remedy="leave that out, or search with the embedded modes",
            )
    if not 0 < settings.k1 <= _MOST_K1:
        raise UsageError(
            f"Milvus takes k1 above 0 and up to {_MOST_K1} but got {settings.k1:g}",
            where="--set k1",
        )
    if settings.fusion == "rrf" and not 0 < settings.rrf_k < MAX_RESULTS:
        raise UsageError(
            f"Milvus merges with rrf_k from 1 to {MAX_RESULTS - 1} but got {settings.rrf_k}",
            where="--set rrf_k",
        )
    if settings.fusion == "weighted" and settings.normalisation != "min-max":
        raise UsageError(
            "Milvus normalises scores in its own way, by arc tangent",
            where="--set normalisation",
            remedy="leave normalisation away, or fetch both modes and merge with runs fuse",
        )
    if settings.fusion == "weighted" and max(weights_of(settings)) > 1:
        raise UsageError(
            "Milvus takes weights from 0 to 1", where="--set weights", remedy="divide by their sum"
        )


def check_depth(depth: int) -> int:
    """The depth, if Milvus finds as many documents.

    Raises:
        UsageError: If not.
    """
    if depth > MAX_RESULTS:
        raise UsageError(
            f"Milvus finds at most {MAX_RESULTS:,} documents for a query but {depth:,} are asked"
            " for",
            where="--depth",
        )
    return depth


def weights_of(settings: RetrievalSettings) -> Sequence[float]:
    """Weights of the lexical and the vector ranking; none where the fusion has none.

    Raises:
        UsageError: If there are others than two.
    """
    fusion = fusion_of(settings)
    fusion.check_count(2)
    return fusion.weights or ()
