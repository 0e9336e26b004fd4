"""Compare a document or a text with the same one made again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

NEAR = 1e-9
"""Figures may differ by this: the last bits of sums differ between machines."""
_LONGEST = 120
_NOTHING = object()


def find_changes(reported: Any, rebuilt: Any, place: str = "") -> Iterator[str]:
    """Yield a line for each value that differs, and for another order, with its location.

    Args:
        reported: The document.
        rebuilt: The document made again.
        place: The place of both in a larger document.
    """
    if isinstance(rebuilt, dict | list) and type(reported) is type(rebuilt):
        theirs, ours = _entries(reported), _entries(rebuilt)
        for key in dict.fromkeys([*ours, *theirs]):
            pair = theirs.get(key, _NOTHING), ours.get(key, _NOTHING)
            yield from find_changes(*pair, place + key)
        if theirs.keys() == ours.keys() and [*theirs] != [*ours]:
            yield f"{place.removeprefix('.') or 'the document'} (order): it differs"
    elif not _is_near(reported, rebuilt):
        values = f"reported {_show(reported)}, recomputed {_show(rebuilt)}"
        yield f"{place.removeprefix('.')}: {values}"


def count_values(value: Any) -> int:
    """Return the number of values of a document; a list or an object without any counts 1."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(map(count_values, inner)) or 1


def _entries(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {f".{key}": inner for key, inner in value.items()}
    return {f"[{place}]": inner for place, inner in enumerate(value)}


def _is_near(reported: Any, rebuilt: Any) -> bool:
    values = reported, rebuilt
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return math.isclose(*values, rel_tol=NEAR, abs_tol=NEAR)
    return type(reported) is type(rebuilt) and bool(reported == rebuilt)


def _show(value: Any) -> str:
    text = "nothing" if value is _NOTHING else repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def find_text_changes(reported: str, rebuilt: str) -> Iterator[str]:
    """Yield location and content of each line that differs; long ones around the difference."""
    pairs = zip_longest(reported.splitlines(), rebuilt.splitlines())
    for number, pair in enumerate(pairs, 1):
        if pair[0] != pair[1]:
            letters = enumerate(zip(pair[0] or "", pair[1] or "", strict=False))
            begin = max(0, next((at for at, (a, b) in letters if a != b), 0) - 30)
            shown = ["nothing" if line is None else repr(line[begin : begin + 70]) for line in pair]
            yield f"line {number}: reported {shown[0]}, recomputed {shown[1]}"
