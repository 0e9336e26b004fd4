"""Read a run file in chunks of complete queries, without loading the whole file into memory."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from trectools_plus.errors import FormatError
from trectools_plus.formats.files import limits
from trectools_plus.formats.files.content import BOM, iter_content
from trectools_plus.formats.files.opening import is_plain_file

CHUNK_BYTES = 2 << 20
"""The approximate size of a chunk: large enough for NumPy, small enough for CPU caches."""

Chunk = Callable[[], bytes]
"""A function that reads one chunk, in any thread or process; it can be called only once."""

_FIRST_FIELD = re.compile(rb"[ \t\v\f]*[^ \t\v\f\r\n]*")


def iter_query_chunks(path: str | Path, size: int | None = None) -> Iterator[Chunk]:
    """Split the content of a file into chunks that end at the end of a query.

    A query is a sequence of lines with the same first field. A chunk is longer than ``size`` only
    if it is a single query. If the lines of a query are not contiguous, several chunks can contain
    the query. A line of more than ``limits.MAX_LINE_BYTES`` ends the iteration: the last chunk ends
    within it.

    Args:
        path: The file, which may be compressed.
        size: The approximate size of a chunk in bytes; ``None`` for ``CHUNK_BYTES``.

    Raises:
        InputError: If the file does not exist, is a folder or is not readable.
        FormatError: If a compressed stream ends early, is damaged or expands too much; when a chunk
            is read, if the file has become shorter.
    """
    size = CHUNK_BYTES if size is None else size
    return _split_file(Path(path), size) if is_plain_file(path) else _split_stream(path, size)


def start_of_last_query(data: bytes | bytearray) -> int:
    """Return the position at which the query of the last complete line starts, or one before it.

    A line that begins with the first field counts as one of the query, so that any blank may follow
    the field: the lines of longer ids that begin like it may be included.
    """
    end = data.rfind(b"\n")  # an incomplete line may follow
    start = data.rfind(b"\n", 0, max(end, 0)) + 1
    first_field = _FIRST_FIELD.match(data, start)
    assert first_field is not None
    query = first_field.group()
    while start:
        before = data.rfind(b"\n", 0, start - 1) + 1
        if not data.startswith(query, before):
            break
        start = before
    return start


def _split_file(path: Path, size: int) -> Iterator[Chunk]:
    """Find the ends of the chunks, which can be read in parallel."""
    n_bytes = path.stat().st_size
    begin = 0
    while begin < n_bytes:
        end, is_overlong = _find_chunk_end(path, begin, size, n_bytes)
        yield functools.partial(_read_chunk, path, begin, end)
        begin = n_bytes if is_overlong else end


def _find_chunk_end(path: Path, begin: int, size: int, n_bytes: int) -> tuple[int, bool]:
    """Return the last position up to ``size`` bytes at which a query starts; else the next one.

    If the line before a position is longer than ``limits.MAX_LINE_BYTES``, return that position and
    true.
    """
    while begin + size < n_bytes:
        data = _read(path, begin, begin + size)
        if start := start_of_last_query(data):
            return begin + start, False
        if size - 1 - data.rfind(b"\n") > limits.MAX_LINE_BYTES:
            return begin + size, True
        size *= 2
    return n_bytes, False


def double_byte_order_mark(data: bytes) -> bytes:
    """Double a byte order mark at the start of a chunk from the middle of a file.

    There the mark is part of the text. Readers of the chunk remove one mark at its start.
    """
    return BOM + data if data.startswith(BOM) else data


def _read_chunk(path: Path, begin: int, end: int) -> bytes:
    data = _read(path, begin, end)
    return double_byte_order_mark(data) if begin else data


def _read(path: Path, begin: int, end: int) -> bytes:
    with path.open("rb", buffering=0) as file:
        file.seek(begin)
        data = file.read(end - begin)
    if len(data) < end - begin:
        raise FormatError("the file became shorter while it was read", path=str(path))
    return data


def _split_stream(path: str | Path, size: int) -> Iterator[Chunk]:
    """Cut chunks from a stream, which is read once and in order; a chunk is already in memory."""
    data, target = bytearray(), size
    finish: Callable[[bytes], bytes] = bytes
    for content in iter_content(path):
        data += content
        if len(data) < target:
            continue
        end = start_of_last_query(data)
        if not end and len(data) - 1 - data.rfind(b"\n") > limits.MAX_LINE_BYTES:
            break
        target = size if end else 2 * len(data)  # for a single query, read twice as much
        if end:
            yield functools.partial(finish, bytes(data[:end]))
            del data[:end]
            finish = double_byte_order_mark
    if data:
        yield functools.partial(finish, bytes(data))
