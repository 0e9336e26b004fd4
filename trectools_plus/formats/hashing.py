"""SHA-256 digests: what reports and caches name files and texts by."""

from __future__ import annotations

import hashlib
from pathlib import Path

from trectools_plus.formats.opening import unreadable
from trectools_plus.formats.remote import RemoteFile, is_address

_CHUNK_BYTES = 1 << 20


def sha256_file(path: str | Path) -> str:
    """Digest a file as it lies on disk or behind an address, in lower-case hexadecimal.

    A compressed file is digested as it is.

    Raises:
        InputError: If the file cannot be read.
    """
    if is_address(path):
        digest = hashlib.sha256()
        with RemoteFile(str(path)) as remote:
            while chunk := remote.read(_CHUNK_BYTES):
                digest.update(chunk)
        return digest.hexdigest()
    try:
        with Path(path).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(error, str(path)) from error


def sha256_text(text: str) -> str:
    """Digest a text's UTF-8 bytes, in lower-case hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
