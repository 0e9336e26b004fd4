"""The output folder of a benchmark: all files appear in it together, or not at all.

All files are first written into a hidden folder inside it, which is on the same file system, and
moved to their places at the end. After a failure, the files of an earlier benchmark are unchanged.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
import weakref
from collections.abc import Collection, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from trectools_plus.errors import InputError, TrectoolsPlusError
from trectools_plus.formats.files.closed import ClosedFolder, read_document
from trectools_plus.formats.hashing import sha256_file

RUNS_FOLDER = "runs"
COMPONENTS_FOLDER = "components"
MODE_REPORTS_FOLDER = "reports"
ANNOTATED_FOLDER = "annotated"
PLOTS_FOLDER = "visualizations"
PLOT_NAMES = (
    "measures",
    "precision_recall",
    "hit_rate",
    "differences",
    "strata",
    "run_similarity",
)
PLOT_ENDINGS = (".png", ".svg")
_PLOT_FILES = [f"{PLOTS_FOLDER}/{name}{ending}" for name in PLOT_NAMES for ending in PLOT_ENDINGS]
QRELS_FILE = "qrels.txt"
REPORT_FILE = "BenchmarkReport.json"
MARKDOWN_FILE = "BenchmarkComparison.md"
HTML_FILE = "BenchmarkReport.html"
PER_QUERY_FILE = "per_query.parquet"
LATENCY_FILE = "latency.parquet"
TOPICS_FILE = "topics.parquet"
DOCUMENTS_FILE = "documents.parquet"
_OPTIONAL_FILES = (LATENCY_FILE, TOPICS_FILE, DOCUMENTS_FILE)
CHECKSUMS_FILE = "SHA256SUMS"
_REPLACED = "replaced"


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
        # Absolute, so that it is deleted even if the current folder changes.
        self.partial = self.path.absolute() / f".partial-{secrets.token_hex(6)}"
        made: list[Path] = []
        try:
            made += [one for one in self.partial.parents if not one.exists()]
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.mkdir(exist_ok=not exclusive)
            (self.partial / RUNS_FOLDER).mkdir(parents=True)
            (self.partial / COMPONENTS_FOLDER).mkdir()
        except FileExistsError as error:
            if exclusive and self.path.is_dir():
                raise
            raise _write_error(error, self.path) from error
        except OSError as error:
            _clean_up(self.partial, made)
            raise _write_error(error, self.path) from error
        self.discard = weakref.finalize(self, _clean_up, self.partial, made)
        """Delete the unpublished files, and the folders that were created for them."""

    @contextlib.contextmanager
    def final_names(self) -> Iterator[None]:
        """Replace the hidden folder in errors of the block by the output folder."""
        try:
            yield
        except TrectoolsPlusError as error:
            if error.where is not None:
                error.where = error.where.replace(str(self.partial), str(self.path))
            raise

    def keep_components(self, paths: Collection[str]) -> None:
        """Delete the runs of fusions without a component that the report does not contain.

        Args:
            paths: Relative paths of the runs to keep.
        """
        for file in (self.partial / COMPONENTS_FOLDER).iterdir():
            if file.relative_to(self.partial).as_posix() not in paths:
                file.unlink()

    def publish(self, *, keep: frozenset[Path] = frozenset()) -> None:
        """Move all files to their places: the report last, so that it never describes other files.

        Run files and plots of the replaced report are deleted. If a file cannot be moved, all
        moved files are moved back.

        Args:
            keep: Resolved paths of files that must not be deleted.

        Raises:
            InputError: If a file cannot be moved.
        """
        self._write_checksums()
        new = sorted(
            (file.relative_to(self.partial) for file in self.partial.rglob("*") if file.is_file()),
            key=lambda name: (name.name == REPORT_FILE, name),
        )
        found = [*self._stale_runs(), *self._stale_extras()]
        stale = [name for name in found if (self.path / name).resolve() not in keep]
        old = [name for name in dict.fromkeys([*reversed(new), *stale]) if self._exists(name)]
        moves = [
            *((self.path / name, self.partial / _REPLACED / name) for name in old),
            *((self.partial / name, self.path / name) for name in new),
        ]
        done: list[tuple[Path, Path]] = []
        self.discard.atexit = False  # the hidden folder contains the earlier files
        try:
            for source, target in moves:
                target.parent.mkdir(parents=True, exist_ok=True)
                source.replace(target)
                done.append((source, target))
        except BaseException as error:
            for source, target in reversed(done):
                target.replace(source)
            self.discard.atexit = True
            if isinstance(error, OSError):
                raise _write_error(error, self.path) from error
            raise
        self.discard.detach()
        shutil.rmtree(self.partial, ignore_errors=True)

    def _write_checksums(self) -> None:
        """Write the hash of every file in the format of ``sha256sum --check SHA256SUMS``."""
        files = sorted(file for file in self.partial.rglob("*") if file.is_file())
        lines = [
            f"{sha256_file(file)}  {file.relative_to(self.partial).as_posix()}\n" for file in files
        ]
        try:
            (self.partial / CHECKSUMS_FILE).write_bytes("".join(lines).encode())
        except OSError as error:
            raise _write_error(error, self.path) from error

    def _exists(self, name: Path) -> bool:
        target = self.path / name
        if target.is_dir():
            raise InputError(
                "is a folder, not a file", where=str(target), remedy="use another output folder"
            )
        return target.exists() or target.is_symlink()

    def _stale_runs(self) -> list[Path]:
        """List unchanged run files of an earlier benchmark."""
        return [
            Path(folder, name)
            for folder in (RUNS_FOLDER, COMPONENTS_FOLDER)
            for name, sha256 in _read_runs(self.path / REPORT_FILE, folder).items()
            if (file := self.path / folder / name).is_file() and sha256_file(file) == sha256
        ]

    def _stale_extras(self) -> list[Path]:
        """List the files of an earlier benchmark that only some benchmarks have."""
        report = self.path / REPORT_FILE
        files = [Path(ANNOTATED_FOLDER, name) for name in _read_runs(report)]
        files += [Path(mode_report_name(mode)) for mode in _read_modes(report)]
        if report.is_file():
            files = [*map(Path, [*_PLOT_FILES, *_OPTIONAL_FILES]), *files]
        return [name for name in files if (self.path / name).is_file()]


def claim_folder(parent: Path, experiment_id: str) -> tuple[str, OutputFolder]:
    """Create the folder ``parent/<experiment id>``, with ``-2``, ``-3`` … if it exists.

    Returns:
        The experiment id, with the number that made it unique, and its folder.

    Raises:
        InputError: If the folder cannot be created.
    """
    for number in count(1):
        name = experiment_id if number == 1 else f"{experiment_id}-{number}"
        with contextlib.suppress(FileExistsError):
            return name, OutputFolder(parent / name, exclusive=True)
    raise AssertionError("unreachable: count() has no end")


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


def mode_report_name(mode: str) -> str:
    """Return the file of a mode's report, relative to the folder of the benchmark."""
    return f"{MODE_REPORTS_FOLDER}/{mode}.json"


def _read_modes(report: Path) -> list[str]:
    """Return the modes of a report whose names are file names; empty without a valid report."""
    try:
        modes = list(json.loads(report.read_text(encoding="utf-8"))["modes"])
    except (OSError, ValueError, LookupError, TypeError):
        return []
    return [mode for mode in modes if Path(mode).name == mode]


def _read_runs(report: Path, folder: str = RUNS_FOLDER) -> dict[str, str]:
    """Return name and SHA-256 of a report's runs in a folder; empty without a valid report."""
    try:
        document: Any = json.loads(report.read_text(encoding="utf-8"))
        modes = [*document["modes"].values(), *document.get("components", ())]
        runs = [mode["run"] for mode in modes]
        found: Mapping[str, str] = {
            str(run["path"]): str(run["sha256"]) for run in runs if run["path"] is not None
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}
    prefix = f"{folder}/"
    return {
        name: sha256
        for path, sha256 in found.items()
        if (name := path.removeprefix(prefix)) != path and Path(name).name == name
    }


def _clean_up(partial: Path, made: list[Path]) -> None:
    shutil.rmtree(partial, ignore_errors=True)
    for folder in made:
        with contextlib.suppress(OSError):  # another file is in it
            folder.rmdir()


def _write_error(error: OSError, folder: Path) -> InputError:
    return InputError(
        f"the output folder cannot be written: {error.strerror or error}",
        where=str(folder),
        remedy="use another one with --output-dir; existing files are unchanged",
    )
