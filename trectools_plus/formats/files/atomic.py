"""Write a file completely, or not at all; lock what one process writes.

The operating system releases the lock of a killed process. Where it has no such locks, abandoned
folders are not removed.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from time import time
from typing import IO, Any, Literal

from trectools_plus.errors import InputError


@contextmanager
def atomic_write(path: str | Path, mode: Literal["w", "wb"] = "w") -> Iterator[IO[Any]]:
    """Open a file for writing that replaces the previous file only after all of it is on the disk.

    The content is written to a temporary file ``.tmp-…`` in the same folder, which is flushed to
    the disk and then renamed. If the ``with`` block raises, the disk is full or the process is
    killed, the previous file does not change. A new file gets the default permissions; an existing
    file keeps its permissions. A symbolic link is followed. Devices and pipes are written directly,
    and ``-`` is standard output.

    Args:
        path: The file.
        mode: ``"w"`` for UTF-8 text with LF line ends, ``"wb"`` for bytes.

    Raises:
        InputError: If the folder does not exist, or the operating system refuses to write.
    """
    if str(path) == "-":
        sys.stdout.flush()
        output = sys.stdout if mode == "w" else sys.stdout.buffer
        yield output
        output.flush()
        return
    try:
        target = Path(os.path.realpath(path))
        is_file = target.is_file()
        opened: AbstractContextManager[IO[Any]]
        if is_file or not target.exists():
            opened = _through_temporary(target, mode, is_file=is_file)
        else:
            opened = _open(os.open(target, os.O_WRONLY), mode)
    except (OSError, ValueError) as error:  # for example a name that is too long or contains NUL
        raise _write_error(error, str(path)) from error
    try:
        with opened as stream:
            yield stream
    except OSError as error:
        raise _write_error(error, str(path)) from error


@contextmanager
def _through_temporary(target: Path, mode: str, *, is_file: bool) -> Iterator[IO[Any]]:
    import secrets

    # Short, so that the name is not too long if the target's name is not, and ignored by globs.
    temporary = target.with_name(f".tmp-{secrets.token_hex(8)}")
    try:
        with _open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), mode) as stream:
            if is_file:
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
    finally:
        with suppress(OSError):  # after the rename, a file with this name does not exist
            temporary.unlink()


def _open(descriptor: int, mode: str) -> IO[Any]:
    if mode == "wb":
        return open(descriptor, "wb")
    return open(descriptor, "w", encoding="utf-8", newline="\n")


def _write_error(error: OSError | ValueError, shown: str) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError("cannot write: no such folder", where=shown, remedy="create it first")
    return InputError(
        f"cannot write: {getattr(error, 'strerror', None) or error}",
        where=shown,
        remedy="name a file in a folder with free space and permissions; nothing was changed",
    )


def write_new(contents: Mapping[Path, bytes]) -> list[Path]:
    """Write files that do not exist; those that exist must already have this content.

    Args:
        contents: The content of each file. Missing folders are created.

    Returns:
        The files, written or unchanged.

    Raises:
        InputError: If a file exists with other content, or cannot be written; in the first case
            nothing is written.
    """
    for path in refuse_other_content(contents):
        make_folder(path.parent)
        with atomic_write(path, "wb") as file:
            file.write(contents[path])
    return list(contents)


def refuse_other_content(contents: Mapping[Path, bytes]) -> list[Path]:
    """Return the files that do not exist.

    Raises:
        InputError: If a file exists with other content.
    """
    for path, content in contents.items():
        if os.path.lexists(path) and not (path.is_file() and path.read_bytes() == content):
            raise InputError(
                "exists with other content",
                where=str(path),
                remedy="name another folder; nothing was written",
            )
    return [path for path in contents if not os.path.lexists(path)]


def make_folder(folder: Path) -> None:
    """Create an output folder and its parents, if necessary.

    Raises:
        InputError: If it cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder cannot be created: {error.strerror or error}",
            where=str(folder),
            remedy="choose another folder",
        ) from error


try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def make_locked_folder(path: Path) -> int | None:
    """Create a folder and lock it; return what to close in the end, ``None`` without locks.

    Raises:
        OSError: If it cannot be created.
    """
    path.mkdir(parents=True)
    if fcntl is None:
        return None
    descriptor = os.open(path, os.O_RDONLY)
    lock(descriptor)
    return descriptor


def lock(descriptor: int) -> bool:
    """Lock an open file or folder until it is closed; return false if another process has a lock.

    Windows has only mandatory locks, which would block readers, so nothing is locked there.
    """
    if fcntl is None:
        return True
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def find_abandoned(folder: Path, pattern: str) -> Iterator[Path]:
    """Yield folders whose process ended, each while it is locked."""
    if fcntl is None:
        return
    for path in folder.glob(pattern):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            # A process needs less time from creating a folder to locking it.
            if time() - os.fstat(descriptor).st_mtime > 0.2 and lock(descriptor):
                yield path
        finally:
            os.close(descriptor)


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
