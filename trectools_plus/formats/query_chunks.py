"""A run file in chunks of whole queries, so that it is never in memory as a whole.

Runs whose queries are not contiguous are sorted on the disk first.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import polars as pl

from trectools_plus.errors import FormatError
from trectools_plus.formats.columns.lexer import BOM
from trectools_plus.formats.files.content import iter_content
from trectools_plus.formats.files.opening import is_plain_file

CHUNK_BYTES = 6 << 20
"""The approximate size of a chunk: large for vector operations, small enough for caches."""

Chunk = Callable[[], bytes]
"""A function that reads one chunk, in any thread or process; call it once."""

_WINDOW_BYTES = 1 << 16
_FIRST_FIELD = re.compile(rb"[^ \t\v\f\r\n]*[ \t\v\f]?")


def iter_query_chunks(path: str | Path, size: int | None = None) -> Iterator[Chunk]:
    """Cut the content of a file into chunks that end where a query ends.

    A query is a sequence of lines with the same first field. A chunk is longer than ``size`` only
    if it is a single query. A query that occurs again after another one is in several chunks.

    Args:
        path: The file, which may be compressed.
        size: The approximate size of a chunk in bytes; ``None`` for ``CHUNK_BYTES``.

    Raises:
        InputError: If the file does not exist, is a folder or is not readable.
        FormatError: If a compressed stream ends early, is damaged or expands too much; when a chunk
            is read, if the file has become shorter.
    """
    size = CHUNK_BYTES if size is None else size
    return _of_file(Path(path), size) if is_plain_file(path) else _of_stream(path, size)


def start_of_last_query(data: bytes) -> int:
    """Return the position where the query of the last whole line starts."""
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


def _of_file(path: Path, size: int) -> Iterator[Chunk]:
    """Read only the ends of the chunks, which can then be read in parallel."""
    n_bytes = path.stat().st_size
    begin = 0
    while begin < n_bytes:
        end = _cut(path, begin, begin + size, n_bytes)
        yield functools.partial(_read_piece, path, begin, end)
        begin = end


def _cut(path: Path, begin: int, end: int, n_bytes: int) -> int:
    """Return the last position up to ``end`` where a query starts, or a later one."""
    window = _WINDOW_BYTES
    while end < n_bytes:
        start = max(begin, end - window)
        data = _read(path, start, end)
        # The window may start within a query, so its first line is not a known start.
        known_from = 0 if start == begin else data.find(b"\n") + 1
        place = start_of_last_query(data)
        if place > known_from:
            return start + place
        if start > begin:
            window *= 2
        else:
            end = begin + 2 * (end - begin)
    return n_bytes


def double_byte_order_mark(data: bytes) -> bytes:
    """Double a byte order mark at the start of lines from the middle of a file.

    There it is part of the text, and readers remove one mark.
    """
    return BOM + data if data.startswith(BOM) else data


def _read_piece(path: Path, begin: int, end: int) -> bytes:
    data = _read(path, begin, end)
    return double_byte_order_mark(data) if begin else data


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
    finish: Callable[[bytes], bytes] = bytes
    for content in iter_content(path):
        parts.append(content)
        n_bytes += len(content)
        if n_bytes < wanted:
            continue
        data = b"".join(parts)
        end = start_of_last_query(data)
        if end:
            yield functools.partial(finish, data[:end])
            data, wanted, finish = data[end:], size, double_byte_order_mark
        else:  # a single query: try again with twice as much
            wanted = 2 * len(data)
        parts, n_bytes = [data], len(data)
    data = b"".join(parts)
    if data:
        yield functools.partial(finish, data)


MAX_PARTS = 500
"""The most files that are written at once; systems allow about a thousand."""


def regroup_queries(
    path: str | Path, folder: Path, size: int | None = None, *, start: int = 0
) -> Iterator[Chunk]:
    """Yield chunks of whole queries of a run whose queries are not contiguous.

    The lines are distributed to files by a hash of their query. Each file is a chunk and is sorted
    when it is read; the lines of a query stay in the order of the run.

    Args:
        path: The run, which may be compressed.
        folder: The folder for the files, which are as large as the decompressed run.
        size: The approximate size of a chunk in bytes, ``None`` for ``CHUNK_BYTES``; chunks are
            larger if the run has more than ``MAX_PARTS`` times that size.
        start: The number of bytes to skip at the start: a byte order mark, or whole lines.

    Raises:
        InputError: If the file does not exist, is a folder or is not readable.
        FormatError: If a compressed stream ends early, is damaged or expands too much.
    """
    size = CHUNK_BYTES if size is None else size
    n_bytes = sum(len(content) for content in iter_content(path))
    n_parts = min(MAX_PARTS, n_bytes // size + 1)
    parts = [folder / f"{number:03}" for number in range(n_parts)]
    with ExitStack() as stack:
        files = [stack.enter_context(part.open("wb")) for part in parts]
        for lines in _whole_lines(path, start):
            frame = _by_query(lines).with_columns(part=pl.col("query").hash() % n_parts)
            for (number,), rows in frame.group_by("part"):
                files[int(str(number))].write(_joined(rows["line"]))
    for part in parts:
        if part.stat().st_size:
            yield functools.partial(_in_order, part)


def _whole_lines(path: str | Path, start: int) -> Iterator[bytes]:
    rest = b""
    for every in iter_content(path):
        content, start = every[start:], max(0, start - len(every))
        head, end, tail = content.rpartition(b"\n")
        if end:
            yield rest + head
            rest = tail
        else:
            rest += content
    if rest:
        # Lines get an LF below, which would turn a CR at the end of the file into a line end.
        yield rest + b"\r" if rest.endswith(b"\r") else rest


def _by_query(lines: bytes) -> pl.DataFrame:
    """Return ``line, query``: each line, with bytes as characters, and its first field."""
    text = pl.Series("line", [lines.decode("latin-1")]).str.split("\n").explode()
    query = text.str.extract(r"^[ \t\x0b\x0c]*([^ \t\x0b\x0c\r]*)", 1).fill_null("")
    return pl.DataFrame({"line": text, "query": query})


def _joined(lines: pl.Series) -> bytes:
    text: str = lines.str.join("\n").item()
    return f"{text}\n".encode("latin-1")


def _in_order(part: Path) -> bytes:
    frame = _by_query(part.read_bytes().removesuffix(b"\n"))
    order = np.argsort(frame["query"].rank("dense").to_numpy(), kind="stable")
    return double_byte_order_mark(_joined(frame["line"].gather(order)))
