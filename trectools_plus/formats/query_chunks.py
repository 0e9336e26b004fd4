"""A run file in pieces of whole queries, so that it never stands in memory as a whole."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from trectools_plus.errors import FormatError
from trectools_plus.formats.content import iter_content
from trectools_plus.formats.lexer import BOM
from trectools_plus.formats.opening import is_plain_file

CHUNK_BYTES = 6 << 20
"""About how large a piece is: large enough for vector operations, small enough for caches."""

Chunk = Callable[[], bytes]
"""A piece that has yet to be read, by whoever has a hand free; called once."""

_WINDOW_BYTES = 1 << 16
_FIRST_FIELD = re.compile(rb"[^ \t\v\f\r\n]*[ \t\v\f]?")


def iter_query_chunks(path: str | Path, size: int | None = None) -> Iterator[Chunk]:
    """Cut a file's content into pieces that end where a query ends.

    A query is known by the first field of its neighbouring lines. A piece is longer than ``size``
    only where a single query is; a query that returns after another one is in several pieces.

    Args:
        path: The file, compressed or not.
        size: How many bytes a piece should have; ``None`` for ``CHUNK_BYTES``.

    Raises:
        InputError: If the file is missing, a folder, or may not be read.
        FormatError: If a compressed stream ends early, is damaged or expands beyond all measure;
            by a piece: if the file has become shorter meanwhile.
    """
    size = CHUNK_BYTES if size is None else size
    return _of_file(Path(path), size) if is_plain_file(path) else _of_stream(path, size)


def start_of_last_query(data: bytes) -> int:
    """Find where the query of the last whole line begins; 0 if there is no other before it."""
    end = data.rfind(b"\n")  # what follows is a line cut short
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


def _of_file(path: Path, size: int) -> Iterator[Chunk]:
    """Look only at where pieces end; they are read later, several at a time."""
    n_bytes = path.stat().st_size
    begin = 0
    while begin < n_bytes:
        end = _cut(path, begin, begin + size, n_bytes)
        yield functools.partial(_read_piece, path, begin, end)
        begin = end


def _cut(path: Path, begin: int, end: int, n_bytes: int) -> int:
    """The last place before ``end`` where a query begins, or one behind it if there is none."""
    window = _WINDOW_BYTES
    while end < n_bytes:
        start = max(begin, end - window)
        data = _read(path, start, end)
        # From the middle of a line, the first whole line may not be its query's first.
        known_from = 0 if start == begin else data.find(b"\n") + 1
        place = start_of_last_query(data)
        if place > known_from:
            return start + place
        if start > begin:
            window *= 2
        else:
            end = begin + 2 * (end - begin)
    return n_bytes


def with_mark_kept(data: bytes) -> bytes:
    """Lines from the middle of a file, so that readers take no byte order mark off them.

    Only at the start of a file such a mark is none of the text. Readers take off one: so two.
    """
    return BOM + data if data.startswith(BOM) else data


def _read_piece(path: Path, begin: int, end: int) -> bytes:
    data = _read(path, begin, end)
    return with_mark_kept(data) if begin else data


def _read(path: Path, begin: int, end: int) -> bytes:
    with path.open("rb", buffering=0) as file:
        file.seek(begin)
        data = file.read(end - begin)
    if len(data) < end - begin:
        raise FormatError("became shorter while it was read", path=str(path))
    return data


def _of_stream(path: str | Path, size: int) -> Iterator[Chunk]:
    parts: list[bytes] = []
    n_bytes, wanted = 0, size
    kept: Callable[[bytes], bytes] = bytes
    for content in iter_content(path):
        parts.append(content)
        n_bytes += len(content)
        if n_bytes < wanted:
            continue
        data = b"".join(parts)
        end = start_of_last_query(data)
        if end:
            yield functools.partial(kept, data[:end])
            data, wanted, kept = data[end:], size, with_mark_kept
        else:  # one query only: look again when there is twice as much
            wanted = 2 * len(data)
        parts, n_bytes = [data], len(data)
    data = b"".join(parts)
    if data:
        yield functools.partial(kept, data)
