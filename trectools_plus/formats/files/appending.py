"""A file that only one process at a time appends to, and that loses nothing when it is killed."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from trectools_plus.errors import InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class AppendedFile:
    """A file that is locked until it is closed or this process ends; created if it is missing.

    Each addition is flushed to the disk before :meth:`append` returns, so a killed process leaves
    at most one incomplete line at the end.

    Args:
        path: The file.
        noun: The kind of file, for messages.
        user: The work that uses the file, for messages.

    Attributes:
        size: The number of bytes up to which the file was read or written; see :meth:`truncate`.

    Raises:
        InputError: If it cannot be opened, or another process has locked it.
    """

    def __init__(self, path: Path, noun: str, user: str) -> None:
        self.path = path
        self.size = 0
        self._noun = noun
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise self._write_error(error) from error
        if not _lock(self._descriptor):
            self.close()
            raise InputError(
                f"another {user} uses this {noun}",
                where=str(path),
                remedy=f"wait until that {user} ends, or stop it",
            )

    def truncate(self, size: int) -> None:
        """Remove everything after the first ``size`` bytes.

        Raises:
            InputError: If the file cannot be written.
        """
        try:
            os.ftruncate(self._descriptor, size)
        except OSError as error:
            raise self._write_error(error) from error
        self.size = size

    def append(self, content: bytes) -> None:
        """Append some lines and flush them to the disk.

        Raises:
            InputError: If the file cannot be written.
        """
        try:
            rest = content
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            os.fsync(self._descriptor)
        except OSError as error:
            raise self._write_error(error) from error
        self.size += len(content)

    def close(self) -> None:
        """Close the file and release its lock."""
        os.close(self._descriptor)

    def _write_error(self, error: OSError) -> InputError:
        return InputError(
            f"the {self._noun} cannot be written: {error.strerror or error}",
            where=str(self.path),
            remedy="check free space and permissions",
        )


def _lock(descriptor: int) -> bool:
    """Lock an open file until it is closed; return false if another process has a lock.

    Windows has only mandatory locks, which would block readers, so nothing is locked there.
    """
    if fcntl is None:
        return True
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False
