"""Reading from folders that strangers made, and outputs that replace nothing of the user.

A file of a stranger is named by words, is a regular file inside the folder after links are
resolved, and is not larger than a limit. So it is no device, no pipe, no file of the reader, and no
compressed text that needs more memory than disk. Outputs never replace inputs, and in folders only
files that the same command wrote.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trectools_plus.errors import InputError, TrectoolsPlusError, UsageError
from trectools_plus.formats.files.content import iter_lines
from trectools_plus.formats.files.opening import is_catalogue_name, unreadable
from trectools_plus.formats.hashing import sha256_file

if TYPE_CHECKING:
    import polars as pl

PLAIN_NAME = re.compile(r"\w[\w .+-]{0,249}")
"""Names of runs, modes and of the parts of a file's path; they contain no separators."""
MAX_BYTES = 2**32
MAX_DOCUMENT_BYTES = 2**28
MAX_ROWS = 20_000_000


@dataclass(frozen=True, slots=True)
class ClosedFolder:
    """A folder of which only plain files are read.

    Attributes:
        path: The folder.
    """

    path: Path

    def find(self, name: str, limit: int = MAX_BYTES) -> Path | None:
        """Return a file; ``None`` if there is none.

        Args:
            name: Relative to the folder, with forward slashes.
            limit: The largest size in bytes.

        Raises:
            InputError: If the name is not plain, or the file is outside of the folder, not regular
                or too large.
        """
        parts = name.split("/")
        if not all(PLAIN_NAME.fullmatch(part) for part in parts):
            raise InputError(
                f"{name[:200]!r} is not a name of a file in this folder",
                where=str(self.path),
                remedy="use the folder as the command wrote it",
            )
        return find_inside(self.path.joinpath(*parts), self.path, limit)

    def file(self, name: str) -> Path:
        """Return a file; see :meth:`find`.

        Raises:
            InputError: Also if there is none.
        """
        path = self.find(name)
        if path is None:
            raise InputError(
                "a file of the report is missing",
                where=str(self.path / name),
                remedy="keep the files of a benchmark together",
            )
        return path

    def read_table(self, name: str) -> pl.DataFrame | None:
        """Return a Parquet table; ``None`` if there is none.

        Raises:
            InputError: If it cannot be read or has too many rows; see :meth:`find`.
        """
        import polars as pl

        path = self.find(name)
        if path is None:
            return None
        try:
            rows = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
            if rows > MAX_ROWS:
                raise InputError(f"the table has more than {MAX_ROWS:,} rows", where=str(path))
            return pl.read_parquet(path, glob=False)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError("cannot be read as Parquet", where=str(path)) from error


def find_inside(path: Path, folder: Path, limit: int = MAX_BYTES) -> Path | None:
    """Return a regular file of limited size inside a folder; ``None`` if there is none.

    Raises:
        InputError: If it is outside of the folder, not regular or too large.
    """
    try:
        resolved, root = path.resolve(), folder.resolve()
        if not resolved.is_relative_to(root):
            raise InputError("the file is a link to a place outside of the folder", where=str(path))
        if not resolved.exists():
            return None
        status = resolved.stat()
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError("cannot be read: its links lead nowhere", where=str(path)) from error
    if not stat.S_ISREG(status.st_mode):
        raise InputError("expected a regular file", where=str(path))
    if status.st_size > limit:
        raise InputError(f"the file has more than {limit:,} bytes", where=str(path))
    return path


def read_document(path: str | Path) -> str:
    """Return the text of a JSON document beside which other files lie.

    Raises:
        InputError: If it cannot be read, is a link out of its folder, or is not a regular file of
            limited size.
    """
    file = find_inside(Path(path), Path(path).parent, MAX_DOCUMENT_BYTES)
    if file is None:
        raise InputError("no such file", where=str(path), remedy="check the path")
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise unreadable(error, str(path)) from error
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8 text", where=str(path)) from error


def read_json(path: str | Path) -> Any:
    """Return the value of a JSON document; see :func:`read_document`.

    Raises:
        InputError: Also if it is not JSON, or nested too deeply.
    """
    text = read_document(path)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError("cannot be read as JSON", where=str(path)) from error


def hash_original(path: str, limit: int = MAX_BYTES) -> str | None:
    """Return the SHA-256 of a file that a stranger names.

    Args:
        path: The file.
        limit: The largest size in bytes.

    Returns:
        The hash; ``None`` for standard input, a dataset of the catalogue, a file of the system,
        and a path without a regular file of limited size.
    """
    if path == "-" or is_catalogue_name(path):
        return None
    try:
        resolved = Path(path).resolve()
        status = resolved.stat()
        is_system = any(resolved.is_relative_to(folder) for folder in ("/dev", "/proc", "/sys"))
        is_regular = stat.S_ISREG(status.st_mode) and status.st_size <= limit
        return sha256_file(resolved) if is_regular and not is_system else None
    except (OSError, RuntimeError, ValueError, InputError):
        return None


def is_unchanged(path: str, hashes: Collection[str]) -> bool:
    """Return whether a file that a stranger names has the content that the stranger knows.

    Only then may it be read: it then shows the stranger's content and nothing else.

    Args:
        path: The file.
        hashes: SHA-256 of the files that the stranger knows.
    """
    return hash_original(path) in hashes


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


def refuse_lost_data(output: str | Path) -> None:
    """Raise an error if a result would replace a run, qrels, topics or a test set.

    The name of the file of a result is easily confused with that of an input.

    Raises:
        UsageError: If the file contains one.
    """
    if Path(output).is_file() and _contains_data(Path(output)):
        raise UsageError(
            "exists, and contains a run, qrels or topics",
            where=str(output),
            remedy="name another file, or delete this one first",
        )


_DATA_NAMES = "(?i)query|qid|topic|doc|pid|passage|corpus|relevan|grade"
_DATA_ROW = re.compile(
    r"\S+\s+\S+\s+\S+(?:\s+\S+)?\s+[-+]?[0-9.]\S*(?:\s+\S+)?|[0-9]\S*\s+\S+\s+[-+]?[0-9.]\S*"
    r"|[^\t]+\t[^\t]+"
)
"""A row of a run or of qrels, or of topics."""


def _contains_data(path: Path) -> bool:
    try:
        read = [line.decode("utf-8", "replace") for line in islice(iter_lines(path), 1000)]
    except TrectoolsPlusError:  # not text
        return False
    lines = [line.strip() for line in read if line.strip() and not line.startswith("#")]
    first, head = lines[0] if lines else "", " ".join(lines)
    is_table = re.search("[,\t]", first) is not None and re.search(_DATA_NAMES, first) is not None
    if is_table or first.startswith(("{", "[", "<top", "<quer", "<?xml")):
        # These names are in every result, and in no run, qrels or topics.
        return not re.search(r"\b(?:measures?|schema_version)\b", first if is_table else head)
    return 2 * sum(bool(_DATA_ROW.fullmatch(line)) for line in lines) > len(lines)


def refuse_link_out(output: str | Path, folder: str | Path) -> None:
    """Raise an error if an output in a folder is a link to a place outside of it.

    The maker of the folder decides where its links lead.

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
    is_written = read_manifest(Path(folder, manifest)).keys() >= set(keys)
    refuse_foreign(folder, names, names if is_written else ())


def read_manifest(path: Path) -> dict[str, object]:
    """Return a JSON object; an empty one if the file is missing or something else."""
    content = None
    with suppress(OSError, ValueError, RecursionError):
        content = json.loads(path.read_bytes())
    return content if isinstance(content, dict) else {}
