"""Compressed streams, known by their first bytes when read and by their suffix when written."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any, Literal, cast

Compression = Literal["gzip", "bz2", "xz", "zstd"]

SUFFIXES: dict[str, Compression] = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd"}

_MAGIC: dict[Compression, tuple[bytes, ...]] = {
    "gzip": (b"\x1f\x8b",),
    # "BZh", a level, and the mark of a first block or of an empty stream: text may start "BZh1".
    "bz2": tuple(
        b"BZh%d" % level + mark
        for level in range(1, 10)
        for mark in (b"\x31\x41\x59\x26\x53\x59", b"\x17\x72\x45\x38\x50\x90")
    ),
    "xz": (b"\xfd7zXZ\x00",),
    # A frame, or a skippable frame in front of it.
    "zstd": (b"\x28\xb5\x2f\xfd", *(bytes((0x50 + n,)) + b"\x2a\x4d\x18" for n in range(16))),
}
MAGIC_LENGTH = 10

# These two formats allow zero bytes after the last stream, as tape blocks and alignment leave them.
_ZERO_PADDED: frozenset[Compression] = frozenset({"gzip", "xz"})


class DamagedStreamError(Exception):
    """A compressed stream ends early or its content is not what it was.

    Internal: readers turn it into a ``FormatError`` that names the file.
    """


def detect(first_bytes: bytes) -> Compression | None:
    """Tell the compression by the stream's first ``MAGIC_LENGTH`` bytes; ``None`` is plain."""
    for compression, marks in _MAGIC.items():
        if first_bytes.startswith(marks):
            return compression
    return None


def decompress(chunks: Iterable[bytes], compression: Compression) -> Iterator[bytes]:
    """Decompress a stream of chunks, any number of members or frames one after another.

    Raises:
        DamagedStreamError: If the stream ends early, is damaged, or something else follows it.
    """
    start = _DECOMPRESSORS[compression]
    decompressor: Any = None
    try:
        for chunk in chunks:
            pending = chunk
            while pending:
                if decompressor is None:
                    if compression in _ZERO_PADDED:
                        pending = pending.lstrip(b"\0")
                        if not pending:
                            break
                    decompressor = start()
                content = decompressor.decompress(pending)
                pending = b""
                if content:
                    yield content
                if decompressor.eof:
                    pending, decompressor = decompressor.unused_data, None
    except _damage_errors() as error:
        raise DamagedStreamError(f"{compression} stream is damaged ({error})") from error
    if decompressor is not None:
        raise DamagedStreamError(f"{compression} stream ends early")


def open_compressed(stream: IO[bytes], compression: Compression | None) -> IO[bytes]:
    """Wrap a binary stream so that what is written to it is compressed.

    The same content gives the same bytes: no time, no file name goes in. Closing the result
    leaves ``stream`` open.
    """
    if compression == "gzip":
        packer = gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0, compresslevel=6)
        return cast(IO[bytes], packer)
    if compression == "bz2":
        return bz2.BZ2File(stream, "wb")
    if compression == "xz":
        return lzma.LZMAFile(stream, "wb")
    if compression == "zstd":
        import zstandard

        writer: IO[bytes] = zstandard.ZstdCompressor().stream_writer(stream, closefd=False)
        return writer
    raise ValueError("open_compressed() is for compressed output")


def _zstd_decompressor() -> Any:
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj()


_DECOMPRESSORS: dict[Compression, Callable[[], Any]] = {
    "gzip": lambda: zlib.decompressobj(wbits=31),
    "bz2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(format=lzma.FORMAT_XZ),
    "zstd": _zstd_decompressor,
}


def _damage_errors() -> tuple[type[Exception], ...]:
    """The errors of the four libraries; ``except`` looks them up only when one was raised."""
    import zstandard

    return (zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, zstandard.ZstdError)
