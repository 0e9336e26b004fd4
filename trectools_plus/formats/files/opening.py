"""Open files: paths, addresses such as ``s3://bucket/a.run`` through fsspec, and standard input."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, cast

from trectools_plus.errors import InputError, MissingExtraError
from trectools_plus.formats.files.binary import find_binary
from trectools_plus.formats.files.compression import MAGIC_LENGTH, Compression, detect
from trectools_plus.formats.files.limits import HEAD_BYTES
from trectools_plus.redaction import hide_queries, hide_secrets, secret_in_url

CATALOGUE_PREFIX = "irds:"
"""Begins the name of a dataset of ``ir_datasets``."""
SILENT_SECONDS = 60
"""Seconds without data after which reading from a web server fails."""

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}
"""The extra to install for a protocol; for all others it is ``distributed``."""


def is_address(path: object) -> bool:
    """Return true for an address (``s3://…``, ``https://…``), without accessing the disk."""
    return _ADDRESS.match(str(path)) is not None


def is_catalogue_name(name: object) -> bool:
    """Return true for ``irds:<id>``."""
    return str(name).startswith(CATALOGUE_PREFIX)


class RemoteFile:
    """An open file at an address; errors while it is read are raised as ``InputError``.

    Args:
        address: The address of the file.

    Raises:
        InputError: If it cannot be opened, or the address contains a password or a signature.
        MissingExtraError: If the package for such addresses is not installed.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        protocol = address.partition("://")[0].lower()
        if (secret := secret_in_url(address)) or "::" in address:
            raise InputError(
                f"the address contains {secret or 'another address (::)'}, but addresses are "
                "written to reports",
                where=hide_secrets(address),
                remedy="set them in the environment or configuration that fsspec reads for "
                f"{protocol}://, or download the file first",
            )
        try:
            import fsspec

            self._file: IO[bytes] = fsspec.open(address, "rb", **_options_of(protocol)).open()
        except ImportError as error:
            if protocol not in _EXTRAS and error.name not in ("fsspec", "aiohttp"):
                raise self._to_input_error(error) from error
            extra = _EXTRAS.get(protocol, "distributed")
            raise MissingExtraError(f"reading {protocol}:// addresses", extra) from None
        except Exception as error:  # each file system has its own exceptions
            raise self._to_input_error(error) from error

    def read(self, n_bytes: int = -1) -> bytes:
        """Read at most ``n_bytes``, or everything.

        Raises:
            InputError: If reading fails.
        """
        try:
            return self._file.read(n_bytes)
        except Exception as error:
            raise self._to_input_error(error) from error

    def __enter__(self) -> RemoteFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _to_input_error(self, error: Exception) -> InputError:
        # fsspec reports a missing file even if the server is down or denies access.
        cause = error.__cause__
        is_failure = isinstance(cause, OSError) or getattr(cause, "status", 404) != 404
        if isinstance(error, FileNotFoundError) and not is_failure:
            return InputError("no such file", where=self._address, remedy="check the address")
        what = hide_queries(" ".join(str((is_failure and cause) or error).split()))
        return InputError(
            f"cannot read: {what or type(error).__name__}",
            where=self._address,
            remedy="check the address and the credentials; s3://, gs://, https:// and other "
            "protocols of fsspec are read",
        )


def _options_of(protocol: str) -> dict[str, Any]:
    """Return the options of fsspec for a protocol."""
    if protocol not in ("http", "https"):
        return {}
    from aiohttp import ClientTimeout

    # Use one request for the whole file: some servers do not support ranges, and ranges could come
    # from different versions of the file.
    timeout = ClientTimeout(total=None, sock_connect=SILENT_SECONDS, sock_read=SILENT_SECONDS)
    return {"block_size": 0, "timeout": timeout}


def can_be_read_twice(path: str | Path) -> bool:
    """Return true for a regular file or an address, false for example for a pipe or a device."""
    return is_address(path) or Path(path).is_file()


def file_size(path: str | Path) -> int:
    """Return the size of a regular file on the disk in bytes; 0 for an address."""
    return 0 if is_address(path) else Path(path).stat().st_size


def is_plain_file(path: str | Path) -> bool:
    """Return true for a regular, uncompressed text, from which any part can be read directly.

    Raises:
        InputError: If it does not exist, is a folder or is not readable.
    """
    if is_address(path):
        return False
    with opened(path) as stream:
        if stream is getattr(sys.stdin, "buffer", None):
            return False
        status, head = os.fstat(stream.fileno()), b""
        if stat.S_ISREG(status.st_mode):
            head = stream.read(HEAD_BYTES)
        return head != b"" and detect(head) is None and find_binary(head) is None


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
    if is_address(path):
        return cast("IO[bytes]", RemoteFile(str(path)))  # only read() is used
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
