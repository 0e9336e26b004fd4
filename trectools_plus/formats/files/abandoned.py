"""Folders that are locked as long as their process lives, so that others can remove them later.

The operating system releases the lock of a killed process. Where it has no such locks, nothing is
removed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import time

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
            is_old = time() - os.fstat(descriptor).st_mtime > 0.2
            if is_old and lock(descriptor):
                yield path
        finally:
            os.close(descriptor)
