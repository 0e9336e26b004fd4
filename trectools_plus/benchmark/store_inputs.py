"""Store runs, judgments and queries from memory as files, because a benchmark records files.

The files are in the cache folder and named after their content, so the same input has the same
path, and a benchmark of it the same configuration.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from trectools_plus.errors import InputError
from trectools_plus.formats.files.index_cache import cache_folder
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.formats.ranking import rank_documents
from trectools_plus.formats.tables import Run
from trectools_plus.formats.topics import write_topics
from trectools_plus.formats.trec_files import write_qrels, write_run
from trectools_plus.validation.inputs import as_qrels, as_run, as_topics, is_path, list_runs


def store_runs(runs: Any) -> Any:
    """Return runs as paths by name; texts and dictionaries of paths are returned unchanged."""
    if runs is None or is_path(runs) or _is_list_of_texts(runs):
        return runs
    if isinstance(runs, Mapping) and any(is_path(run) for run in runs.values()):
        return {
            name: run if is_path(run) else _store_run(as_run(run, str(name)))
            for name, run in runs.items()
        }
    if isinstance(runs, Mapping) and not runs:
        return runs
    return {name: _store_run(run) for name, run in list_runs(runs)}


def store_qrels(qrels: Any) -> Any:
    """Return the path of judgments; ``None`` and paths are returned unchanged."""
    if qrels is None or is_path(qrels):
        return qrels
    table = as_qrels(qrels)
    return _store(lambda path: write_qrels(table, path), ".qrels")


def store_topics(topics: Any) -> Any:
    """Return the path of queries; ``None`` and paths are returned unchanged."""
    if topics is None or is_path(topics):
        return topics
    table = as_topics(topics)
    return _store(lambda path: write_topics(table, path), ".tsv")


def _store_run(run: Run) -> str:
    # Ranks follow the scores: a run in memory has the ranks of its order, if any.
    ranked = rank_documents(run.frame).select(run.frame.columns)
    return _store(lambda path: write_run(Run(ranked, "run"), path), ".run")


def _store(write: Callable[[Path], None], ending: str) -> str:
    folder = cache_folder().parent / "inputs"
    temporary = folder / f"{os.getpid()}{ending}.new"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write(temporary)
        named = folder / f"{sha256_file(str(temporary))[:32]}{ending}"
        temporary.replace(named)
    except OSError as error:
        raise InputError(
            f"the input cannot be stored: {error.strerror}", where=str(folder)
        ) from error
    return str(named)


def _is_list_of_texts(runs: object) -> bool:
    return isinstance(runs, list | tuple) and all(isinstance(run, str) for run in runs)
