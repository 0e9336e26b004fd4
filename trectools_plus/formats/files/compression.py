"""Read and write compressed streams.

The compression is determined by the first bytes when reading, and by the suffix when writing.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
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

MAX_CHUNK_BYTES = 1 << 20
"""The greatest size of a decompressed chunk."""

# Each member copies the unused rest of a feed for the next one: with larger feeds, the time for
# many tiny members would grow with the square of their number.
_FEED_BYTES = 1 << 14

# A stream declares the size of its window; that much memory is allocated before its first byte.
_MAX_WINDOW_BYTES = 1 << 27

# Formats that allow zero bytes after the last stream, which tapes and alignment add.
_ZERO_PADDED: frozenset[Compression] = frozenset({"gzip", "xz"})


class DamagedStreamError(Exception):
    """A compressed stream ends early or is damaged.

    Internal: readers convert it to a ``FormatError`` with the name of the file.
    """


def detect(first_bytes: bytes) -> Compression | None:
    """Return the compression of a stream by its first ``MAGIC_LENGTH`` bytes; ``None`` if plain."""
    for compression, marks in _MAGIC.items():
        if first_bytes.startswith(marks):
            return compression
    return None


def decompress(chunks: Iterable[bytes], compression: Compression) -> Iterator[bytes]:
    """Decompress a stream with any number of members or frames.

    The size of each chunk of content is limited, even if the stream expands very much.

    Raises:
        DamagedStreamError: If the stream ends early, is damaged or is followed by other data.
    """
    member: Any = None
    try:
        for chunk in chunks:
            for at in range(0, len(chunk), _FEED_BYTES):
                pending = chunk[at : at + _FEED_BYTES]
                while pending:
                    if member is None and compression in _ZERO_PADDED:
                        pending = pending.lstrip(b"\0")
                        if not pending:
                            break
                    if member is None:
                        member = _START[compression]()
                    yield from _feed(member, pending)
                    pending = member.unused_data
                    if member.eof:
                        member = None
    except _damage_errors() as error:
        raise DamagedStreamError(f"{compression} stream is damaged ({error})") from error
    if member is not None:
        raise DamagedStreamError(f"{compression} stream ends early")


def open_compressed(stream: IO[bytes], compression: Compression) -> IO[bytes]:
    """Return a binary stream that compresses what is written to it and writes it to ``stream``.

    The same content gives the same bytes, because time and file name are not stored. Closing the
    result does not close ``stream``.
    """
    writer: Any = {"bz2": bz2.BZ2File, "xz": lzma.LZMAFile}.get(compression)
    if compression == "gzip":
        writer = gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0, compresslevel=6)
    else:
        writer = (writer or _zstd().ZstdFile)(stream, "wb")
    return cast("IO[bytes]", writer)


def _feed(decompressor: Any, data: bytes) -> Iterator[bytes]:
    """Feed a decompressor: bz2, xz and zstd buffer their unused input, zlib returns it."""
    while content := decompressor.decompress(data, MAX_CHUNK_BYTES):
        yield content
        data = getattr(decompressor, "unconsumed_tail", b"")
        if decompressor.eof or getattr(decompressor, "needs_input", False):
            break


def _zstd() -> Any:
    """Import the module of Python 3.14, or the package with the same functions."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def _start_zstd() -> Any:
    zstd = _zstd()
    largest = zstd.DecompressionParameter.window_log_max
    return zstd.ZstdDecompressor(options={largest: _MAX_WINDOW_BYTES.bit_length() - 1})


_START: dict[Compression, Callable[[], Any]] = {
    "gzip": lambda: zlib.decompressobj(wbits=31),
    "bz2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=2 * _MAX_WINDOW_BYTES),
    "zstd": _start_zstd,
}
"""Functions that start to decompress a member or frame."""


def _damage_errors() -> tuple[type[Exception], ...]:
    """Return the error classes of the four libraries; zstd is imported only on an error."""
    return (zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, _zstd().ZstdError)
