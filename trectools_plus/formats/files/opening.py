"""Open files, addresses and standard input, and convert errors of the operating system."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, cast

from trectools_plus.errors import InputError
from trectools_plus.formats.files.binary import find_binary
from trectools_plus.formats.files.compression import MAGIC_LENGTH, Compression, detect
from trectools_plus.formats.files.limits import HEAD_BYTES
from trectools_plus.formats.files.remote import RemoteFile, is_address


def can_be_read_twice(path: str | Path) -> bool:
    """Return true for a regular file or an address, false for example for a pipe or a device."""
    return is_address(path) or Path(path).is_file()


def file_size(path: str | Path) -> int:
    """Return the size of a regular file on the disk in bytes; 0 for an address."""
    return 0 if is_address(path) else Path(path).stat().st_size


def check_readable(path: str | Path) -> None:
    """Open and close a file or an address.

    Raises:
        InputError: If it does not exist, is a folder or is not readable.
    """
    with opened(path):
        pass


def is_plain_file(path: str | Path) -> bool:
    """Return true for a regular, uncompressed text, from which any part can be read directly.

    Raises:
        InputError: If it does not exist, is a folder or is not readable.
    """
    if is_address(path):
        return False
    with opened(path) as stream:
        if regular_size(stream) is None:
            return False
        head = stream.read(HEAD_BYTES)
        return detect(head) is None and find_binary(head) is None


def compression_of(path: str | Path) -> Compression | None:
    """Return the compression of a file or an address, by its first bytes.

    Raises:
        InputError: If it does not exist, is a folder or is not readable.
    """
    with opened(path) as stream:
        return detect(stream.read(MAGIC_LENGTH))


@contextmanager
def opened(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file, an address, or standard input (``-``), which is not closed at the end.

    Raises:
        InputError: If it does not exist, is a folder or is not readable, or if reading fails later.
    """
    try:
        with _open(path) as stream:
            yield stream
    except OSError as error:
        raise unreadable(error, str(path)) from error
    except ValueError as error:  # a NUL in a path
        raise InputError(f"cannot read: {error}", where=str(path)) from error


def _open(path: str | Path) -> AbstractContextManager[IO[bytes]]:
    if str(path) == "-":
        return _standard_input()
    if is_address(path):
        return cast("IO[bytes]", RemoteFile(str(path)))  # only read() is used
    return _open_file(path)


def _standard_input() -> AbstractContextManager[IO[bytes]]:
    stream = getattr(sys.stdin, "buffer", None)  # None if the process started without it
    if stream is None:
        raise InputError("standard input is closed", where="-", remedy="name a file")
    return nullcontext(stream)  # stays open, because it belongs to the process


def _open_file(path: str | Path) -> IO[bytes]:
    # Unbuffered, because all reads are large.
    return Path(path).open("rb", buffering=0)


def regular_size(stream: IO[bytes]) -> int | None:
    """Return the size in bytes; ``None`` for a pipe, a device, an address or an empty file."""
    if isinstance(stream, RemoteFile) or stream is getattr(sys.stdin, "buffer", None):
        return None
    status = os.fstat(stream.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) and status.st_size else None


def unreadable(error: OSError, shown: str) -> InputError:
    """Return the error for a file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return InputError("no such file", where=shown, remedy="check the path")
    if isinstance(error, IsADirectoryError):
        return InputError("is a folder, not a file", where=shown, remedy="name a file in it")
    return InputError(f"cannot read: {error.strerror or error}", where=shown)
