"""A file that only one process at a time appends to, and that loses nothing when it is killed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trectools_plus.errors import InputError
from trectools_plus.formats.files.abandoned import lock


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
        with self._writing():
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        if not lock(self._descriptor):
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
        with self._writing():
            os.ftruncate(self._descriptor, size)
        self.size = size

    def append(self, content: bytes) -> None:
        """Append some lines and flush them to the disk.

        Raises:
            InputError: If the file cannot be written.
        """
        with self._writing():
            rest = content
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            os.fsync(self._descriptor)
        self.size += len(content)

    def close(self) -> None:
        """Close the file and release its lock."""
        os.close(self._descriptor)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(
                f"the {self._noun} cannot be written: {error.strerror or error}",
                where=str(self.path),
                remedy="check free space and permissions",
            ) from error
