"""Runs whose queries are in several places, as pieces of whole queries, by way of the disk."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import polars as pl

from trectools_plus.formats import query_chunks
from trectools_plus.formats.content import iter_content
from trectools_plus.formats.query_chunks import Chunk, with_mark_kept

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
        size: About how many bytes a piece should have, ``None`` for ``query_chunks.CHUNK_BYTES``;
            larger runs than ``MAX_PARTS`` times that have larger pieces.
        start: How many bytes at the beginning to leave out: a byte order mark, or whole lines.

    Raises:
        InputError: If the file is missing, a folder, or may not be read.
        FormatError: If a compressed stream ends early, is damaged or expands beyond all measure.
    """
    size = query_chunks.CHUNK_BYTES if size is None else size
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
