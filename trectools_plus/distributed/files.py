"""Files that workers read: paths that are valid for processes in different folders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trectools_plus.errors import CheckFailedError, FormatError, TrectoolsPlusError, UsageError
from trectools_plus.formats.files.remote import is_address

_REMEDY = "give them the same folders, or use an address such as s3://…"


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a file for workers.

    Attributes:
        path: Its address or absolute path.
        n_bytes: Its size on the user's machine in bytes; ``None`` for an address.
    """

    path: str
    n_bytes: int | None = None


def place_of(path: str) -> Place | None:
    """Return the place of a file for workers; ``None`` if only this process can read it.

    Those are standard input, pipes and files that do not exist.
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
        place: Its place from :func:`place_of`.

    Raises:
        UsageError: If it does not exist on the worker, or has another size.
    """
    if place.n_bytes is None:
        return
    here = Path(place.path)
    if not here.exists():
        raise UsageError("the workers do not see this file", where=path, remedy=_REMEDY)
    n_bytes = here.stat().st_size
    if n_bytes != place.n_bytes:
        raise UsageError(
            f"the workers see another file of this name, with {n_bytes:,} bytes instead of "
            f"{place.n_bytes:,}",
            where=path,
            remedy=_REMEDY,
        )


def check_read(path: str, place: Place, error: TrectoolsPlusError) -> None:
    """Refuse to continue if a worker cannot read an address at all.

    Otherwise each of its files would fail on the worker and be read on the user's machine again.

    Args:
        path: The file as the user named it.
        place: Its place from :func:`place_of`.
        error: The error on the worker.

    Raises:
        UsageError: If this is an address, and the error is not about its content.
    """
    if place.n_bytes is None and not isinstance(error, CheckFailedError | FormatError):
        raise UsageError(
            f"a worker cannot read this file: {error.what}",
            where=path,
            remedy=error.remedy or "give the workers the keys and settings of this machine",
        ) from error
