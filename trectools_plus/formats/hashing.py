"""SHA-256 hashes of files, texts and tables for reports and caches; short digests of ids."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trectools_plus.formats.files.opening import opened

if TYPE_CHECKING:
    import polars as pl

ROWS_PER_STEP = 8_192
"""The number of rows of a table that are processed at a time."""


def sha256_file(path: str | Path) -> str:
    """Return the SHA-256 of the bytes of a file, in lower-case hexadecimal.

    A compressed file is not decompressed first.

    Raises:
        InputError: If the file cannot be read.
    """
    with opened(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]


def sha256_text(text: str) -> str:
    """Return the SHA-256 of a text's UTF-8 bytes, in lower-case hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def sha256_columns(frame: pl.DataFrame, names: list[str]) -> str:
    """Return the SHA-256 of string columns in the order of their rows, in bounded memory.

    It includes the lengths, so ``("ab", "c")`` and ``("a", "bc")`` differ.
    """
    digest = hashlib.sha256()
    for part in frame.iter_slices(ROWS_PER_STEP):
        for column in part.select(names).iter_columns():
            digest.update(column.str.len_bytes().to_numpy().astype("<u8").tobytes())
            digest.update("".join(column.to_list()).encode())
    return digest.hexdigest()


def sha256_rows(rows: Iterable[Sequence[str]]) -> str:
    """Return a hash of documents or other rows of texts that does not depend on their order.

    It is the SHA-256 of two numbers: the count of rows, and the sum of their SHA-256 modulo 2**256
    (an additive multiset hash: Bellare and Micciancio, EUROCRYPT 1997). A row is hashed with its
    lengths, so ``("ab", "c")`` and ``("a", "bc")`` differ. The hash identifies corpora, but does
    not protect against deliberate collisions.
    """
    count = total = 0
    for row in rows:
        parts = [text.encode() for text in row]
        data = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
        total += int.from_bytes(hashlib.sha256(data).digest(), "little")
        count += 1
    state = count.to_bytes(8, "little") + (total % (1 << 256)).to_bytes(32, "little")
    return hashlib.sha256(state).hexdigest()


def digest_id(text: str) -> int:
    """Return eight bytes of BLAKE2b as a number; two ids very rarely have the same."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
