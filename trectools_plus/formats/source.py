"""The bytes of a file or of standard input, decompressed by what they are, not by their name."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO

from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.compression import (
    MAGIC_LENGTH,
    Compression,
    DamagedStreamError,
    decompress,
    detect,
)

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """What a file holds, as bytes.

    Attributes:
        path: The file as the user named it; ``-`` is standard input.
        data: The whole content, decompressed, byte order mark and all.
        compression: ``"gzip"``, ``"bz2"``, ``"xz"``, ``"zstd"``, or ``None`` for plain bytes.
    """

    path: str
    data: bytes = field(repr=False)
    compression: Compression | None = None

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


def read_source(path: str | Path) -> Source:
    """Read a file whole, decompressing it if its first bytes say so.

    Args:
        path: A file, or ``-`` for standard input.

    Raises:
        InputError: If it is missing, a folder, or may not be read.
        FormatError: If a compressed stream ends early or is damaged.
    """
    shown = str(path)
    with _opened(path) as stream:
        data = stream.read()
    compression = detect(data[:MAGIC_LENGTH])
    if compression is not None:
        chunks = (data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES))
        data = b"".join(_content(chunks, compression, shown))
    return Source(shown, data, compression)


def iter_lines(path: str | Path) -> Iterator[bytes]:
    """Yield a file's lines without their LF, holding one chunk and one line at a time.

    Only LF ends a line; a CR before it stays. A last line without LF is yielded as well.

    Raises:
        InputError: If it is missing, a folder, or may not be read.
        FormatError: If a compressed stream ends early or is damaged.
    """
    with _opened(path) as stream:
        first = _read_first(stream)
        compressed = chain([first], iter(lambda: stream.read(CHUNK_BYTES), b""))
        parts: list[bytes] = []
        for chunk in _content(compressed, detect(first), str(path)):
            head, *tail = chunk.split(b"\n")
            parts.append(head)
            if tail:
                yield b"".join(parts)
                yield from tail[:-1]
                parts = [tail[-1]]
        last = b"".join(parts)
        if last:
            yield last


@contextmanager
def _opened(path: str | Path) -> Iterator[IO[bytes]]:
    try:
        # Standard input stays open: it belongs to the process.
        with nullcontext(sys.stdin.buffer) if str(path) == "-" else _open_file(path) as stream:
            yield stream
    except OSError as error:
        raise _unreadable(error, str(path)) from error
    except ValueError as error:  # a NUL in a path
        raise InputError(f"cannot read: {error}", where=str(path)) from error


def _open_file(path: str | Path) -> IO[bytes]:
    # Unbuffered: what is read comes in large pieces anyway.
    return Path(path).open("rb", buffering=0)


def _read_first(stream: IO[bytes]) -> bytes:
    """Read a first chunk long enough for magic bytes; a pipe may hand out a few at a time."""
    first = stream.read(CHUNK_BYTES)
    while len(first) < MAGIC_LENGTH and (more := stream.read(CHUNK_BYTES)):
        first += more
    return first


def _content(
    chunks: Iterable[bytes], compression: Compression | None, shown: str
) -> Iterator[bytes]:
    """Pass the content on, decompressed: the one place where compressed bytes grow."""
    if compression is None:
        yield from chunks
        return
    lines = 0
    try:
        for chunk in decompress(chunks, compression):
            lines += chunk.count(b"\n")
            yield chunk
    except DamagedStreamError as error:
        raise FormatError(
            f"{error}, after {lines:,} whole lines",
            path=shown,
            remedy="copy or make the file again",
        ) from error


def _unreadable(error: OSError, shown: str) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError("no such file", where=shown, remedy="check the path")
    if isinstance(error, IsADirectoryError):
        return InputError("is a folder, not a file", where=shown, remedy="name a file in it")
    return InputError(f"cannot read: {error.strerror or error}", where=shown)
