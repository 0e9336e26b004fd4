"""Indexes on disk: built once, found again by what they were built from.

An index is a folder ``<kind>-<key>``; the key hashes everything that shapes its content. A folder
gets its name by one rename after all its files and their checksums are written, so a half-built
index is never read. Checksums are compared whenever an index is opened: one pass over the files
costs no more than a query or two of exact search, and a damaged index is built anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from trectools_plus.errors import InputError
from trectools_plus.retrieval.base import Progress

T = TypeVar("T")

FORMAT_VERSION = 1
CACHE_VARIABLE = "TRECTOOLS_PLUS_CACHE"
_SEAL = "index.json"


@dataclass(frozen=True, slots=True)
class IndexRecipe:
    """Everything that shapes an index.

    Attributes:
        kind: What it is, as in ``lexical``; part of the folder's name.
        facts: Corpus hash, settings, versions: JSON values.
    """

    kind: str
    facts: Mapping[str, Any]

    @property
    def key(self) -> str:
        """SHA-256 of kind, facts and the format version."""
        text = json.dumps([FORMAT_VERSION, self.kind, self.facts], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def folder_name(self) -> str:
        """The name of the index's folder."""
        return f"{self.kind}-{self.key[:32]}"

    @property
    def folder(self) -> Path:
        """Where the index is, or will be."""
        return cache_folder() / self.folder_name


def cache_folder() -> Path:
    """Where indexes are kept: ``TRECTOOLS_PLUS_CACHE`` or the user's cache folder."""
    from platformdirs import user_cache_path

    own = os.environ.get(CACHE_VARIABLE)
    return (Path(own) if own else user_cache_path("trectools-plus")) / "indexes"


def open_index(
    recipe: IndexRecipe,
    build: Callable[[Path], None],
    load: Callable[[Path], T],
    progress: Progress,
) -> T:
    """Load an index, building it first if it is not there or damaged.

    Args:
        recipe: What the index is built from.
        build: Writes the index's files into an empty folder.
        load: Opens the files of a whole folder.
        progress: Told when another process is being waited for.

    Raises:
        InputError: If the cache folder cannot be written.
    """
    folder = recipe.folder
    root = folder.parent
    if not _is_whole(folder, recipe):
        try:
            root.mkdir(parents=True, exist_ok=True)
            with _only_builder(folder, progress):
                # Another process may have built it while this one waited.
                if not _is_whole(folder, recipe):
                    _build_anew(folder, recipe, build)
        except OSError as error:
            raise InputError(
                f"cannot write the index: {error.strerror or error}",
                where=str(folder),
                remedy=f"make room there, or set {CACHE_VARIABLE} to another folder",
            ) from error
    return load(folder)


def _build_anew(folder: Path, recipe: IndexRecipe, build: Callable[[Path], None]) -> None:
    prefix = f".building-{folder.name}-"
    for abandoned in folder.parent.glob(f"{prefix}*"):
        shutil.rmtree(abandoned, ignore_errors=True)
    workplace = Path(tempfile.mkdtemp(prefix=prefix, dir=folder.parent))
    try:
        build(workplace)
        _seal(workplace, recipe)
        if folder.exists():
            shutil.rmtree(folder)
        workplace.rename(folder)
    except BaseException:
        shutil.rmtree(workplace, ignore_errors=True)
        raise


@contextmanager
def _only_builder(folder: Path, progress: Progress) -> Iterator[None]:
    """Hold the index's lock, which the system frees even when its holder is killed."""
    from filelock import FileLock, Timeout

    lock = FileLock(f"{folder}.lock")
    try:
        lock.acquire(timeout=0.5)
    except Timeout:
        progress("waiting for another process to build the same index", 0, 1)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _seal(folder: Path, recipe: IndexRecipe) -> None:
    files = {path.name: _sha256(path) for path in sorted(folder.iterdir())}
    seal = {"format": FORMAT_VERSION, "kind": recipe.kind, "facts": recipe.facts, "files": files}
    (folder / _SEAL).write_text(json.dumps(seal, indent=1, sort_keys=True), encoding="utf-8")


def _is_whole(folder: Path, recipe: IndexRecipe) -> bool:
    """Whether every file is there as it was written, for this recipe."""
    try:
        seal = json.loads((folder / _SEAL).read_text(encoding="utf-8"))
        # Through JSON, as tuples come back as lists.
        facts = json.loads(json.dumps(recipe.facts))
        if (seal["format"], seal["kind"], seal["facts"]) != (FORMAT_VERSION, recipe.kind, facts):
            return False
        return all(_sha256(folder / name) == digest for name, digest in seal["files"].items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
