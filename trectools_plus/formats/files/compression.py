"""Compressed streams, known by their first bytes when read and by their suffix when written."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
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

PIECE_BYTES = 1 << 20
"""How much content comes out of a stream at a time, at most."""

# A stream says how far back it refers, and costs so much memory before its first byte.
_MAX_WINDOW_BYTES = 1 << 27

_ZLIB_NUMBER = re.compile(r"^Error -?[0-9]+ while [a-z ]+: ")
"""What zlib says to programmers, in front of what is wrong."""

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

    What comes out at a time is bounded, however well the stream is compressed.

    Raises:
        DamagedStreamError: If the stream ends early, is damaged, or something else follows it.
    """
    start, feed_bytes = _DECOMPRESSORS[compression]
    member: _Member | None = None
    try:
        for chunk in chunks:
            for at in range(0, len(chunk), feed_bytes):
                pending = chunk[at : at + feed_bytes]
                while pending:
                    if member is None and compression in _ZERO_PADDED:
                        pending = pending.lstrip(b"\0")
                        if not pending:
                            break
                    member = member or start()
                    yield from member.pieces(pending)
                    pending = member.unused_data
                    if member.eof:
                        member = None
    except _damage_errors() as error:
        why = _ZLIB_NUMBER.sub("", str(error))
        raise DamagedStreamError(f"{compression} stream is damaged ({why})") from error
    if member is not None:
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


class _Member:
    """One member or frame of a stream, for libraries that buffer input they are not done with."""

    def __init__(self, decompressor: Any) -> None:
        self._decompressor = decompressor

    @property
    def eof(self) -> bool:
        """Whether the member has ended."""
        return bool(self._decompressor.eof)

    @property
    def unused_data(self) -> bytes:
        """What was fed behind the member's end."""
        return bytes(self._decompressor.unused_data)

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Feed some more of the stream; yield its content in pieces of at most ``PIECE_BYTES``."""
        decompressor = self._decompressor
        while content := decompressor.decompress(data, PIECE_BYTES):
            yield content
            data = b""
            if decompressor.eof or decompressor.needs_input:
                break


class _GzipMember(_Member):
    """zlib hands back the input that it did not get to."""

    def pieces(self, data: bytes) -> Iterator[bytes]:
        while content := self._decompressor.decompress(data, PIECE_BYTES):
            yield content
            data = self._decompressor.unconsumed_tail
            if self._decompressor.eof:
                break


class _ZstdMember(_Member):
    """zstandard gives all that some input makes, so that little input is fed at a time."""

    def pieces(self, data: bytes) -> Iterator[bytes]:
        content = self._decompressor.decompress(data)
        for at in range(0, len(content), PIECE_BYTES):
            yield content[at : at + PIECE_BYTES]


def _start_zstd() -> _Member:
    import zstandard

    decompressor = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES)
    return _ZstdMember(decompressor.decompressobj())


def _start_xz() -> _Member:
    return _Member(lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=2 * _MAX_WINDOW_BYTES))


# How a member begins, and how much input is fed at a time. Small feeds keep a stream of very many
# tiny members linear, for each leaves the rest of its feed to the next; a feed of zstandard can
# become 32,768 times as much.
_DECOMPRESSORS: dict[Compression, tuple[Callable[[], _Member], int]] = {
    "gzip": (lambda: _GzipMember(zlib.decompressobj(wbits=31)), 1 << 14),
    "bz2": (lambda: _Member(bz2.BZ2Decompressor()), 1 << 14),
    "xz": (_start_xz, 1 << 14),
    "zstd": (_start_zstd, 1 << 11),
}


def _damage_errors() -> tuple[type[Exception], ...]:
    """The errors of the four libraries; ``except`` looks them up only when one was raised."""
    import zstandard

    return (zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, zstandard.ZstdError)
