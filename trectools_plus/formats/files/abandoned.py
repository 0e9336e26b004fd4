"""Temporary files and folders, locked as long as their process lives, and removed after its death.

The operating system releases the lock of a killed process. Where it has no such locks, nothing is
removed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import time

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PREFIX = "trectools-plus-work-"
_SECONDS_TO_LOCK = 0.2
"""The time that a process needs at most from creating a file to locking it."""


def lock(descriptor: int) -> bool:
    """Lock an open file or folder until it is closed; return whether this process has the lock."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def make_locked_folder(path: Path) -> int | None:
    """Create a folder and lock it; return what to close in the end, ``None`` without locks.

    Raises:
        OSError: If it cannot be created.
    """
    path.mkdir(parents=True)
    return lock_folder(path)


def lock_folder(path: Path) -> int | None:
    """Lock a folder; return what to close in the end, ``None`` without locks."""
    if fcntl is None:
        return None
    descriptor = os.open(path, os.O_RDONLY)
    lock(descriptor)
    return descriptor


def find_abandoned(folder: Path, pattern: str) -> Iterator[Path]:
    """Yield temporary files and folders whose process ended, each while it is locked."""
    if fcntl is None:
        return
    for path in folder.glob(pattern):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            is_new = time() - os.fstat(descriptor).st_mtime < _SECONDS_TO_LOCK
            if not is_new and lock(descriptor):
                yield path
        finally:
            os.close(descriptor)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Create a temporary folder, and remove those of killed processes."""
    for path in find_abandoned(Path(tempfile.gettempdir()), f"{_PREFIX}*"):
        if path.is_dir() and path.stat().st_uid == os.getuid():
            shutil.rmtree(path, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name:
        descriptor = lock_folder(Path(name))
        try:
            yield Path(name)
        finally:
            if descriptor is not None:
                os.close(descriptor)
