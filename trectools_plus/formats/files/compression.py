"""Read and write compressed streams.

The compression is determined by the first bytes when reading, and by the suffix when writing.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
from typing import IO, Any, Literal, cast

Compression = Literal["gzip", "bz2", "xz", "zstd"]

SUFFIXES: dict[str, Compression] = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd"}

_MAGIC: dict[Compression, tuple[bytes, ...]] = {
    "gzip": (b"\x1f\x8b",),
    # "BZh", a level, and the marker of a first block or of an empty stream. The marker is needed
    # because a text can start with "BZh1".
    "bz2": tuple(
        b"BZh%d" % level + mark
        for level in range(1, 10)
        for mark in (b"\x31\x41\x59\x26\x53\x59", b"\x17\x72\x45\x38\x50\x90")
    ),
    "xz": (b"\xfd7zXZ\x00",),
    # A frame, or a skippable frame before it.
    "zstd": (b"\x28\xb5\x2f\xfd", *(bytes((0x50 + n,)) + b"\x2a\x4d\x18" for n in range(16))),
}
MAGIC_LENGTH = 10


def detect(first_bytes: bytes) -> Compression | None:
    """Return the compression of a stream by its first ``MAGIC_LENGTH`` bytes; ``None`` if plain."""
    return next((name for name, marks in _MAGIC.items() if first_bytes.startswith(marks)), None)


def decompressed(stream: Any, compression: Compression) -> IO[bytes]:
    """Return a stream of the content of a compressed one, with any number of members or frames.

    Reading raises various errors if it ends early or is damaged.

    Args:
        stream: An object with ``read``.
        compression: Its compression.
    """
    if compression == "gzip":
        return cast("IO[bytes]", gzip.GzipFile(fileobj=stream))
    return cast("IO[bytes]", _file_class(compression)(stream, "rb"))


def open_compressed(stream: IO[bytes], compression: Compression) -> IO[bytes]:
    """Return a binary stream that compresses what is written to it and writes it to ``stream``.

    The same content gives the same bytes, because time and file name are not stored. Closing the
    result does not close ``stream``.
    """
    if compression == "gzip":
        writer = gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0, compresslevel=6)
        return cast("IO[bytes]", writer)
    return cast("IO[bytes]", _file_class(compression)(stream, "wb"))


def _file_class(compression: Compression) -> Any:
    if compression != "zstd":
        return {"bz2": bz2.BZ2File, "xz": lzma.LZMAFile}[compression]
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.ZstdFile
