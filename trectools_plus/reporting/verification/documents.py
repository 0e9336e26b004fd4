"""Compare a document with the same document made again, value by value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

NEAR = 1e-9
"""Figures may differ by this: the last bits of sums differ between machines."""
_IDENTITY = ("query_id", "mode", "component", "baseline", "contrast", "measure", "sign", "code")
"""Keys whose values identify an entry of a list."""
_LONGEST = 120


@dataclass(slots=True)
class DocumentComparison:
    """A comparison of JSON documents.

    Attributes:
        where: The name of the file, for findings.
        is_unknown: Returns whether the value at a path could not be made again.
        findings: A line for each value that differs, with its location.
        values: Number of compared values.
    """

    where: str
    is_unknown: Callable[[str], bool] = lambda _: False
    findings: list[str] = field(default_factory=list)
    values: int = 0

    def compare(self, reported: Any, rebuilt: Any, path: str = "") -> Any:
        """Compare two values, and everything inside them.

        Args:
            reported: The value in the document.
            rebuilt: The value made again.
            path: Its location in the document.

        Returns:
            The value made again, with the reported figures where they are nearly equal.
        """
        if isinstance(reported, dict) and isinstance(rebuilt, dict):
            return self._compare_keys(reported, rebuilt, path)
        if isinstance(reported, list) and isinstance(rebuilt, list):
            return self._compare_items(reported, rebuilt, path)
        self.values += 1
        if self._is_equal(reported, rebuilt, path):
            return reported
        self._add(path, reported, rebuilt)
        return rebuilt

    def _is_equal(self, reported: Any, rebuilt: Any, path: str) -> bool:
        if _is_number(reported) and _is_number(rebuilt):
            is_near = math.isclose(reported, rebuilt, rel_tol=NEAR, abs_tol=NEAR)
            return is_near or self.is_unknown(path)
        if type(reported) is type(rebuilt) and reported == rebuilt:
            return True
        return self.is_unknown(path)

    def _compare_keys(
        self, reported: dict[str, Any], rebuilt: dict[str, Any], path: str
    ) -> dict[str, Any]:
        found = {}
        for key, value in rebuilt.items():
            place = f"{path}.{key}" if path else key
            if key in reported:
                found[key] = self.compare(reported[key], value, place)
            else:
                found[key] = value
                self.findings.append(f"{self.where}: {place}: missing, recomputed {_show(value)}")
        for key, value in reported.items():
            if key not in rebuilt:
                place = f"{path}.{key}" if path else key
                if self.is_unknown(place):
                    found[key] = value
                else:
                    self.findings.append(
                        f"{self.where}: {place}: reported {_show(value)}, but a benchmark of "
                        "these files does not report it"
                    )
        orders = [[key for key in one if key in other]
                  for one, other in ((reported, rebuilt), (rebuilt, reported))]  # fmt: skip
        if orders[0] != orders[1]:
            self._add(f"{path or 'the document'} (order)", orders[0], orders[1])
        return found

    def _compare_items(self, reported: list[Any], rebuilt: list[Any], path: str) -> list[Any]:
        pairs = _align(reported, rebuilt)
        if pairs is None:
            if len(reported) != len(rebuilt):
                self.values += 1
                if self.is_unknown(path):
                    return reported
                self._add(path, reported, rebuilt)
                return rebuilt
            pairs = [
                (f"[{place}]", one, other)
                for place, (one, other) in enumerate(zip(reported, rebuilt, strict=True))
            ]
        elif len(reported) != len(rebuilt):
            self.findings.append(
                f"{self.where}: {path}: {len(reported)} entries reported, {len(rebuilt)} recomputed"
            )
        found = []
        for place, one, other in pairs:
            if one is _MISSING:
                self.findings.append(f"{self.where}: {path}{place}: the report does not list it")
                found.append(other)
            elif other is _MISSING and self.is_unknown(f"{path}{place}"):
                found.append(one)
            elif other is _MISSING:
                self.findings.append(f"{self.where}: {path}{place}: reported, but not recomputed")
            else:
                found.append(self.compare(one, other, f"{path}{place}"))
        return found

    def _add(self, path: str, reported: Any, rebuilt: Any) -> None:
        self.findings.append(
            f"{self.where}: {path}: reported {_show(reported)}, recomputed {_show(rebuilt)}"
        )


_MISSING = object()


def _align(reported: list[Any], rebuilt: list[Any]) -> list[tuple[str, Any, Any]] | None:
    """Pair entries with the same identity, in the order of the second list.

    ``None`` if entries have no identity, or if both lists have the same entries in another order.
    """
    theirs, ours = _identify_all(reported), _identify_all(rebuilt)
    if theirs is None or ours is None:
        return None
    known = dict(zip(theirs, reported, strict=True))
    expected = dict(zip(ours, rebuilt, strict=True))
    if theirs != ours and known.keys() == expected.keys():
        return None
    return [
        (f"[{', '.join(key)}]", known.get(key, _MISSING), expected.get(key, _MISSING))
        for key in dict.fromkeys([*ours, *theirs])
    ]


def _identify_all(entries: list[Any]) -> list[tuple[str, ...]] | None:
    """Return a different identity of each entry; ``None`` if one has none."""
    found: list[tuple[str, ...]] = []
    for entry in entries:
        key = _identify(entry)
        if key is None:
            return None
        count = sum(one[: len(key)] == key for one in found) if key in found else 0
        found.append((*key, f"no. {count + 1}") if count else key)
    return found


def _identify(entry: Any) -> tuple[str, ...] | None:
    if not isinstance(entry, dict):
        return None
    return tuple(str(entry[key]) for key in _IDENTITY if isinstance(entry.get(key), str)) or None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _show(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def find_text_changes(reported: str, rebuilt: str) -> Iterator[str]:
    """Yield location and content of each difference of two texts.

    Lines that differ are paired in order; long lines are shown around the first difference.
    """
    from difflib import SequenceMatcher

    ours, theirs = rebuilt.splitlines(), reported.splitlines()
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    for what, start, end, first, last in matcher.get_opcodes():
        if what == "equal":
            continue
        for step in range(max(end - start, last - first)):
            expected = ours[start + step] if start + step < end else None
            actual = theirs[first + step] if first + step < last else None
            yield f"line {min(first + step, max(last, 1) - 1) + 1}: {_contrast(actual, expected)}"
    if ours == theirs and reported != rebuilt:
        yield "the line ends differ"


def _contrast(actual: str | None, expected: str | None) -> str:
    if actual is None:
        return f"missing: {_show(expected)}"
    if expected is None:
        return f"not recomputed: {_show(actual)}"
    place = next(
        (at for at, (one, two) in enumerate(zip(actual, expected, strict=False)) if one != two),
        min(len(actual), len(expected)),
    )
    begin = max(0, place - 30)
    shown = [repr(text[begin : place + 40]) for text in (actual, expected)]
    column = f"column {place + 1}: " if begin else ""
    return f"{column}reported {shown[0]}, recomputed {shown[1]}"
