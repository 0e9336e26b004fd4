"""An index of documents in the cache, which ranks the documents for texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from trectools_plus.display import Progress
from trectools_plus.formats.files.index_cache import IndexRecipe, load_array, open_index
from trectools_plus.retrieval.source import Ranking, Scores, top_positions


class Index(ABC):
    """An index of documents: a kind of retriever.

    Attributes:
        name: The kind of the index, and the name of its mode.
        doc_ids: The documents, in descending order of ids.
        recipe: Everything that determines the content.
        index_key: The key of the recipe.
        is_reused: Whether the index was in the cache.
        content: What :meth:`load` returns.
    """

    name: ClassVar[str]

    def open(self, doc_ids: list[str], facts: Mapping[str, Any], progress: Progress) -> None:
        """Load the index; build it first if it is not in the cache.

        Args:
            doc_ids: The documents.
            facts: Everything that determines the content, as JSON values.
            progress: Receives the progress of building.
        """
        self.doc_ids = doc_ids
        self.recipe = IndexRecipe(self.name, facts)
        self.index_key = self.recipe.key
        self.is_reused = self.recipe.folder.is_dir()
        self.content: Any = open_index(
            self.recipe, lambda folder: self.build(folder, progress), self.load, progress
        )

    @abstractmethod
    def build(self, folder: Path, progress: Progress) -> None:
        """Write the files of the index into an empty folder."""

    @abstractmethod
    def load(self, folder: Path) -> Any:
        """Open the files of a folder, whose checksums are right.

        Raises:
            Exception: If they cannot be opened.
        """

    @abstractmethod
    def search(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Rank documents for each query, as every ``Retriever`` does."""

    def best(self, scores: Scores, depth: int) -> Ranking:
        """Return the ranking of those documents whose scores are above 0.

        Args:
            scores: The scores of all documents.
            depth: Maximum number of documents.
        """
        positions = np.flatnonzero(scores > 0)
        top = positions[top_positions(scores[positions], depth)]
        return Ranking([self.doc_ids[row] for row in top.tolist()], scores[top])


class Postings:
    """The weights of words in documents, mapped into memory: a sparse matrix.

    Args:
        folder: The folder of the arrays: the weights, grouped by word; the document of each weight;
            and the position of each word's first weight, with the number of weights at the end.
        dtype: The type of the weights.
        shape: The number of words and documents.
        suffix: The end of the names of the files.

    Raises:
        ValueError: If they are not consistent.
        OSError: If they cannot be read.
    """

    def __init__(
        self, folder: Path, dtype: type[Any], shape: tuple[int, int], suffix: str = ""
    ) -> None:
        self._arrays = data, indices, indptr = (
            load_array(folder / f"data{suffix}.npy", dtype),
            load_array(folder / f"indices{suffix}.npy", np.integer),
            load_array(folder / f"indptr{suffix}.npy", np.integer),
        )
        words, self._documents = shape
        sizes = np.diff(indptr, prepend=0, append=len(data))
        is_whole = len(data) == len(indices) and len(indptr) == words + 1
        is_outside = (indices < 0) | (indices >= self._documents)
        if not is_whole or indptr[0] or sizes[-1] or (sizes < 0).any() or is_outside.any():
            raise ValueError("the weights do not match the words and documents")

    def add(self, words: Iterable[tuple[int, float]]) -> npt.NDArray[Any]:
        """Add the weights of words, each multiplied by a factor, for every document."""
        data, indices, indptr = self._arrays
        total = np.zeros(self._documents, data.dtype)
        for word, factor in words:
            of_word = slice(indptr[word], indptr[word + 1])
            total[indices[of_word]] += factor * data[of_word]
        return total
