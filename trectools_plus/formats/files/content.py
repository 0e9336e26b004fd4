"""Read the decompressed content of a file: as a whole, in chunks, or line by line."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from trectools_plus.errors import FormatError, InputError, TrectoolsPlusError
from trectools_plus.formats.files import limits
from trectools_plus.formats.files.limits import (
    HEAD_BYTES,
    Overlong,
    find_overlong,
)
from trectools_plus.formats.files.opening import (
    PARQUET,
    BinaryFileError,
    Compression,
    detect,
    find_binary,
    open_compressed,
    opened,
)

BOM = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8."""

CHUNK_BYTES = 1 << 20


class _Source:
    """A stream whose first bytes were read, which counts what is read from it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.first = stream.read(CHUNK_BYTES)
        # A pipe may return a few bytes at a time.
        while len(self.first) < HEAD_BYTES and (more := stream.read(CHUNK_BYTES)):
            self.first += more
        self.n_bytes = 0
        self._pending = self.first

    def read(self, size: int = -1) -> bytes:
        size = size if size >= 0 else sys.maxsize
        data, self._pending = self._pending[:size], self._pending[size:]
        data = data or self._stream.read(min(size, CHUNK_BYTES))
        self.n_bytes += len(data)
        return data


def iter_content(path: str | Path) -> Iterator[bytes]:
    """Yield a file's content, decompressed, in chunks of about ``CHUNK_BYTES``.

    Raises:
        InputError: If it does not exist, is a folder or is not readable.
        FormatError: If it is not text, or a compressed stream ends early, is damaged or expands too
            much.
    """
    with opened(path) as stream:
        source = _Source(stream)
        yield from _decompress(source, detect(source.first), str(path))


def _decompress(source: _Source, compression: Compression | None, shown: str) -> Iterator[bytes]:
    """Yield the content of a file; refuse what is not text or expands too much."""
    content: Any = source if compression is None else open_compressed(source, compression)
    n_bytes, part = 0, b"-"
    while part:
        try:
            part = content.read(CHUNK_BYTES)
        except Exception as error:
            if compression is None or isinstance(error, TrectoolsPlusError):
                raise
            raise FormatError(
                f"{compression} stream is damaged or ends early ({error})",
                path=shown,
                remedy="copy or create the file again",
            ) from error
        if not n_bytes and (name := find_binary(part)) is not None:
            raise BinaryFileError(name, shown)
        n_bytes += len(part)
        if n_bytes > max(limits.EXPANSION_FREE_BYTES, limits.MAX_EXPANSION * source.n_bytes):
            raise FormatError(
                f"{compression} stream expands more than {limits.MAX_EXPANSION} times: "
                f"{source.n_bytes:,} bytes to over {n_bytes:,}, where reading stopped",
                path=shown,
                remedy="this may be a decompression bomb; if not, decompress it yourself",
            )
        yield part


def iter_lines(path: str | Path) -> Iterator[bytes]:
    """Yield a file's lines without their LF, with one chunk and one line in memory.

    Only LF ends a line; a CR before it stays. The last line may lack its LF.

    Raises:
        InputError: If it does not exist, is a folder or is not readable.
        FormatError: If a compressed stream ends early, is damaged or expands too much, or a line
            has more than ``limits.MAX_LINE_BYTES``.
    """
    rest, n_lines = b"", 0
    for chunk in iter_content(path):
        *lines, rest = (rest + chunk).split(b"\n")
        # Other lines are not too long, because a chunk is shorter than the limit.
        if len([*lines, rest][0]) > limits.MAX_LINE_BYTES:
            raise Overlong(n_lines + 1).as_error(str(path))
        yield from lines
        n_lines += len(lines)
    if rest:
        yield rest


def decode_lines(lines: Iterable[bytes], path: str) -> Iterator[tuple[int, str]]:
    """Decode lines of UTF-8; remove a byte order mark, CRs at line ends, and blank lines.

    Args:
        lines: Lines without their LF.
        path: The file, for messages.

    Yields:
        The line's number, from 1, and its text.

    Raises:
        FormatError: With line and column, if a line is not UTF-8 or contains NUL.
    """
    for number, line in enumerate(lines, 1):
        text = decode_text(line, path, number)
        if number == 1:
            text = text.removeprefix("\ufeff")
        text = text.removesuffix("\r")
        if text.strip(" \t"):
            yield number, text


def decode_text(data: bytes, path: str, first_line: int = 1) -> str:
    """Decode UTF-8 text of one or more lines; the first has the number ``first_line``.

    Raises:
        FormatError: With line and column, if it is not UTF-8 or contains NUL.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        byte = data[error.start]
        raise _bad(f"byte 0x{byte:02X} is not UTF-8", data, error.start, path, first_line) from None
    if "\0" in text:
        raise _bad("NUL byte", data, data.index(b"\0"), path, first_line)
    return text


def _bad(what: str, data: bytes, offset: int, path: str, first_line: int) -> FormatError:
    line_start = data.rfind(b"\n", 0, offset) + 1
    return FormatError(
        what,
        path=path,
        line=first_line + data.count(b"\n", 0, offset),
        column=len(data[line_start:offset].decode("utf-8", "replace")) + 1,
        remedy="save the file as UTF-8, from Latin-1 with: iconv -f latin1 -t utf-8",
    )


@dataclass(frozen=True, slots=True)
class FileContent:
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

    def lines(self) -> list[bytes]:
        """Return the lines without their LF; an LF at the end does not start another line."""
        lines = self.data.split(b"\n")
        return lines if lines[-1] else lines[:-1]

    @property
    def head(self) -> bytes:
        """The first few thousand bytes of the content, even of a line that is too long."""
        return self.data[:HEAD_BYTES] or (b"" if self.overlong is None else self.overlong.head)

    @property
    def text(self) -> str:
        """The content as text, without byte order mark.

        Raises:
            FormatError: At the first byte that is not UTF-8, or is NUL.
        """
        return decode_text(self.data, self.path).removeprefix("\ufeff")


def read_file(path: str | Path, *, partial: bool = False, tables: bool = False) -> FileContent:
    """Read a whole file, decompressed if it is compressed.

    Args:
        path: A file, or ``-`` for standard input.
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
        start = _Source(stream)
        compression = detect(start.first)
        if tables and find_binary(start.first) == PARQUET:
            chunks = iter(lambda: start.read(CHUNK_BYTES), b"")
            return FileContent(shown, _join(chunks, shown, is_text=False), is_parquet=True)
        data = _join(_decompress(start, compression, shown), shown)
    source = replace(content_of_chunk(shown, data), compression=compression)
    if source.overlong is not None and not partial:
        raise source.overlong.as_error(shown)
    return source


def content_of_chunk(path: str, data: bytes) -> FileContent:
    """Return the source of a chunk of a file, up to a line of over ``limits.MAX_LINE_BYTES``."""
    start = find_overlong(data)
    if start is None:
        return FileContent(path, data)
    return FileContent(
        path,
        data[:start],
        overlong=Overlong(data.count(b"\n", 0, start) + 1, data[start:][:HEAD_BYTES]),
    )


def _join(chunks: Iterable[bytes], shown: str, *, is_text: bool = True) -> bytes:
    """Join a stream of unknown length; that of a text ends after a line that is too long."""
    limit = limits.max_content_bytes()
    parts: list[bytes] = []
    size = n_open = 0
    for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        n_open = n_open + len(chunk) if (at := chunk.rfind(b"\n")) < 0 else len(chunk) - 1 - at
        if is_text and n_open > limits.MAX_LINE_BYTES:
            break
        if size > limit:
            raise InputError(
                f"more content than the limit of {limit / 2**30:.1f} GiB on this machine",
                where=shown,
                remedy=f"split it, or increase {limits.LIMIT_VARIABLE} if the memory is sufficient",
            )
    return b"".join(parts)
