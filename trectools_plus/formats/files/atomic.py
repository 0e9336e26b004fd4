"""Write a file completely, or not at all."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, Literal, overload

from trectools_plus.errors import InputError
from trectools_plus.formats.files.abandoned import find_abandoned, lock


@overload
def atomic_write(path: str | Path, mode: Literal["w"] = "w") -> AbstractContextManager[IO[str]]:
    """Open a text file for writing."""


@overload
def atomic_write(path: str | Path, mode: Literal["wb"]) -> AbstractContextManager[IO[bytes]]:
    """Open a binary file for writing."""


def atomic_write(
    path: str | Path, mode: Literal["w", "wb"] = "w"
) -> AbstractContextManager[IO[Any]]:
    """Open a file for writing that replaces the previous file only after all of it is on the disk.

    The content is written to a temporary file in the same folder, which is flushed to the disk and
    then renamed. If the ``with`` block raises, the disk is full or the
    process is killed, the previous file does not change. The temporary file of a killed process is
    removed when a file in the same folder is written again. A new file gets the default
    permissions; an existing file keeps its permissions. A symbolic link is followed. Devices and
    pipes are written directly, and ``-`` is standard output.

    Args:
        path: The file.
        mode: ``"w"`` for UTF-8 text with LF line ends, ``"wb"`` for bytes.

    Raises:
        InputError: If the folder does not exist, or the operating system refuses to write.
    """
    if str(path) == "-":
        return _standard_output(mode)
    try:
        target = Path(os.path.realpath(path))
        file_mode = target.stat().st_mode
    except FileNotFoundError:
        file_mode = stat.S_IFREG
    except (OSError, ValueError) as error:  # a name that is too long or contains NUL
        raise _write_error(error, str(path)) from error
    if stat.S_ISDIR(file_mode):
        raise InputError("is a folder, not a file", where=str(path), remedy="name a file to write")
    if not stat.S_ISREG(file_mode):
        return _directly(target, mode, str(path))
    return _through_temporary(target, mode, str(path))


@contextmanager
def _through_temporary(target: Path, mode: str, shown: str) -> Iterator[IO[Any]]:
    # Short, so that the name is not too long if the target's name is not, and ignored by globs.
    import secrets

    temporary = target.with_name(f".tmp-{secrets.token_hex(8)}")
    try:
        _remove_abandoned(target.parent)
        with _open_new(temporary, target, mode) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
    except OSError as error:
        raise _write_error(error, shown) from error
    finally:
        # After the rename, a file with this name does not exist.
        with suppress(OSError):
            temporary.unlink()


@cache
def _remove_abandoned(folder: Path) -> None:
    """Remove the temporary files of killed processes, once in each process."""
    for path in find_abandoned(folder, ".tmp-" + 16 * "[0-9a-f]"):
        if path.is_file():
            path.unlink()


def _open_new(temporary: Path, target: Path, mode: str) -> IO[Any]:
    """Create the temporary file with the default permissions or those of the existing file."""
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        lock(descriptor)
        with suppress(FileNotFoundError):
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        return _wrap(descriptor, mode)
    except BaseException:
        os.close(descriptor)
        raise


def _wrap(descriptor: int, mode: str) -> IO[Any]:
    if mode == "wb":
        return open(descriptor, "wb")
    return open(descriptor, "w", encoding="utf-8", newline="\n")


@contextmanager
def _directly(target: Path, mode: str, shown: str) -> Iterator[IO[Any]]:
    try:
        with _wrap(os.open(target, os.O_WRONLY), mode) as stream:
            yield stream
    except OSError as error:
        raise _write_error(error, shown) from error


@contextmanager
def _standard_output(mode: str) -> Iterator[IO[Any]]:
    sys.stdout.flush()
    stream: IO[Any] = sys.stdout if mode == "w" else sys.stdout.buffer
    yield stream
    stream.flush()


def _write_error(error: OSError | ValueError, shown: str) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError("cannot write: no such folder", where=shown, remedy="create it first")
    return InputError(
        f"cannot write: {getattr(error, 'strerror', None) or error}",
        where=shown,
        remedy="check free space and permissions; the previous file did not change",
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
