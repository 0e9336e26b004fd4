"""Read the whole content of a file, an address or standard input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.files import limits
from trectools_plus.formats.files.binary import PARQUET, find_binary, refuse_binary
from trectools_plus.formats.files.compression import Compression, detect
from trectools_plus.formats.files.content import chunks_of, decompressed, read_first
from trectools_plus.formats.files.limits import HEAD_BYTES, Overlong, find_overlong
from trectools_plus.formats.files.opening import opened, regular_size


@dataclass(frozen=True, slots=True)
class Source:
    """The content of a file, as bytes.

    Attributes:
        path: The file as the user named it; ``-`` is standard input.
        data: The content, decompressed, with byte order mark; or the part before a line that is
            too long.
        compression: ``"gzip"``, ``"bz2"``, ``"xz"``, ``"zstd"``, or ``None`` for plain bytes.
        overlong: The line at which reading stopped; ``None`` if ``data`` is complete.
        is_parquet: Whether the content is a Parquet file, not text.
    """

    path: str
    data: bytes = field(repr=False)
    compression: Compression | None = None
    overlong: Overlong | None = None
    is_parquet: bool = False

    def lines(self) -> Iterator[bytes]:
        """Yield the lines without their LF; an LF at the end does not start another line."""
        begin = 0
        while (end := self.data.find(b"\n", begin)) >= 0:
            yield self.data[begin:end]
            begin = end + 1
        if begin < len(self.data):
            yield self.data[begin:]

    @property
    def head(self) -> bytes:
        """The first few thousand bytes of the content, even of a line that is too long."""
        return self.data[:HEAD_BYTES] or (b"" if self.overlong is None else self.overlong.head)

    @property
    def text(self) -> str:
        """The content as text, without byte order mark.

        Raises:
            FormatError: At the first byte that is not UTF-8.
        """
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise FormatError(
                f"byte 0x{self.data[error.start]:02X} is not UTF-8",
                path=self.path,
                line=self.data.count(b"\n", 0, error.start) + 1,
                remedy="save the file as UTF-8, from Latin-1 with: iconv -f latin1 -t utf-8",
            ) from None


def read_source(path: str | Path, *, partial: bool = False, tables: bool = False) -> Source:
    """Read a whole file, decompressed if it is compressed.

    Args:
        path: A file, an address (``s3://bucket/name``), or ``-`` for standard input.
        partial: If a line has more than ``limits.MAX_LINE_BYTES``, return the part before it with
            ``overlong`` set, instead of raising an error.
        tables: Return the bytes of a Parquet file too, which is not text.

    Raises:
        InputError: If it does not exist, is a folder, is not readable, or is larger than
            ``limits.max_content_bytes()``.
        FormatError: If it is not text, a compressed stream ends early, is damaged or expands too
            much, or a line is too long.
    """
    shown = str(path)
    with opened(path) as stream:
        first = read_first(stream)
        compression = detect(first)
        if tables and find_binary(first) is PARQUET:
            return Source(shown, _read_bytes(chunks_of(stream, first), shown), is_parquet=True)
        size = regular_size(stream) if compression is None else None
        if size is not None:
            refuse_binary(first, shown)
            data, overlong = _read_plain(stream, first, size, shown)
        else:
            chunks = decompressed(chunks_of(stream, first), compression, shown)
            data, overlong = _collect(chunks, shown)
    if overlong is not None and not partial:
        raise overlong.as_error(shown)
    return Source(shown, data, compression, overlong)


def source_of(path: str, data: bytes) -> Source:
    """Return the source of a chunk of a file, up to a line of over ``limits.MAX_LINE_BYTES``."""
    before, overlong = _before_overlong(data)
    return Source(path, before, overlong=overlong)


def _read_plain(
    stream: IO[bytes], first: bytes, size: int, shown: str
) -> tuple[bytes, Overlong | None]:
    """Read a file of known size at once, after looking for a line that is too long."""
    if size <= len(first):
        first += stream.read()
        return _before_overlong(first)

    def read_at(begin: int, end: int) -> bytes:
        stream.seek(begin)
        return _read_up_to(stream, end - begin)

    overlong_from = find_overlong(read_at, size)
    if (overlong_from or size) > limits.max_content_bytes():
        raise _too_large(shown, size)
    stream.seek(0)
    if overlong_from is None:
        return stream.read(), None
    head = read_at(overlong_from, overlong_from + HEAD_BYTES)
    data = read_at(0, overlong_from)
    return data, Overlong(data.count(b"\n") + 1, head)


def _read_up_to(stream: IO[bytes], n_bytes: int) -> bytes:
    """Read at most ``n_bytes``; systems return no more than 2 GiB at a time."""
    parts = []
    while n_bytes > 0 and (part := stream.read(n_bytes)):
        parts.append(part)
        n_bytes -= len(part)
    return b"".join(parts)


def _read_bytes(chunks: Iterable[bytes], shown: str) -> bytes:
    """Join a stream of any bytes."""
    limit, size = limits.max_content_bytes(), 0
    parts: list[bytes] = []
    for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size > limit:
            raise _too_large(shown, size)
    return b"".join(parts)


def _collect(chunks: Iterable[bytes], shown: str) -> tuple[bytes, Overlong | None]:
    """Join a stream of unknown length, up to a line that is too long."""
    limit = limits.max_content_bytes()
    parts: list[bytes] = []
    size = n_open = 0
    for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        n_open = n_open + len(chunk) if (at := chunk.rfind(b"\n")) < 0 else len(chunk) - 1 - at
        if n_open > limits.MAX_LINE_BYTES:
            break
        if size > limit:
            raise _too_large(shown, size)
    return _before_overlong(b"".join(parts))


def _before_overlong(data: bytes) -> tuple[bytes, Overlong | None]:
    """Return the part before the first line that is too long, and that line."""
    overlong_from = find_overlong(lambda begin, end: data[begin:end], len(data))
    if overlong_from is None:
        return data, None
    head = data[overlong_from : overlong_from + HEAD_BYTES]
    return data[:overlong_from], Overlong(data.count(b"\n", 0, overlong_from) + 1, head)


def _too_large(shown: str, size: int) -> InputError:
    limit = limits.max_content_bytes()
    return InputError(
        f"at least {size / 2**30:.1f} GiB of content, more than the limit of "
        f"{limit / 2**30:.1f} GiB on this machine",
        where=shown,
        remedy=f"split it, or increase {limits.LIMIT_VARIABLE} if the memory is sufficient",
    )
