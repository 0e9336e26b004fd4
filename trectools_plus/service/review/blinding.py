"""The order in which things are shown: at random, yet the same again for the same seed.

Everything is sorted by a SHA-256 over the seed and names, so that an order depends on nothing else:
not on how many queries there are, nor on what was shown before. Who knows the seed and the names
of the modes can undo it; keep the seed from those who judge.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from hashlib import sha256

LABELS = string.ascii_uppercase
"""What columns are called, from the left."""


def order_queries(query_ids: Sequence[str], seed: int) -> list[str]:
    """Shuffle the queries, alike for everyone.

    So what several people have judged when they stop early is the same random sample.

    Args:
        query_ids: All queries, each once.
        seed: Decides the order.
    """
    return sorted(query_ids, key=lambda query_id: _place(seed, "query", query_id))


def order_modes(modes: Sequence[str], seed: int, annotator: str, query_id: str) -> list[str]:
    """Shuffle the columns of a query for an annotator.

    Args:
        modes: The modes.
        seed: Decides the order, with the two next.
        annotator: Who judges, as :func:`~trectools_plus.service.review.names.key_of` spells it.
        query_id: The query.

    Returns:
        The modes from left to right: labels A, B, …
    """
    return sorted(modes, key=lambda mode: _place(seed, "mode", annotator, query_id, mode))


def _place(seed: int, *names: str) -> bytes:
    parts = [str(seed), *names]
    # Lengths go in too, so that ("ab", "c") and ("a", "bc") differ.
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
