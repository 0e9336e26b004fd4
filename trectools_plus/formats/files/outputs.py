"""Outputs never replace inputs, and in folders only files that the same command wrote."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable
from pathlib import Path

from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.files.closed import find_inside


def refuse_overwriting(output: str | Path, inputs: Iterable[str | Path | None]) -> None:
    """Raise an error if the output is one of the inputs, under the same or another name.

    Raises:
        UsageError: If it is.
    """
    for path in inputs:
        if path is not None and str(path) != "-" and _is_same(path, output):
            raise UsageError(
                "would overwrite the input",
                where=str(output),
                remedy="name another file; the input is never changed",
            )


def _is_same(left: str | Path, right: str | Path) -> bool:
    """Return whether two paths are one file; devices and pipes can be read and written."""
    try:
        return Path(left).is_file() and Path(left).samefile(right)
    except (OSError, ValueError):  # one of them does not exist yet
        return False


def refuse_link_out(output: str | Path, folder: str | Path) -> None:
    """Raise an error if an output in a folder is a link to a place outside of it.

    Whoever made the folder decides where its links lead.

    Raises:
        InputError: If it is, or if it is not a regular file.
    """
    root = Path(folder).resolve()
    if any(parent.resolve() == root for parent in Path(output).absolute().parents):
        find_inside(Path(output), root)


def refuse_foreign(
    folder: str | Path, names: Iterable[str | Path], written: Collection[str] = ()
) -> None:
    """Raise an error if files of a folder would be replaced that the command did not write.

    Args:
        folder: The folder.
        names: The files that will be written, relative to the folder.
        written: Those that the command wrote earlier.

    Raises:
        InputError: If one of them exists and is not in ``written``, or is a link out of the folder.
    """
    for name in names:
        path = Path(folder, name)
        refuse_link_out(path, folder)
        if Path(name).as_posix() not in written and os.path.lexists(path):
            raise InputError(
                "exists, and was not written by this command",
                where=str(path),
                remedy="use another folder, or move the file",
            )


def refuse_foreign_beside(
    folder: str | Path, names: Collection[str], manifest: str, keys: Collection[str]
) -> None:
    """Do the same for files that are always written together with a manifest.

    Args:
        folder: The folder.
        names: The files that will be written; the manifest is one of them.
        manifest: The JSON file; if it is there, the command wrote the others too.
        keys: Keys of the manifest, by which it is known.

    Raises:
        InputError: If a file exists, and the manifest does not.
    """
    content = read_manifest(Path(folder, manifest))
    is_written = content is not None and content.keys() >= set(keys)
    refuse_foreign(folder, names, names if is_written else ())


def read_manifest(path: Path) -> dict[str, object] | None:
    """Return a JSON object; ``None`` if the file is missing or something else."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None
