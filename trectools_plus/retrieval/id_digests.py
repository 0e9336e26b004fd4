"""Eight bytes for an id: enough to find out, in little memory, which ids may be repeated."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt


def digest_id(text: str) -> int:
    """Eight bytes of BLAKE2b as a number; different ids have the same one very rarely."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def find_suspects(digests: npt.NDArray[np.uint64]) -> frozenset[int]:
    """The digests that occur more than once: their ids are repeated, or only look so."""
    ordered = np.sort(digests)
    return frozenset(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
