"""Building indexes ahead of searching."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trectools_plus.formats.tables import Corpus
from trectools_plus.progress import Progress, no_progress
from trectools_plus.retrieval.backends.embedded.modes import build_retrievers
from trectools_plus.retrieval.fusion import HybridRetriever
from trectools_plus.retrieval.index.cache import IndexRecipe, cache_folder
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import Retriever


@dataclass(frozen=True, slots=True)
class BuiltIndex:
    """An index on disk.

    Attributes:
        kind: ``lexical``, ``vector``, ``multi-vector`` or ``splade``.
        key: Hash of everything that shapes it.
        folder: Where it is.
        bytes: Its size.
        reused: Whether it was there already.
    """

    kind: str
    key: str
    folder: Path
    bytes: int
    reused: bool

    def as_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "kind": self.kind,
            "key": self.key,
            "folder": str(self.folder),
            "bytes": self.bytes,
            "reused": self.reused,
        }


def build_indexes(
    corpus: Corpus,
    modes: Sequence[str],
    settings: RetrievalSettings | None = None,
    progress: Progress = no_progress,
) -> list[BuiltIndex]:
    """Build what modes search, where it is not there yet.

    Args:
        corpus: The documents.
        modes: Names of ``embedded.modes.ALL_MODES``; those of ``hybrid`` are built too.
        settings: The defaults if ``None``; a reranker has no index.
        progress: Told of the building.

    Returns:
        Each index once, in the order of the modes.

    Raises:
        UsageError, InputError: As :func:`build_retrievers`.
    """
    # An index serves every strategy, so one that every document can be scored by.
    plain = (settings or RetrievalSettings()).model_copy(
        update={"reranker": None, "reranker_model": None, "aggregation_strategy": "all_max"}
    )
    root = cache_folder()
    before = {path: path.stat().st_mtime_ns for path in root.iterdir()} if root.is_dir() else {}
    recipes = {
        recipe.key: recipe
        for retriever in build_retrievers(corpus, modes, plain, progress).values()
        for recipe in _recipes(retriever)
    }
    return [
        BuiltIndex(
            recipe.kind,
            key,
            recipe.folder,
            sum(file.stat().st_size for file in recipe.folder.iterdir()),
            before.get(recipe.folder) == recipe.folder.stat().st_mtime_ns,
        )
        for key, recipe in recipes.items()
    ]


def _recipes(retriever: Retriever) -> Iterator[IndexRecipe]:
    if isinstance(retriever, HybridRetriever):
        for component in retriever.components:
            yield from _recipes(component)
    else:
        recipe: IndexRecipe = retriever.recipe  # type: ignore[attr-defined]
        yield recipe
