"""The weights of words in documents, as a sparse matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def check_postings(
    data: npt.NDArray[Any], indices: npt.NDArray[Any], indptr: npt.NDArray[Any], documents: int
) -> None:
    """Check that a sparse matrix with the weights of words in documents is consistent.

    Args:
        data: The weights, grouped by word.
        indices: The document of each weight.
        indptr: The position of each word's first weight, and the number of weights at the end.
        documents: Number of documents.

    Raises:
        ValueError: If it is not consistent.
    """
    if len(indptr) < 1 or indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise ValueError("the positions of the words are not ascending from 0")
    if not indptr[-1] == len(data) == len(indices):
        raise ValueError(
            f"expected {indptr[-1]} weights but got {len(data)}, of {len(indices)} documents"
        )
    if len(indices) and not 0 <= indices.min() <= indices.max() < documents:
        raise ValueError(f"a weight belongs to a document beyond the {documents} of the index")
    if not np.isfinite(data).all():
        raise ValueError("a weight is not finite")
