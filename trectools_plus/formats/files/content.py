"""Read the decompressed content of a file as a stream of chunks, lines or decoded lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO

from trectools_plus.errors import FormatError
from trectools_plus.formats.files import limits
from trectools_plus.formats.files.binary import refuse_binary
from trectools_plus.formats.files.compression import (
    Compression,
    DamagedStreamError,
    decompress,
    detect,
)
from trectools_plus.formats.files.limits import HEAD_BYTES, Overlong
from trectools_plus.formats.files.opening import opened

BOM = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8."""

CHUNK_BYTES = 1 << 20


def iter_content(path: str | Path) -> Iterator[bytes]:
    """Yield a file's content, decompressed, in chunks of about ``CHUNK_BYTES``.

    Raises:
        InputError: If it does not exist, is a folder or is not readable.
        FormatError: If it is not text, or a compressed stream ends early, is damaged or expands too
            much.
    """
    with opened(path) as stream:
        first = read_first(stream)
        yield from decompressed(chunks_of(stream, first), detect(first), str(path))


def iter_lines(path: str | Path) -> Iterator[bytes]:
    """Yield a file's lines without their LF, with one chunk and one line in memory.

    Only LF ends a line; a CR before it stays. The last line may lack its LF.

    Raises:
        InputError: If it does not exist, is a folder or is not readable.
        FormatError: If a compressed stream ends early, is damaged or expands too much, or a line
            has more than ``limits.MAX_LINE_BYTES``.
    """
    parts: list[bytes] = []
    n_open = n_lines = 0
    for chunk in iter_content(path):
        head, *tail = chunk.split(b"\n")
        parts.append(head)
        n_open += len(head)
        if n_open > limits.MAX_LINE_BYTES:
            raise Overlong(n_lines + 1).as_error(str(path))
        if tail:
            yield b"".join(parts)
            # These lines are not too long, because a chunk is shorter than the limit.
            yield from tail[:-1]
            parts = [tail[-1]]
            n_open, n_lines = len(tail[-1]), n_lines + len(tail)
    last = b"".join(parts)
    if last:
        yield last


def read_first(stream: IO[bytes]) -> bytes:
    """Read a first chunk that includes the magic bytes; a pipe may return a few bytes at a time."""
    first = stream.read(CHUNK_BYTES)
    while len(first) < HEAD_BYTES and (more := stream.read(CHUNK_BYTES)):
        first += more
    return first


def chunks_of(stream: IO[bytes], first: bytes) -> Iterator[bytes]:
    """Yield the first chunk and all that follow it."""
    return chain([first], iter(lambda: stream.read(CHUNK_BYTES), b""))


def decompressed(
    chunks: Iterable[bytes], compression: Compression | None, shown: str
) -> Iterator[bytes]:
    """Decompress content, and refuse it if it expands too much.

    Args:
        chunks: The bytes of the file, from the first one.
        compression: Its compression; ``None`` for plain bytes.
        shown: The file as the user named it, for errors.

    Raises:
        FormatError: If the content is not text, or the stream ends early, is damaged or expands
            too much.
    """
    if compression is None:
        yield from _refuse_binary_start(chunks, shown)
        return
    n_lines = n_packed = n_bytes = 0

    def counted() -> Iterator[bytes]:
        nonlocal n_packed
        for chunk in chunks:
            n_packed += len(chunk)
            yield chunk

    try:
        for content in _refuse_binary_start(decompress(counted(), compression), shown):
            n_lines += content.count(b"\n")
            n_bytes += len(content)
            if n_bytes > limits.EXPANSION_FREE_BYTES and n_bytes > limits.MAX_EXPANSION * n_packed:
                raise FormatError(
                    f"{compression} stream expands more than {limits.MAX_EXPANSION} times: "
                    f"{n_packed:,} bytes to over {n_bytes:,}, where reading stopped",
                    path=shown,
                    remedy="this may be a decompression bomb; if not, decompress it yourself",
                )
            yield content
    except DamagedStreamError as error:
        raise FormatError(
            f"{error}, after {n_lines:,} whole lines",
            path=shown,
            remedy="copy or create the file again",
        ) from error


def _refuse_binary_start(chunks: Iterable[bytes], shown: str) -> Iterator[bytes]:
    """Yield chunks; refuse those of a file that is not text.

    Raises:
        BinaryFileError: Before the first chunk.
    """
    is_first = True
    for chunk in chunks:
        if is_first:
            refuse_binary(chunk, shown)
            is_first = False
        yield chunk


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
