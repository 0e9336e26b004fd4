"""JSON written as it comes, for documents whose lists are longer than memory should hold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

_INDENT = "  "
_NOTHING = object()
_SCALARS = (str, int, float)
_BATCH = 4096


def json_chunks(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield a JSON text in pieces, indented, invisible characters as escapes.

    Args:
        value: What ``json`` takes, and on top of it any iterable, which becomes a list and is read
            one item at a time, and functions without arguments, which are called when their turn
            comes: for totals that are known at the end. An item of a list that is plain JSON is
            one line.
        depth: How deep the value stands in its document.
    """
    if callable(value):
        yield from json_chunks(value(), depth)
    elif isinstance(value, dict):
        members = ((f"{json.dumps(key)}: ", member) for key, member in value.items())
        yield from _bracketed("{}", members, depth)
    elif value is None or isinstance(value, _SCALARS):
        yield json.dumps(value)
    else:
        yield from _list(iter(value), depth)


def _list(items: Iterator[Any], depth: int) -> Iterator[str]:
    first = next(items, _NOTHING)
    if first is _NOTHING:
        yield "[]"
        return
    items = chain([first], items)
    if isinstance(first, _SCALARS):
        separator = "["
        while batch := list(islice(items, _BATCH)):
            yield f"{separator}{json.dumps(batch)[1:-1]}"
            separator = ", "
        yield "]"
        return
    yield from _bracketed("[]", (("", _compact(item)) for item in items), depth)


def _compact(item: Any) -> Any:
    """An item as JSON text if it holds nothing that is read as it comes; else itself."""
    try:
        return _Text(json.dumps(item))
    except TypeError:
        return item


def _bracketed(brackets: str, members: Iterable[tuple[str, Any]], depth: int) -> Iterator[str]:
    separator = ""
    yield brackets[0]
    for key, member in members:
        yield f"{separator}\n{_INDENT * (depth + 1)}{key}"
        if isinstance(member, _Text):
            yield member
        else:
            yield from json_chunks(member, depth + 1)
        separator = ","
    yield f"\n{_INDENT * depth}{brackets[1]}" if separator else brackets[1]


class _Text(str):
    """A JSON text, done."""

    __slots__ = ()
