"""Read a run file in chunks of complete queries, without loading the whole file into memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
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
    size = size or CHUNK_BYTES
    is_plain = is_plain_file(path)
    data, target, done = bytearray(), size, 0

    def chunk(end: int) -> Chunk:
        return partial(_chunk, None if is_plain else bytes(data[:end]), path, done, end)

    for content in iter_content(path):
        data += content
        while len(data) >= target:
            end = start_of_last_query(data[:target])
            if not end and target - 1 - data.rfind(b"\n", 0, target) > limits.MAX_LINE_BYTES:
                yield chunk(len(data))
                return
            target = size if end else 2 * target  # for a single query, read twice as much
            if end:
                yield chunk(end)
                del data[:end]
                done += end
    if data:
        yield chunk(len(data))


def _chunk(content: bytes | None, path: str | Path, begin: int, n_bytes: int) -> bytes:
    """Return a chunk, or read it from the file if the content is not given.

    A byte order mark at its start is doubled in the middle of a file, where it is part of the text:
    readers of the chunk remove one mark.
    """
    if content is None:
        with Path(path).open("rb", buffering=0) as file:
            file.seek(begin)
            content = file.read(n_bytes)
    if len(content) < n_bytes:
        raise FormatError("the file became shorter while it was read", path=str(path))
    return BOM + content if begin and content.startswith(BOM) else content


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
