"""A run file in pieces of whole queries, so that it never stands in memory as a whole."""

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


MAX_PARTS = 500
"""How many files are written at once; systems allow a thousand or so."""


def regroup_queries(
    path: str | Path, folder: Path, size: int | None = None, *, start: int = 0
) -> Iterator[Chunk]:
    """Bring the lines of each query together.

    The lines are dealt out to files by a hash of their query, and each file is put in order when
    its turn comes; a query's lines stay in the order of the run.

    Args:
        path: The run, compressed or not.
        folder: Where the files go; they take as much room as the run does unpacked.
        size: About how many bytes a piece should have, ``None`` for ``CHUNK_BYTES``;
            larger runs than ``MAX_PARTS`` times that have larger pieces.
        start: How many bytes at the beginning to leave out: a byte order mark, or whole lines.

    Raises:
        InputError: If the file is missing, a folder, or may not be read.
        FormatError: If a compressed stream ends early, is damaged or expands beyond all measure.
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
        # Lines get an LF below, which would make a CR at the end of the file a line's end.
        yield rest + b"\r" if rest.endswith(b"\r") else rest


def _by_query(lines: bytes) -> pl.DataFrame:
    """``line, query``: each line, as bytes in a text, and its first field."""
    text = pl.Series("line", [lines.decode("latin-1")]).str.split("\n").explode()
    query = text.str.extract(r"^[ \t\x0b\x0c]*([^ \t\x0b\x0c\r]*)", 1).fill_null("")
    return pl.DataFrame({"line": text, "query": query})


def _joined(lines: pl.Series) -> bytes:
    text: str = lines.str.join("\n").item()
    return f"{text}\n".encode("latin-1")


def _in_order(part: Path) -> bytes:
    frame = _by_query(part.read_bytes().removesuffix(b"\n"))
    order = np.argsort(frame["query"].rank("dense").to_numpy(), kind="stable")
    return with_mark_kept(_joined(frame["line"].gather(order)))
