"""Open files and standard input; recognise compressed and binary files by their first bytes."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, cast

from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.files.limits import HEAD_BYTES
from trectools_plus.text import hide_secrets

CATALOGUE_PREFIX = "irds:"
"""Begins the name of a dataset of ``ir_datasets``."""


def is_address(path: object) -> bool:
    """Return true for an address (``s3://…``, ``https://…``), which is not read."""
    return re.match("[A-Za-z][A-Za-z0-9+.-]+://", str(path)) is not None


def is_catalogue_name(name: object) -> bool:
    """Return true for ``irds:<id>``."""
    return str(name).startswith(CATALOGUE_PREFIX)


def is_plain_file(path: str | Path) -> bool:
    """Return true for a regular, uncompressed text, from which any part can be read directly.

    Raises:
        InputError: If it does not exist, is a folder or is not readable.
    """
    with opened(path) as stream:
        if stream is getattr(sys.stdin, "buffer", None):
            return False
        status, head = os.fstat(stream.fileno()), b""
        if stat.S_ISREG(status.st_mode):
            head = stream.read(HEAD_BYTES)
        return head != b"" and detect(head) is None and find_binary(head) is None


def compression_of(path: str | Path) -> Compression | None:
    """Return the compression of a file, by its first bytes.

    Raises:
        InputError: If it does not exist, is a folder or is not readable.
    """
    with opened(path) as stream:
        return detect(stream.read(HEAD_BYTES))


@contextmanager
def opened(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file, or standard input (``-``), which is not closed at the end.

    Raises:
        InputError: If it does not exist, is a folder or is not readable, or if reading fails later.
    """
    if is_address(path):
        raise InputError(
            "addresses are not read",
            where=hide_secrets(str(path)),
            remedy="download the file, or pipe it: curl ADDRESS | trectools-plus eval qrels.txt -",
        )
    # It is None if the process started without it.
    standard_input: Any = getattr(sys.stdin, "buffer", None)
    if str(path) == "-" and standard_input is None:
        raise InputError("standard input is closed", where="-", remedy="name a file")
    try:
        if str(path) == "-":
            yield standard_input
        else:
            with Path(path).open("rb", buffering=0) as stream:  # all reads are large
                yield stream
    except OSError as error:
        raise unreadable(error, str(path)) from error
    except ValueError as error:  # a NUL in a path
        raise InputError(f"cannot read: {error}", where=str(path)) from error


def unreadable(error: OSError, shown: str) -> InputError:
    """Return the error for a file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return InputError("no such file", where=shown, remedy="check the path")
    if isinstance(error, IsADirectoryError):
        return InputError("is a folder, not a file", where=shown, remedy="name a file in it")
    return InputError(f"cannot read: {error.strerror or error}", where=shown)


PARQUET = "a Parquet file"
_IN_ZIP = {
    b"xl/": "an Excel workbook (xlsx)",
    b"word/": "a Word document (docx)",
    b"opendocument.spreadsheet": "an OpenDocument spreadsheet (ods)",
    b".npy": "a NumPy archive (npz)",
    b"": "a zip archive",
}
"""Kinds of zip archives, by the name of a file in them."""
_STARTS = {
    b"PAR1": PARQUET,
    # of a file that is compressed again
    b"\x1f\x8b": "a gzip file",
    b"\xfd7zXZ\x00": "an xz file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"\x04\x22\x4d\x18": "an lz4 file",
    b"\x02\x21\x4c\x18": "an lz4 file",
    b"\x1f\x9d": "a compress (.Z) file",
    b"\xff\x06\x00\x00sNaPpY": "a Snappy file",
    b"LZIP\x01": "an lzip file",
    b"\x5d\x00\x00\x80\x00": "an lzma file",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Excel or Word file",
    b"SQLite format 3\x00": "an SQLite database",
    b"ARROW1\x00\x00": "an Arrow (Feather) file",
    b"FEA1\x00": "a Feather file",
    b"Obj\x01": "an Avro file",
    b"ORC\x08": "an ORC file",
    b"ORC\x0a": "an ORC file",
    b"\x89HDF\r\n\x1a\n": "an HDF5 file",
    b"\x93NUMPY": "a NumPy array",
    **dict.fromkeys((b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"), "a Python pickle"),
    b"\x89PNG\r\n\x1a\n": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"%PDF-": "a PDF document",
    b"\x7fELF": "a program",
}


class BinaryFileError(FormatError):
    """A file is not text."""

    def __init__(self, name: str, path: str) -> None:
        super().__init__(
            f"this is {name}, not text",
            path=path,
            remedy="unpack or decompress it, or export the rows as CSV or as TREC columns",
        )


def find_binary(head: bytes) -> str | None:
    """Return the format of a file that is not text; ``None`` for text and unknown bytes.

    Args:
        head: The first ``HEAD_BYTES``, decompressed.
    """
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")):
        return next(name for mark, name in _IN_ZIP.items() if mark in head[:HEAD_BYTES])
    if head[257:262] == b"ustar":
        return "a tar archive"
    return next((name for start, name in _STARTS.items() if head.startswith(start)), None)


Compression = Literal["gzip", "bz2", "xz", "zstd"]

SUFFIXES: dict[str, Compression] = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd"}

# A text can start with "BZh1": the mark of a first block or of an empty stream follows.
_MARK = re.compile(
    rb"(?P<gzip>\x1f\x8b)|(?P<bz2>BZh[1-9](?:1AY&SY|\x17rE8P\x90))|(?P<xz>\xfd7zXZ\x00)"
    # a frame, or a skippable one before it
    rb"|(?P<zstd>\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18)"
)


def detect(first_bytes: bytes) -> Compression | None:
    """Return the compression of a stream by its first ten bytes; ``None`` if plain."""
    mark = _MARK.match(first_bytes)
    return cast("Compression | None", mark and mark.lastgroup)


def open_compressed(
    stream: Any, compression: Compression, mode: Literal["rb", "wb"] = "rb"
) -> IO[bytes]:
    """Return the content of a compressed stream, or a stream that compresses what is written.

    The content has any number of members or frames. Reading raises various errors if it ends early
    or is damaged. The same content gives the same bytes, because time and file name are not stored.
    Closing the result does not close ``stream``.

    Args:
        stream: An object with ``read`` or ``write``.
        compression: Its compression.
        mode: Whether to read or to write.
    """
    content: Any
    if compression == "gzip":
        content = gzip.GzipFile("", mode, 6, stream, mtime=0)
    elif compression != "zstd":
        content = (bz2.BZ2File if compression == "bz2" else lzma.LZMAFile)(stream, mode)
    else:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
        content = zstd.ZstdFile(stream, mode)
    return cast("IO[bytes]", content)
