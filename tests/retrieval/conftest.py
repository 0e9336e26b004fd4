"""Every test here builds its indexes in a folder of its own, never in the user's cache."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("TRECTOOLS_PLUS_CACHE", str(folder))
    return folder


@contextmanager
def digests_of(bits: int) -> Iterator[list[bytes]]:
    """Let digests of eight bytes differ in a few bits only, so that many texts share one.

    Yields:
        The texts that have such a digest: none, if other digests have come into use.
    """
    blake2b, texts = hashlib.blake2b, []

    def short(data: bytes = b"", *, digest_size: int = 64, **options: Any) -> Any:
        full = blake2b(data, digest_size=digest_size, **options)
        if digest_size != 8:
            return full
        texts.append(data)
        number = int.from_bytes(full.digest(), "little") >> (64 - bits)
        return SimpleNamespace(digest=lambda: number.to_bytes(8, "little"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashlib, "blake2b", short)
        yield texts
