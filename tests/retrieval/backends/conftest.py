"""What tests of backends share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Opens connections to Milvus, by default to a local ``.db``, and closes them at the end."""
    for name in ("pymilvus", "milvus_lite"):
        pytest.importorskip(name, reason="needs the extra milvus: pip install '.[milvus]'")
    from trectools_plus.retrieval.backends.milvus_connection import (
        MilvusAddress,
        MilvusConnection,
    )

    opened: list[MilvusConnection] = []

    def open_one(uri: str | None = None) -> MilvusConnection:
        address = MilvusAddress.parse(uri or str(tmp_path / "milvus.db"))
        opened.append(MilvusConnection(address))
        return opened[-1]

    yield open_one
    for connection in opened:
        connection.close()
