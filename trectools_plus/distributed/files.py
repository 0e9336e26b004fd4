"""Files that workers read themselves: the same place for processes in different folders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trectools_plus.errors import CheckFailedError, FormatError, TrectoolsPlusError, UsageError
from trectools_plus.formats.files.remote import is_address

_REMEDY = "give them the same folders, or name it by an address such as s3://…"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a worker finds a file.

    Attributes:
        path: Its address or absolute path.
        n_bytes: How large it is for the user; ``None`` behind an address.
    """

    path: str
    n_bytes: int | None = None


def place_of(path: str) -> Place | None:
    """Where workers find a file; ``None`` for what only this process can read.

    Standard input and pipes are such, and what does not exist.
    """
    if is_address(path):
        return Place(path)
    file = Path(path)
    if path == "-" or not file.is_file():
        return None
    return Place(str(file.absolute()), file.stat().st_size)


def check_seen(path: str, place: Place) -> None:
    """Refuse to go on where a worker does not see a file as the user does.

    Args:
        path: The file as the user named it.
        place: From :func:`place_of`.

    Raises:
        UsageError: If it does not exist here, or is of another size.
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
    """Refuse to go on where a worker cannot get at an address at all.

    Each of its files would be waited for in vain, and then read by the user's machine.

    Args:
        path: The file as the user named it.
        place: From :func:`place_of`.
        error: Why it was not read there.

    Raises:
        UsageError: If this is an address, and nothing is wrong with its content.
    """
    if place.n_bytes is None and not isinstance(error, CheckFailedError | FormatError):
        raise UsageError(
            f"a worker cannot read this file: {error.what}",
            where=path,
            remedy=error.remedy or "give the workers the keys and settings of this machine",
        ) from error
