"""Indexes on disk: built once, found again by what they were built from.

An index is a folder ``<kind>-<key>``; the key hashes everything that shapes its content. A folder
gets its name by one rename after all its files and their checksums are written, so a half-built
index is never read. Checksums are compared whenever an index is opened: one pass over the files
costs no more than a query or two of exact search. Checksums can be recomputed, so loaders check
what they read too: shapes, types and numbers. A damaged index is built again, with a warning.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import InputError, TrectoolsPlusError
from trectools_plus.progress import Progress

T = TypeVar("T")

FORMAT_VERSION = 1
CACHE_VARIABLE = "TRECTOOLS_PLUS_CACHE"
_SEAL = "index.json"
_LOG = logging.getLogger("trectools_plus.retrieval")


class DamagedIndexError(Exception):
    """An index whose files are not those that were written, or do not fit together."""


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
    """Return the folder of all indexes: ``TRECTOOLS_PLUS_CACHE`` or the user's cache folder."""
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
        load: Opens the files of a folder. It checks all that a search relies on, and raises any
            exception where that does not hold: the index is built again then.
        progress: Notified when another process is being waited for.

    Raises:
        InputError: If the cache folder cannot be written.
    """
    folder = recipe.folder
    try:
        return _load_whole(folder, recipe, load)
    except DamagedIndexError:
        pass
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _only_builder(folder, progress):
            # Another process may have built it while this one waited.
            try:
                return _load_whole(folder, recipe, load)
            except DamagedIndexError as error:
                if folder.exists():
                    _LOG.warning("the index %s %s and is built again", folder, error)
            _build_anew(folder, recipe, build)
    except OSError as error:
        raise InputError(
            f"cannot write the index: {error.strerror or error}",
            where=str(folder),
            remedy=f"make room there, or set {CACHE_VARIABLE} to another folder",
        ) from error
    return load(folder)


def _load_whole(folder: Path, recipe: IndexRecipe, load: Callable[[Path], T]) -> T:
    """Load an index whose files are all as they were written.

    Raises:
        DamagedIndexError: If they are not; ends a sentence that begins with the index.
    """
    if not _is_whole(folder, recipe):
        raise DamagedIndexError("is damaged")
    try:
        return load(folder)
    except TrectoolsPlusError:
        raise
    except Exception as error:  # whatever a library makes of such files
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise DamagedIndexError(f"is inconsistent ({reason[0][:200]})") from error


def load_array(path: Path, dtype: type[Any], dimensions: int = 1) -> npt.NDArray[Any]:
    """Map an array of an index into memory; objects are never unpickled.

    Args:
        path: The ``.npy`` file.
        dtype: The type that its numbers must have; an abstract one stands for all of its kind.
        dimensions: How many it must have.

    Raises:
        ValueError: If the file holds something else.
        OSError: If it cannot be read.
    """
    # Not `np.load`, which also opens archives and pickles.
    array = np.lib.format.open_memmap(path, mode="r")
    fits = np.issubdtype(array.dtype, dtype) and array.dtype.isnative
    if not fits or array.ndim != dimensions or not array.flags.c_contiguous:
        raise ValueError(
            f"{path.name} holds {array.dtype} of shape {array.shape}, "
            f"not {dtype.__name__} in {dimensions} dimensions"
        )
    # A plain array over the mapped file: slices of a memmap object cost more.
    return np.asarray(array)


def check_postings(
    data: npt.NDArray[Any], indices: npt.NDArray[Any], indptr: npt.NDArray[Any], documents: int
) -> None:
    """Check that weights of words in documents fit together.

    Args:
        data: Weights, word by word.
        indices: The document of each weight.
        indptr: For each word where its weights begin, and at the end how many weights there are.
        documents: How many documents there are.

    Raises:
        ValueError: If they do not.
    """
    if len(indptr) < 1 or indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise ValueError("the places of the words are out of order")
    if not indptr[-1] == len(data) == len(indices):
        raise ValueError(f"{len(data)} weights, {len(indices)} documents, {indptr[-1]} counted")
    if len(indices) and not 0 <= indices.min() <= indices.max() < documents:
        raise ValueError(f"weights of documents that are not among the {documents}")
    if not np.isfinite(data).all():
        raise ValueError("weights that are not finite")


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
    """Return whether every file is there as it was written, for this recipe."""
    try:
        seal = json.loads((folder / _SEAL).read_text(encoding="utf-8"))
        # Through JSON, as tuples come back as lists.
        facts = json.loads(json.dumps(recipe.facts))
        if (seal["format"], seal["kind"], seal["facts"]) != (FORMAT_VERSION, recipe.kind, facts):
            return False
        return all(
            # A seal names files of its own folder; a device or pipe would never end.
            Path(name).name == name
            and (folder / name).is_file()
            and _sha256(folder / name) == digest
            for name, digest in seal["files"].items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
