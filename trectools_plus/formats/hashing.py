"""SHA-256 digests: what reports and caches name files and texts by."""

from __future__ import annotations

import hashlib
from pathlib import Path

from trectools_plus.formats.source import unreadable


def sha256_file(path: str | Path) -> str:
    """Digest a file as it lies on disk, compressed or not, in lower-case hexadecimal.

    Raises:
        InputError: If the file cannot be read.
    """
    try:
        with Path(path).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(error, str(path)) from error


def sha256_text(text: str) -> str:
    """Digest a text's UTF-8 bytes, in lower-case hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
