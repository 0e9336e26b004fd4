"""Open files: paths and standard input."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO

from trectools_plus.errors import InputError
from trectools_plus.formats.files.binary import find_binary
from trectools_plus.formats.files.compression import Compression, detect
from trectools_plus.formats.files.limits import HEAD_BYTES
from trectools_plus.redaction import hide_secrets

CATALOGUE_PREFIX = "irds:"
"""Begins the name of a dataset of ``ir_datasets``."""

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


def is_address(path: object) -> bool:
    """Return true for an address (``s3://…``, ``https://…``), which is not read."""
    return _ADDRESS.match(str(path)) is not None


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
    try:
        with _open(path) as stream:
            yield stream
    except OSError as error:
        raise unreadable(error, str(path)) from error
    except ValueError as error:  # a NUL in a path
        raise InputError(f"cannot read: {error}", where=str(path)) from error


def _open(path: str | Path) -> AbstractContextManager[IO[bytes]]:
    if str(path) != "-":
        return Path(path).open("rb", buffering=0)  # all reads are large
    stream = getattr(sys.stdin, "buffer", None)  # None if the process started without it
    if stream is None:
        raise InputError("standard input is closed", where="-", remedy="name a file")
    return nullcontext(stream)  # stays open, because it belongs to the process


def unreadable(error: OSError, shown: str) -> InputError:
    """Return the error for a file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return InputError("no such file", where=shown, remedy="check the path")
    if isinstance(error, IsADirectoryError):
        return InputError("is a folder, not a file", where=shown, remedy="name a file in it")
    return InputError(f"cannot read: {error.strerror or error}", where=shown)
