"""Files behind an address such as ``s3://bucket/a.run``, read through fsspec."""

from __future__ import annotations

import re
from typing import IO

from trectools_plus.errors import InputError, MissingExtraError

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(?:([^/@\s]+)@)?")
_USER_IN_ADDRESS = ("http", "https", "ftp", "sftp", "ssh", "smb", "webdav", "webhdfs")
"""Protocols where what stands before ``@`` is a name and password."""


def is_address(path: object) -> bool:
    """Whether this is an address (``s3://…``, ``https://…``) and not a path; no disk is asked."""
    return _ADDRESS.match(str(path)) is not None


class RemoteFile:
    """An opened file behind an address; what goes wrong while it is read is an ``InputError``.

    Args:
        address: The file.

    Raises:
        InputError: If it cannot be opened, or its address holds a password.
        MissingExtraError: If fsspec is not installed.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        match = _ADDRESS.match(address)
        assert match is not None
        protocol, user = match[1].lower(), match[2]
        if user and protocol in _USER_IN_ADDRESS:
            raise InputError(
                "an address with a user or password in it is not read, for addresses go into "
                "reports",
                where=address.replace(f"{user}@", "***@", 1),
                remedy=f"put them where fsspec's {protocol} file system looks for them",
            )
        try:
            import fsspec
        except ImportError:
            raise MissingExtraError(f"reading {protocol}:// addresses", "distributed") from None
        try:
            self._file: IO[bytes] = fsspec.open(address, "rb").open()
        except ImportError as error:
            raise InputError(
                f"{protocol}:// addresses need another package",
                where=address,
                remedy=_one_line(error),
            ) from None
        except Exception as error:  # each file system has exceptions of its own
            raise self._translated(error) from error

    def read(self, n_bytes: int = -1) -> bytes:
        """Read so much, or what there is.

        Raises:
            InputError: If that fails.
        """
        try:
            return self._file.read(n_bytes)
        except Exception as error:
            raise self._translated(error) from error

    def __enter__(self) -> RemoteFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _translated(self, error: Exception) -> InputError:
        where, cause = self._address, error.__cause__
        if isinstance(cause, OSError) or getattr(cause, "status", 404) != 404:
            # fsspec calls it a missing file, too, when a server is away or refuses.
            return InputError(f"cannot read: {_one_line(cause)}", where=where)
        if isinstance(error, FileNotFoundError):
            return InputError("no such file", where=where, remedy="check the address")
        if isinstance(error, IsADirectoryError):
            return InputError("is a folder, not a file", where=where, remedy="name a file in it")
        if isinstance(error, ValueError) and "rotocol not known" in str(error):
            return InputError(
                "no such kind of address",
                where=where,
                remedy="use s3://, gs://, https:// or another that fsspec knows",
            )
        return InputError(f"cannot read: {_one_line(error)}", where=where)


def _one_line(error: BaseException | None) -> str:
    return " ".join(str(error).split()) or type(error).__name__
