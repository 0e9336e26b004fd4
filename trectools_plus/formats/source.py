"""The bytes of a file, an address or standard input, decompressed by what they are, not by name."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, cast

from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats import limits
from trectools_plus.formats.compression import (
    MAGIC_LENGTH,
    Compression,
    DamagedStreamError,
    decompress,
    detect,
)
from trectools_plus.formats.overlong import HEAD_BYTES, Overlong, find_overlong
from trectools_plus.formats.remote import RemoteFile, is_address

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """What a file holds, as bytes.

    Attributes:
        path: The file as the user named it; ``-`` is standard input.
        data: The whole content, decompressed, byte order mark and all; or what stands above a
            line that is too long.
        compression: ``"gzip"``, ``"bz2"``, ``"xz"``, ``"zstd"``, or ``None`` for plain bytes.
        overlong: The line that reading stopped at, if it did.
    """

    path: str
    data: bytes = field(repr=False)
    compression: Compression | None = None
    overlong: Overlong | None = None

    def lines(self) -> Iterator[bytes]:
        """The lines without their LF, one at a time; nothing follows a last LF."""
        begin = 0
        while (end := self.data.find(b"\n", begin)) >= 0:
            yield self.data[begin:end]
            begin = end + 1
        if begin < len(self.data):
            yield self.data[begin:]

    @property
    def head(self) -> bytes:
        """The first few thousand bytes of the content, of a line that is too long as well."""
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
                remedy="save the file as UTF-8",
            ) from None


def read_source(path: str | Path, *, partial: bool = False) -> Source:
    """Read a file whole, decompressing it if its first bytes say so.

    Args:
        path: A file, an address such as ``s3://bucket/name``, or ``-`` for standard input.
        partial: At a line of more than ``limits.MAX_LINE_BYTES``, return what stands above it
            (``overlong`` tells) instead of raising.

    Raises:
        InputError: If it is missing, a folder, may not be read, or is too large for the memory.
        FormatError: If a compressed stream ends early, is damaged or expands beyond all measure,
            or a line is too long.
    """
    shown = str(path)
    with _opened(path) as stream:
        first = _read_first(stream)
        compression = detect(first)
        size = _regular_size(stream) if compression is None else None
        if size is not None:
            data, overlong = _read_plain(stream, first, size, shown)
        else:
            chunks = _content(_chunks_of(stream, first), compression, shown)
            data, overlong = _collect(chunks, shown)
    if overlong is not None and not partial:
        raise overlong.as_error(shown)
    return Source(shown, data, compression, overlong)


def can_be_read_twice(path: str | Path) -> bool:
    """Whether this is a regular file or an address, and no pipe or the like."""
    return is_address(path) or Path(path).is_file()


def file_size(path: str | Path) -> int:
    """Bytes of a regular file, as it lies on the disk; 0 where that is not known."""
    return 0 if is_address(path) else Path(path).stat().st_size


def check_readable(path: str | Path) -> None:
    """Open a file or an address, and read nothing.

    Raises:
        InputError: If it is missing, a folder, or may not be read.
    """
    with _opened(path):
        pass


def is_plain_file(path: str | Path) -> bool:
    """Whether this is a regular file, and not compressed, so that any part of it can be read.

    Raises:
        InputError: If it is missing, a folder, or may not be read.
    """
    if is_address(path):
        return False
    with _opened(path) as stream:
        return _regular_size(stream) is not None and detect(stream.read(MAGIC_LENGTH)) is None


def iter_content(path: str | Path) -> Iterator[bytes]:
    """Yield a file's content, decompressed, in chunks of about ``CHUNK_BYTES`` as they come.

    Raises:
        InputError: If it is missing, a folder, or may not be read.
        FormatError: If a compressed stream ends early, is damaged or expands beyond all measure.
    """
    with _opened(path) as stream:
        first = _read_first(stream)
        yield from _content(_chunks_of(stream, first), detect(first), str(path))


def iter_lines(path: str | Path) -> Iterator[bytes]:
    """Yield a file's lines without their LF, holding one chunk and one line at a time.

    Only LF ends a line; a CR before it stays. A last line without LF is yielded as well.

    Raises:
        InputError: If it is missing, a folder, or may not be read.
        FormatError: If a compressed stream ends early, is damaged or expands beyond all measure,
            or a line has more than ``limits.MAX_LINE_BYTES``.
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
            # None of these is too long: no chunk has as many bytes as a line may have.
            yield from tail[:-1]
            parts = [tail[-1]]
            n_open, n_lines = len(tail[-1]), n_lines + len(tail)
    last = b"".join(parts)
    if last:
        yield last


@contextmanager
def _opened(path: str | Path) -> Iterator[IO[bytes]]:
    try:
        with _open(path) as stream:
            yield stream
    except OSError as error:
        raise unreadable(error, str(path)) from error
    except ValueError as error:  # a NUL in a path
        raise InputError(f"cannot read: {error}", where=str(path)) from error


def _open(path: str | Path) -> AbstractContextManager[IO[bytes]]:
    if str(path) == "-":
        return _standard_input()
    if is_address(path):
        return cast("IO[bytes]", RemoteFile(str(path)))  # whose reading is all that is used
    return _open_file(path)


def _standard_input() -> AbstractContextManager[IO[bytes]]:
    stream = getattr(sys.stdin, "buffer", None)  # there is none when it was closed from the start
    if stream is None:
        raise InputError("standard input is closed", where="-", remedy="name a file")
    return nullcontext(stream)  # it stays open: it belongs to the process


def _open_file(path: str | Path) -> IO[bytes]:
    # Unbuffered: what is read comes in large pieces anyway.
    return Path(path).open("rb", buffering=0)


def _read_first(stream: IO[bytes]) -> bytes:
    """Read a first chunk long enough for magic bytes; a pipe may hand out a few at a time."""
    first = stream.read(CHUNK_BYTES)
    while len(first) < MAGIC_LENGTH and (more := stream.read(CHUNK_BYTES)):
        first += more
    return first


def _chunks_of(stream: IO[bytes], first: bytes) -> Iterator[bytes]:
    return chain([first], iter(lambda: stream.read(CHUNK_BYTES), b""))


def _regular_size(stream: IO[bytes]) -> int | None:
    """Bytes of a regular file; ``None`` for a pipe, a device, an address and the like."""
    if isinstance(stream, RemoteFile) or stream is getattr(sys.stdin, "buffer", None):
        return None
    status = os.fstat(stream.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) and status.st_size else None


def _read_plain(
    stream: IO[bytes], first: bytes, size: int, shown: str
) -> tuple[bytes, Overlong | None]:
    """Read a file whose size is known, in one piece; first find out where to stop."""
    if size <= len(first):
        first += stream.read()
        return _above_overlong(first)

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
    """Read so much, or what there is: systems hand out no more than 2 GiB at a time."""
    parts = []
    while n_bytes > 0 and (part := stream.read(n_bytes)):
        parts.append(part)
        n_bytes -= len(part)
    return b"".join(parts)


def _collect(chunks: Iterable[bytes], shown: str) -> tuple[bytes, Overlong | None]:
    """Join a stream of unknown length, up to a line or a size that is too much."""
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
    return _above_overlong(b"".join(parts))


def _above_overlong(data: bytes) -> tuple[bytes, Overlong | None]:
    overlong_from = find_overlong(lambda begin, end: data[begin:end], len(data))
    if overlong_from is None:
        return data, None
    head = data[overlong_from : overlong_from + HEAD_BYTES]
    return data[:overlong_from], Overlong(data.count(b"\n", 0, overlong_from) + 1, head)


def _content(
    chunks: Iterable[bytes], compression: Compression | None, shown: str
) -> Iterator[bytes]:
    """Pass the content on, decompressed: the one place where compressed bytes grow."""
    if compression is None:
        yield from chunks
        return
    n_lines = n_packed = n_bytes = 0

    def counted() -> Iterator[bytes]:
        nonlocal n_packed
        for chunk in chunks:
            n_packed += len(chunk)
            yield chunk

    try:
        for content in decompress(counted(), compression):
            n_lines += content.count(b"\n")
            n_bytes += len(content)
            if n_bytes > limits.EXPANSION_FREE_BYTES and n_bytes > limits.MAX_EXPANSION * n_packed:
                raise FormatError(
                    f"{compression} stream expands more than {limits.MAX_EXPANSION} times: "
                    f"{n_packed:,} bytes to over {n_bytes:,}, and reading stopped there",
                    path=shown,
                    remedy="a decompression bomb? Unpack it yourself if it is meant",
                )
            yield content
    except DamagedStreamError as error:
        raise FormatError(
            f"{error}, after {n_lines:,} whole lines",
            path=shown,
            remedy="copy or make the file again",
        ) from error


def _too_large(shown: str, size: int) -> InputError:
    limit = limits.max_content_bytes()
    return InputError(
        f"at least {size / 2**30:.1f} GiB of content, more than the {limit / 2**30:.1f} GiB that "
        "are read on this machine",
        where=shown,
        remedy=f"split it, or set {limits.LIMIT_VARIABLE} if there is memory for it",
    )


def unreadable(error: OSError, shown: str) -> InputError:
    """Why a file cannot be read, and what to do."""
    if isinstance(error, FileNotFoundError):
        return InputError("no such file", where=shown, remedy="check the path")
    if isinstance(error, IsADirectoryError):
        return InputError("is a folder, not a file", where=shown, remedy="name a file in it")
    return InputError(f"cannot read: {error.strerror or error}", where=shown)
