"""Compare a document, a table or a text with the same one made again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import islice, zip_longest
from typing import Any

NEAR = 1e-9
"""Figures may differ by this: the last bits of sums differ between machines."""
_IDENTITY = ("query_id", "mode", "component", "baseline", "contrast", "measure", "sign", "code")
"""Keys whose values identify an entry of a list."""
_LONGEST = 120


def find_changes(
    reported: Any,
    rebuilt: Any,
    is_unknown: Callable[[str], bool] = lambda _: False,
    place: str = "",
) -> Iterator[str]:
    """Yield a line for each value that differs, and for another order, with its location.

    Args:
        reported: The document.
        rebuilt: The document made again.
        is_unknown: Returns whether the value at a place could not be made again.
        place: The place of both in a larger document.
    """
    if not isinstance(rebuilt, dict | list) or type(reported) is not type(rebuilt):
        if not _is_near(reported, rebuilt) and not is_unknown(place):
            values = f"reported {_show(reported)}, recomputed {_show(rebuilt)}"
            yield f"{place.removeprefix('.')}: {values}"
        return
    theirs, ours = _entries(reported), _entries(rebuilt)
    for key in dict.fromkeys([*ours, *theirs]):
        if key in ours and key in theirs:
            yield from find_changes(theirs[key], ours[key], is_unknown, place + key)
        elif not is_unknown(place + key):
            value = theirs[key] if key in theirs else ours[key]
            shown = "" if value and isinstance(value, dict | list) else f" {_show(value)}"
            missing, extra = f"missing, recomputed{shown}", f"reported{shown}, but not recomputed"
            yield f"{(place + key).removeprefix('.')}: {extra if key in theirs else missing}"
    orders = [key for key in theirs if key in ours], [key for key in ours if key in theirs]
    swapped = (pair for pair in zip(*orders, strict=True) if pair[0] != pair[1])
    for key, other in islice(swapped, 1):
        name = place.removeprefix(".") or "the document"
        yield f"{name} (order): {key.removeprefix('.')} instead of {other.removeprefix('.')}"


def count_values(value: Any) -> int:
    """Return the number of values of a document; a list or an object without any counts 1."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(map(count_values, inner)) or 1


def _entries(value: Any) -> dict[str, Any]:
    """Return the entries of an object by key, and those of a list by what identifies them."""
    if isinstance(value, dict):
        return {f".{key}": inner for key, inner in value.items()}
    entries: dict[str, Any] = {}
    for place, entry in enumerate(value):
        named = entry if isinstance(entry, dict) else {}
        keys = [named[key] for key in _IDENTITY if isinstance(named.get(key), str)]
        key = identity = f"[{', '.join(keys) or place}]"
        while key in entries:
            key += f" {identity}"
        entries[key] = entry
    return entries


def _is_near(reported: Any, rebuilt: Any) -> bool:
    values = reported, rebuilt
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return math.isclose(*values, rel_tol=NEAR, abs_tol=NEAR)
    return type(reported) is type(rebuilt) and bool(reported == rebuilt)


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def find_text_changes(reported: str, rebuilt: str) -> Iterator[str]:
    """Yield location and content of each difference of two texts.

    Lines that differ are paired in order; long lines are shown around the first difference.
    """
    from difflib import SequenceMatcher

    ours, theirs = rebuilt.splitlines(), reported.splitlines()
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    for what, start, end, first, last in matcher.get_opcodes():
        pairs = zip_longest(theirs[first:last], ours[start:end]) if what != "equal" else ()
        for number, pair in enumerate(pairs, first + 1):
            letters = enumerate(zip(pair[0] or "", pair[1] or "", strict=False))
            begin = max(0, next((at for at, (a, b) in letters if a != b), 0) - 30)
            shown = ["nothing" if line is None else repr(line[begin : begin + 70]) for line in pair]
            yield f"line {number}: reported {shown[0]}, recomputed {shown[1]}"
    if ours == theirs and reported != rebuilt:
        yield "the line ends differ"
