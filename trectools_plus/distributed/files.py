"""Files that workers read: their paths, and checks that a worker reads the same file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trectools_plus.errors import CheckFailedError, FormatError, TrectoolsPlusError, UsageError
from trectools_plus.formats.files.opening import is_address

_REMEDY = "make it available to them at the same path, or use an address like s3://…"


@dataclass(frozen=True, slots=True)
class Place:
    """The location of a file for processes with other working directories.

    Attributes:
        path: Its address or absolute path.
        n_bytes: Its size on the user's machine in bytes; ``None`` for an address.
    """

    path: str
    n_bytes: int | None = None


def place_of(path: str) -> Place | None:
    """Return the location of a file for workers; ``None`` if only this process can read it.

    ``None`` is returned for standard input, pipes and files that do not exist.
    """
    if is_address(path):
        return Place(path)
    file = Path(path)
    if path == "-" or not file.is_file():
        return None
    return Place(str(file.absolute()), file.stat().st_size)


def check_seen(path: str, place: Place) -> None:
    """Check on a worker that a file is the same as on the user's machine.

    Args:
        path: The file as the user named it.
        place: Its location from :func:`place_of`.

    Raises:
        UsageError: If it does not exist on the worker, or has another size.
    """
    if place.n_bytes is None:
        return
    here = Path(place.path)
    if not here.exists():
        raise UsageError("the workers cannot find this file", where=path, remedy=_REMEDY)
    n_bytes = here.stat().st_size
    if n_bytes != place.n_bytes:
        raise UsageError(
            f"the workers have another file at this path, with {n_bytes:,} bytes instead of "
            f"{place.n_bytes:,}",
            where=path,
            remedy=_REMEDY,
        )


def check_read(path: str, place: Place, error: TrectoolsPlusError) -> None:
    """Raise an error if a worker has no access to an address.

    Otherwise every file at such addresses would fail on the worker and be read again on the user's
    machine.

    Args:
        path: The file as the user named it.
        place: Its location from :func:`place_of`.
        error: The error on the worker.

    Raises:
        UsageError: If ``place`` is an address, and the error is not about the file's content.
    """
    if place.n_bytes is None and not isinstance(error, CheckFailedError | FormatError):
        raise UsageError(
            f"a worker cannot read this file: {error.what}",
            where=path,
            remedy=error.remedy or "give the workers the credentials and settings of this machine",
        ) from error
