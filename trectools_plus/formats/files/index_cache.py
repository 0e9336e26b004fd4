"""Indexes on disk, built once and identified by a hash of their inputs.

An index is a folder ``<kind>-<key>``; the key is a hash of everything that determines its content.
The folder is renamed to its final name after all files and their checksums are written, so a
half-built index is never read. Opening an index compares the checksums, which takes no longer than
one or two exact searches. Loaders also check the shapes, types and numbers that they read, because
checksums do not detect a file that was replaced together with its checksum. A damaged index is
built again, with a warning.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from trectools_plus.display import Progress
from trectools_plus.errors import InputError, TrectoolsPlusError
from trectools_plus.formats.hashing import sha256_file, sha256_text

T = TypeVar("T")

FORMAT_VERSION = 1
CACHE_VARIABLE = "TRECTOOLS_PLUS_CACHE"
_CHECKSUMS_FILE = "index.json"
_LOG = logging.getLogger("trectools_plus.retrieval")


class DamagedIndexError(Exception):
    """An index whose files are missing, changed or inconsistent."""


@dataclass(frozen=True, slots=True)
class IndexRecipe:
    """Everything that determines an index.

    Attributes:
        kind: The kind of index, for example ``lexical``; part of the folder's name.
        facts: Corpus hash, settings and versions, as JSON values.
    """

    kind: str
    facts: Mapping[str, Any]

    @property
    def key(self) -> str:
        """SHA-256 of kind, facts and the format version."""
        return sha256_text(json.dumps([FORMAT_VERSION, self.kind, self.facts], sort_keys=True))

    @property
    def folder(self) -> Path:
        """The folder of the index, which may not exist yet."""
        return cache_folder() / f"{self.kind}-{self.key[:32]}"


def cache_folder() -> Path:
    """Return the folder of all indexes, in ``TRECTOOLS_PLUS_CACHE`` or the user's cache folder."""
    from platformdirs import user_cache_path

    given = os.environ.get(CACHE_VARIABLE)
    return (Path(given) if given else user_cache_path("trectools-plus")) / "indexes"


def open_index(
    recipe: IndexRecipe,
    build: Callable[[Path], None],
    load: Callable[[Path], T],
    progress: Progress,
) -> T:
    """Load an index; build it first if it is missing or damaged.

    Args:
        recipe: The inputs of the index.
        build: Writes the index's files into an empty folder.
        load: Opens the files of a folder. It checks everything that a search relies on. The index
            is built again if it raises an exception.
        progress: Called when this process waits for another one.

    Raises:
        InputError: If the cache folder cannot be written.
    """
    folder = recipe.folder
    with suppress(DamagedIndexError):
        return _load_intact(folder, recipe, load)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _build_lock(folder, progress):
            # Another process may have built it while this one waited.
            try:
                return _load_intact(folder, recipe, load)
            except DamagedIndexError as error:
                if folder.exists():
                    _LOG.warning("the index %s is damaged (%s) and is built again", folder, error)
            _build(folder, recipe, build)
    except OSError as error:
        raise InputError(
            f"cannot write the index: {error.strerror or error}",
            where=str(folder),
            remedy=f"free disk space, or set {CACHE_VARIABLE} to another folder",
        ) from error
    return load(folder)


def _load_intact(folder: Path, recipe: IndexRecipe, load: Callable[[Path], T]) -> T:
    """Load an index after checking that its files have not changed.

    Raises:
        DamagedIndexError: If they have, or cannot be loaded.
    """
    try:
        if json.loads((folder / _CHECKSUMS_FILE).read_text(encoding="utf-8")) != _describe(
            folder, recipe
        ):
            raise ValueError("its files have changed")
        return load(folder)
    except TrectoolsPlusError:
        raise
    except Exception as error:  # libraries raise various errors for damaged files
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise DamagedIndexError(reason[0][:200]) from error


def load_array(path: Path, dtype: type[Any], dimensions: int = 1) -> npt.NDArray[Any]:
    """Map an array of an index into memory; never unpickle objects.

    Args:
        path: The ``.npy`` file.
        dtype: The expected type; an abstract type accepts all its subtypes.
        dimensions: The expected number of dimensions.

    Raises:
        ValueError: If the file contains something else.
        OSError: If it cannot be read.
    """
    # `np.load` would also open archives and pickles.
    array = np.lib.format.open_memmap(path, mode="r")
    fits = np.issubdtype(array.dtype, dtype) and array.dtype.isnative
    if not fits or array.ndim != dimensions or not array.flags.c_contiguous:
        raise ValueError(
            f"{path.name} contains {array.dtype} of shape {array.shape}, "
            f"not {dtype.__name__} in {dimensions} dimensions"
        )
    # Slices of a plain array over the mapped file are faster than slices of a memmap.
    return np.asarray(array)


def _build(folder: Path, recipe: IndexRecipe, build: Callable[[Path], None]) -> None:
    prefix = f".building-{folder.name}-"
    for abandoned in folder.parent.glob(f"{prefix}*"):
        shutil.rmtree(abandoned, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=folder.parent) as temporary:
        built = Path(temporary, "index")
        built.mkdir()
        build(built)
        (built / _CHECKSUMS_FILE).write_text(json.dumps(_describe(built, recipe), indent=1))
        if folder.exists():
            shutil.rmtree(folder)
        built.rename(folder)


def _build_lock(folder: Path, progress: Progress) -> AbstractContextManager[object]:
    """Lock the index; the system releases the lock even if this process is killed."""
    from filelock import FileLock, Timeout

    lock = FileLock(f"{folder}.lock")
    try:
        return lock.acquire(timeout=0.5)
    except Timeout:
        progress("waiting for another process to build the same index", 0, 1)
        return lock.acquire()


def _describe(folder: Path, recipe: IndexRecipe) -> Any:
    """Return the recipe and the hash of each file, as JSON values.

    Raises:
        ValueError: If the folder has something else than regular files, which may never end.
    """
    paths = [path for path in sorted(folder.iterdir()) if path.name != _CHECKSUMS_FILE]
    if not all(path.is_file() for path in paths):
        raise ValueError("not a regular file")
    files = {path.name: sha256_file(path) for path in paths}
    content = {"format": FORMAT_VERSION, "kind": recipe.kind, "facts": recipe.facts, "files": files}
    return json.loads(json.dumps(content, sort_keys=True))
