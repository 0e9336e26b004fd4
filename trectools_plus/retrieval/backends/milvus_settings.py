"""Settings of the backend ``milvus``."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

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
