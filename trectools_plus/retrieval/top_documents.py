"""Exact selection of the best documents, ties at the cutoff included.

Library top-k functions break ties at the boundary as their partition happens to fall. Here the
canonical order decides: 32-bit score descending, then document id descending by bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from trectools_plus.retrieval.base import Ranking, Scores

Positions = npt.NDArray[np.intp]


def top_positions(scores: Scores, depth: int) -> Positions:
    """Positions of the ``depth`` highest scores, best first, ties by lower position.

    Indexes hold their documents by falling id, so "lower position" is "higher id".

    Args:
        scores: ``float32`` of shape ``(n,)``, free of NaN.
        depth: At least 1.

    Returns:
        At most ``depth`` positions.
    """
    if depth < len(scores):
        threshold = np.partition(scores, len(scores) - depth)[len(scores) - depth]
        above = np.flatnonzero(scores > threshold)
        tied = np.flatnonzero(scores == threshold)[: depth - len(above)]
        kept = np.sort(np.concatenate([above, tied]))
    else:
        kept = np.arange(len(scores))
    return kept[np.argsort(-scores[kept], kind="stable")]


def rank_scores(doc_ids: Sequence[str], scores: npt.NDArray[np.floating], depth: int) -> Ranking:
    """Rank unordered documents by score, rounded to 32 bits first.

    Args:
        doc_ids: Ids in any order, none twice.
        scores: One number per id, free of NaN.
        depth: How many to keep at most.
    """
    # Python compares strings by code point, which is the order of their UTF-8 bytes.
    by_id = np.array(
        sorted(range(len(doc_ids)), key=doc_ids.__getitem__, reverse=True), dtype=np.intp
    )
    narrowed = scores.astype(np.float32)[by_id]
    top = top_positions(narrowed, depth)
    return Ranking([doc_ids[place] for place in by_id[top]], narrowed[top])
