"""The output folder of a benchmark: all files appear in it together, or not at all.

All files are first written into a hidden folder inside it, which is on the same file system, and
moved to their places at the end. If the benchmark fails, the files of an earlier one are unchanged.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import weakref
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path

from trectools_plus.errors import InputError, TrectoolsPlusError
from trectools_plus.formats.files.atomic import find_abandoned, make_locked_folder
from trectools_plus.formats.files.guards import (
    ClosedFolder,
    read_document,
    refuse_foreign,
    refuse_overwriting,
)
from trectools_plus.formats.hashing import sha256_file

RUNS_FOLDER = "runs"
MODE_REPORTS_FOLDER = "reports"
PLOTS_FOLDER = "visualizations"
PLOT_ENDINGS = (".png", ".svg")
QRELS_FILE = "qrels.txt"
REPORT_FILE = "BenchmarkReport.json"
SWEEP_FILE = "SweepReport.json"
SWEEP_MARKDOWN_FILE = "SweepReport.md"
SWEEP_HTML_FILE = "SweepReport.html"
WINNER_FILE = "winner.run"
MARKDOWN_FILE = "BenchmarkComparison.md"
HTML_FILE = "BenchmarkReport.html"
PER_QUERY_FILE = "per_query.parquet"
LATENCY_FILE = "latency.parquet"
TOPICS_FILE = "topics.parquet"
DOCUMENTS_FILE = "documents.parquet"
CHECKSUMS_FILE = "SHA256SUMS"
REPORT_FILES = (REPORT_FILE, MARKDOWN_FILE, HTML_FILE, PER_QUERY_FILE, QRELS_FILE, CHECKSUMS_FILE)
"""The files of every report."""
SWEEP_FILES = (
    SWEEP_FILE,
    SWEEP_MARKDOWN_FILE,
    SWEEP_HTML_FILE,
    PER_QUERY_FILE,
    QRELS_FILE,
    WINNER_FILE,
    CHECKSUMS_FILE,
)
"""The files of every sweep."""
_PARTIAL = ".partial-*"


class OutputFolder:
    """An output folder with a hidden folder for unpublished files.

    The hidden folder is deleted with the object, unless it is published.

    Args:
        path: The folder; created if missing.
        exclusive: True if the folder must not exist.

    Attributes:
        path: The folder.
        partial: The hidden folder; write files here.

    Raises:
        FileExistsError: If ``exclusive`` and the folder exists.
        InputError: If the folder cannot be created or written to.
    """

    def __init__(self, path: str | Path, *, exclusive: bool = False) -> None:
        self.path = Path(path)
        self._inputs: frozenset[Path] = frozenset()
        # Absolute, so that it is deleted even if the current folder changes.
        self.partial = self.path.absolute() / _PARTIAL.replace("*", secrets.token_hex(6))
        made: list[Path] = []
        lock: int | None = None
        try:
            made += [one for one in self.partial.parents if not one.exists()]
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.mkdir(exist_ok=not exclusive)
            remove_abandoned(self.path)
            lock = make_locked_folder(self.partial)
            (self.partial / RUNS_FOLDER).mkdir()
        except OSError as error:
            if exclusive and isinstance(error, FileExistsError) and self.path.is_dir():
                raise
            _clean_up(self.partial, made, lock)
            raise _write_error(error, self.path) from error
        self.discard = weakref.finalize(self, _clean_up, self.partial, made, lock)
        """Delete the unpublished files, and the folders that were created for them."""

    @contextlib.contextmanager
    def discarded_on_errors(self) -> Iterator[None]:
        """Discard the folder if the block fails; errors name the output folder instead of it."""
        try:
            yield
        except BaseException as error:
            self.discard()
            if isinstance(error, TrectoolsPlusError) and error.where is not None:
                error.where = error.where.replace(str(self.partial), str(self.path))
            raise

    def plan(self, names: Sequence[str], inputs: Iterable[str | Path | None]) -> None:
        """Raise an error if an input would be replaced, or a file that no earlier report lists.

        Args:
            names: Files that will be written, relative to the folder.
            inputs: Files that are read. They are never deleted.

        Raises:
            UsageError: If an input would be replaced.
            InputError: If another file would be replaced.
        """
        paths = [path for path in inputs if path is not None]
        for name in names:
            refuse_overwriting(self.path / name, paths)
        refuse_foreign(self.path, names, _read_listed(self.path))
        self._inputs = frozenset(Path(path).resolve() for path in paths)

    def publish(self) -> None:
        """Move all files to their places: the report last, so that it never describes other files.

        They replace only files of an earlier report. Its other files are deleted, unless they were
        changed.

        Raises:
            InputError: If a file cannot be moved, or would replace another file.
        """
        files = sorted(file for file in self.partial.rglob("*") if file.is_file())
        new = [file.relative_to(self.partial) for file in files]
        sums = [f"{sha256_file(self.partial / name)}  {name.as_posix()}\n" for name in new]
        new = sorted([*new, Path(CHECKSUMS_FILE)], key=lambda name: name.name == REPORT_FILE)
        listed = _read_listed(self.path)
        refuse_foreign(self.path, new, listed)
        # Files of an earlier report that are unchanged, and no inputs.
        stale = [
            file
            for name, digest in listed.items()
            if Path(name) not in new
            and (file := self.path / name).resolve() not in self._inputs
            and file.is_file()
            and sha256_file(file) == digest
        ]
        try:
            (self.partial / CHECKSUMS_FILE).write_bytes("".join(sums).encode())
            for name in new:
                (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                (self.partial / name).replace(self.path / name)
            for file in stale:
                file.unlink()
        except OSError as error:
            raise _write_error(error, self.path) from error
        self.discard()  # the other files are in their folders, which are therefore kept


def _read_listed(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file in the list of a report; empty without a report."""
    try:
        listed = {name: digest for digest, name in read_checksums(folder)}
    except InputError:
        return {}
    listed = {name: digest for name, digest in listed.items() if _is_inside(folder, name)}
    if not any(name in listed and (folder / name).is_file() for name in (REPORT_FILE, SWEEP_FILE)):
        return {}
    return {**listed, CHECKSUMS_FILE: ""}


def refuse_overwriting_in(folder: Path, output: str | Path) -> None:
    """Raise an error if an output is a file of a folder that is read.

    Args:
        folder: The folder of a report or of other data, or a file, for example a report.
        output: The output.

    Raises:
        UsageError: If it exists in the folder; of the folder of a report, if it is in its list.
    """
    if folder.name == REPORT_FILE:
        folder = folder.parent
    root, path = folder.resolve(), Path(output).resolve()
    if folder.is_dir() and path.is_file() and path.is_relative_to(root):
        names = [*_read_listed(folder)]
        if not names and (folder / REPORT_FILE).is_file():
            names = [*REPORT_FILES]
        refuse_overwriting(output, [folder / name for name in names] or [path])


def _is_inside(folder: Path, name: str) -> bool:
    path = (folder / name).parent.resolve() / Path(name).name
    return Path(name).as_posix() == name and path.is_relative_to(folder.resolve())


def remove_abandoned(folder: Path) -> None:
    """Remove the hidden folders of killed processes."""
    for partial in find_abandoned(folder, _PARTIAL):
        shutil.rmtree(partial, ignore_errors=True)


def claim_folder(parent: Path, experiment_id: str) -> tuple[str, OutputFolder]:
    """Create the folder ``parent/<experiment id>``, with ``-2``, ``-3`` … if it exists.

    Returns:
        The experiment id, with the number that made it unique, and its folder.

    Raises:
        InputError: If the folder cannot be created.
    """
    for abandoned in {path.parent for path in parent.glob(f"*/{_PARTIAL}")}:
        remove_abandoned(abandoned)
        with contextlib.suppress(OSError):  # it has a report
            abandoned.rmdir()
    for number in count(1):
        name = experiment_id if number == 1 else f"{experiment_id}-{number}"
        with contextlib.suppress(FileExistsError):
            return name, OutputFolder(parent / name, exclusive=True)
    raise AssertionError  # count() has no end


def read_checksums(folder: Path) -> list[tuple[str, str]]:
    """Read SHA-256 and name of each file of a benchmark; empty without a list.

    Raises:
        InputError: If the list cannot be read.
    """
    path = folder / CHECKSUMS_FILE
    if ClosedFolder(folder).find(CHECKSUMS_FILE) is None:
        return []
    lines = read_document(path).splitlines()
    pairs = [line.partition("  ") for line in lines if line]
    if any(len(digest) != 64 or not name for digest, _, name in pairs):
        raise InputError("expected a hash and a name in each line", where=str(path))
    return [(digest, name) for digest, _, name in pairs]


def _clean_up(partial: Path, made: list[Path], lock: int | None) -> None:
    shutil.rmtree(partial, ignore_errors=True)
    if lock is not None:
        os.close(lock)
    for folder in made:
        with contextlib.suppress(OSError):  # another file is in it
            folder.rmdir()


def _write_error(error: OSError, folder: Path) -> InputError:
    return InputError(
        f"the output folder cannot be written: {error.strerror or error}",
        where=str(folder),
        remedy="use another one with --output-dir; existing files are unchanged",
    )
