"""What an id must be so that it can stand in a run or qrels file and be read back by everyone."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# All that some reader splits at or stops at: Unicode white space and control characters. The
# pattern means the same to Polars and to Python.
UNWRITABLE = r"[\s\x00-\x1f\x7f-\x9f]"
# A comment, or a byte order mark, to whoever reads the file.
UNWRITABLE_STARTS = ("#", "\ufeff")

_UNWRITABLE = re.compile(UNWRITABLE)


MAX_SHOWN = 100
"""Characters of an id or field that a message shows."""


def shortened(text: str) -> str:
    """``text``, cut where it is too long for a message."""
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def id_problem(text: str, kind: Literal["query", "document"]) -> str | None:
    """Say what is wrong with an id, as in "white space in query id 'q 1'"; ``None`` if nothing."""
    if not text:
        return f"empty {kind} id"
    if _UNWRITABLE.search(text):
        return f"white space or control character in {kind} id {shortened(text)!r}"
    if kind == "query" and text.startswith(UNWRITABLE_STARTS):
        return f"{kind} id {shortened(text)!r} would start a comment in a run or qrels file"
    return None


def digest_id(text: str) -> int:
    """Return eight bytes of BLAKE2b as a number; two ids very rarely have the same one."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def find_suspects(digests: npt.NDArray[np.uint64]) -> frozenset[int]:
    """Return the digests that occur more than once: their ids are repeated, or collide."""
    import numpy as np

    ordered = np.sort(digests)
    return frozenset(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
