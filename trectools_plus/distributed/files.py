"""Files that workers read themselves: the same place for processes in different folders."""

from __future__ import annotations

from pathlib import Path

from trectools_plus.errors import UsageError
from trectools_plus.formats.remote import is_address


def place_of(path: str) -> str | None:
    """A file's address or absolute path; ``None`` for what only this process can read.

    Standard input and pipes are such, and what does not exist.
    """
    if is_address(path):
        return path
    return str(Path(path).absolute()) if path != "-" and Path(path).is_file() else None


def check_seen(path: str, place: str) -> None:
    """Refuse to go on where a worker does not see a file that is there for the user.

    Args:
        path: The file as the user named it.
        place: From :func:`place_of`.

    Raises:
        UsageError: If it does not exist here.
    """
    if not is_address(place) and not Path(place).exists():
        raise UsageError(
            "the workers do not see this file",
            where=path,
            remedy="give them the same folders, or name it by an address such as s3://…",
        )
