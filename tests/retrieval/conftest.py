"""Every module builds its indexes in a folder of its own, never in the user's cache."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("indexes")


@pytest.fixture(autouse=True)
def cache(indexes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRECTOOLS_PLUS_CACHE", str(indexes))
