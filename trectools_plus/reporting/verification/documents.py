"""Compare a document, a table or a text with the same one made again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import takewhile, zip_longest
from typing import Any

NEAR = 1e-9
"""Figures may differ by this: the last bits of sums differ between machines."""
_IDENTITY = ("query_id", "mode", "component", "baseline", "contrast", "measure", "sign", "code")
"""Keys whose values identify an entry of a list."""
_LONGEST = 120
Steps = tuple[str, ...]
"""The keys and entries that lead to a value."""


def flatten(value: Any, path: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Yield the path of every value of a document, and the value."""
    items = value
    if isinstance(value, list):
        items = {}
        for place, entry in enumerate(value):
            key = identity = _identify(entry) or f"[{place}]"
            while key in items:
                key += f" {identity}"
            items[key] = entry
    elif isinstance(value, dict):
        items = {f".{key}" if path else str(key): inner for key, inner in value.items()}
    if items and isinstance(items, dict):
        for step, inner in items.items():
            yield from flatten(inner, (*path, step))
    else:
        yield path, value


def find_changes(
    reported: Any, rebuilt: Any, is_unknown: Callable[[str], bool] = lambda _: False
) -> Iterator[str]:
    """Yield a line for each value that differs, and for another order, with its location.

    Args:
        reported: The document.
        rebuilt: The document made again.
        is_unknown: Returns whether the value at a path could not be made again.
    """
    theirs, ours = dict(flatten(reported)), dict(flatten(rebuilt))
    known, expected = ({path[:end] for path in one for end in range(len(path))}
                       for one in (theirs, ours))  # fmt: skip
    absent: set[Steps] = set()
    for path in dict.fromkeys([*ours, *theirs]):
        place = "".join(path)
        if is_unknown(place):
            continue
        if path in theirs and path in ours:
            if not _is_near(theirs[path], ours[path]):
                yield f"{place}: reported {_show(theirs[path])}, recomputed {_show(ours[path])}"
            continue
        side, others = (
            (expected | ours.keys(), theirs) if path in theirs else (known | theirs.keys(), ours)
        )
        part = next((path[:end] for end in range(1, len(path)) if path[:end] not in side), path)
        if part not in absent:
            absent.add(part)
            value = f" {_show(others[path])}" if part == path else ""
            state = (
                f"reported{value}, but not recomputed"
                if path in theirs
                else f"missing, recomputed{value}"
            )
            yield f"{''.join(part)}: {state}"
    orders = [path for path in theirs if path in ours], [path for path in ours if path in theirs]
    for path, other in zip(*orders, strict=True):
        if path != other:
            shared = takewhile(lambda pair: pair[0] == pair[1], zip(path, other, strict=False))
            place = "".join(step for step, _ in shared) or "the document"
            yield f"{place} (order): {path} instead of {other}"
            return


def _identify(entry: Any) -> str:
    named = entry if isinstance(entry, dict) else {}
    keys = [named[key] for key in _IDENTITY if isinstance(named.get(key), str)]
    return f"[{', '.join(keys)}]" if keys else ""


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
        for number, (actual, expected) in enumerate(pairs, first + 1):
            characters = zip(actual or "", expected or "", strict=False)
            same = takewhile(lambda pair: pair[0] == pair[1], characters)
            begin = max(0, sum(1 for _ in same) - 30)
            shown = [
                "nothing" if line is None else repr(line[begin : begin + 70])
                for line in (actual, expected)
            ]
            yield f"line {number}: reported {shown[0]}, recomputed {shown[1]}"
    if ours == theirs and reported != rebuilt:
        yield "the line ends differ"
