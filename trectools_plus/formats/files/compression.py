"""Read and write compressed streams.

The compression is determined by the first bytes when reading, and by the suffix when writing.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import sys
from typing import IO, Any, Literal, cast

Compression = Literal["gzip", "bz2", "xz", "zstd"]

SUFFIXES: dict[str, Compression] = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd"}

# A text can start with "BZh1": the mark of a first block or of an empty stream follows.
_MARKS: dict[Compression, bytes] = {
    "gzip": rb"\x1f\x8b",
    "bz2": rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)",
    "xz": rb"\xfd7zXZ\x00",
    "zstd": rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18",  # a frame, or a skippable one before it
}


def detect(first_bytes: bytes) -> Compression | None:
    """Return the compression of a stream by its first ten bytes; ``None`` if plain."""
    return next((name for name, mark in _MARKS.items() if re.match(mark, first_bytes)), None)


def open_compressed(
    stream: Any, compression: Compression, mode: Literal["rb", "wb"] = "rb"
) -> IO[bytes]:
    """Return the content of a compressed stream, or a stream that compresses what is written.

    The content has any number of members or frames. Reading raises various errors if it ends early
    or is damaged. The same content gives the same bytes, because time and file name are not stored.
    Closing the result does not close ``stream``.

    Args:
        stream: An object with ``read`` or ``write``.
        compression: Its compression.
        mode: Whether to read or to write.
    """
    content: Any
    if compression == "gzip":
        content = gzip.GzipFile("", mode, 6, stream, mtime=0)
    elif compression != "zstd":
        content = (bz2.BZ2File if compression == "bz2" else lzma.LZMAFile)(stream, mode)
    else:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
        content = zstd.ZstdFile(stream, mode)
    return cast("IO[bytes]", content)
