"""Settings of the backend ``milvus``, and checks of what Milvus supports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import ConfigDict

from trectools_plus.choices import Panel
from trectools_plus.errors import UsageError
from trectools_plus.models import Model
from trectools_plus.retrieval.backends.embedded.modes import MODES, canonical_mode, check_modes
from trectools_plus.retrieval.backends.milvus.connection import MilvusConnection
from trectools_plus.retrieval.setting_types import Flag, Option, setting
from trectools_plus.retrieval.settings import DEFAULT_FUSION, RetrievalSettings

VectorIndex = Literal["flat", "hnsw", "auto"]
"""``flat`` compares every vector and is exact; ``hnsw`` searches a graph of neighbours, which is
faster but misses some results; ``auto`` leaves the choice to the server."""


class MilvusSettings(Model):
    """The address of Milvus, the kind of vector index, and the place of the fusion."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    uri: str | None = setting(
        None,
        "For --backend milvus: a server, for example http://host:19530, or a local file that ends "
        "in .db. The token is read from MILVUS_TOKEN.",
        Option("URI", Panel.BACKENDS, "--milvus-uri", default="a file in the cache folder"),
    )
    vector_index: VectorIndex = setting("flat", "The kind of vector index.")
    server_fusion: Flag = setting(
        False,
        "Whether the server merges the rankings of hybrid, which needs one request instead of two. "
        "It supports only fusion=rrf, and its order of ties differs.",
    )


MAX_RESULTS = 16_384
"""The maximum number of results that Milvus returns for a query."""

_MAX_K1 = 3
_EMBEDDED_ONLY = ("multi_vector", "embedding_model", "reranker")


def check_milvus_modes(modes: Sequence[str]) -> None:
    """Check that Milvus supports all modes and none is repeated.

    Raises:
        UsageError: If a mode is unknown or repeated, or Milvus does not support it.
    """
    check_modes(modes)
    others = [mode for mode in modes if canonical_mode(mode) not in MODES]
    if others:
        raise UsageError(
            f"the backend milvus has no mode '{others[0]}'",
            remedy=f"use one of {', '.join(MODES)}",
        )


def check_version(connection: MilvusConnection, modes: Sequence[str]) -> None:
    """Check that the server is new enough for the modes.

    Raises:
        UsageError: If a mode needs full-text search and the server does not have it.
    """
    full_text_modes = [mode for mode in modes if canonical_mode(mode) != "vector"]
    if full_text_modes and not connection.has_full_text:
        raise UsageError(
            f"Milvus {connection.server_version} has no full-text search, which"
            f" the mode '{full_text_modes[0]}' requires",
            where=connection.address.uri,
            remedy="use --modes vector, or Milvus 2.5 or newer",
        )


def check_settings(settings: RetrievalSettings, *, server_fusion: bool = False) -> None:
    """Check that Milvus supports the settings of scoring and fusion.

    Args:
        settings: The settings.
        server_fusion: Whether the server merges the rankings of ``hybrid``.

    Raises:
        UsageError: If Milvus does not support a setting.
    """
    given = settings.model_dump()
    for name in _EMBEDDED_ONLY:
        if given[name]:
            raise UsageError(
                "the backend milvus has no reranker, and only the built-in embeddings of whole "
                "documents",
                where=f"--set {name}",
                remedy="omit this setting, or use the embedded modes",
            )
    if not 0 < settings.k1 <= _MAX_K1:
        raise UsageError(
            f"Milvus requires k1 above 0 and up to {_MAX_K1} but got {settings.k1:g}",
            where="--set k1",
        )
    others = [mode for mode in settings.merged if mode not in MODES]
    if others:
        raise UsageError(
            f"the backend milvus has no mode '{others[0]}' that hybrid could merge",
            where="--set weights" if settings.weights else "--set components",
            remedy="merge lexical and vector",
        )
    if not server_fusion:
        return
    if settings.fusion != "rrf":
        raise UsageError(
            f"Milvus merges rankings only by rrf, not by {settings.fusion or DEFAULT_FUSION}",
            where="milvus.server_fusion",
            remedy="set fusion=rrf (--set), or omit server_fusion",
        )
    if not 0 < settings.rrf_k < MAX_RESULTS:
        raise UsageError(
            f"Milvus requires rrf_k from 1 to {MAX_RESULTS - 1} but got {settings.rrf_k}",
            where="--set rrf_k",
        )


def check_depth(depth: int) -> int:
    """Check that Milvus can return this many documents for a query, and return the depth.

    Raises:
        UsageError: If it cannot.
    """
    if depth > MAX_RESULTS:
        raise UsageError(
            f"Milvus finds at most {MAX_RESULTS:,} documents for a query but {depth:,} are asked"
            " for",
            where="--depth",
        )
    return depth
