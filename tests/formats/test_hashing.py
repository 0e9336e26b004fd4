"""Digests compared with the published digest of the empty message, and with hashlib."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from harness.files import write

from trectools_plus.errors import InputError
from trectools_plus.formats.hashing import sha256_file, sha256_text

# FIPS 180-4's digest of no bytes at all.
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_files_and_texts(tmp_path: Path) -> None:
    path = write(tmp_path / "a", b"")
    assert sha256_file(path) == sha256_text("") == EMPTY
    path.write_bytes("é\r\n".encode() * 100_000)
    assert sha256_file(str(path)) == sha256_text("é\r\n" * 100_000)
    assert sha256_text("é") == hashlib.sha256(b"\xc3\xa9").hexdigest()
    with pytest.raises(InputError):
        sha256_file(tmp_path / "gone")
