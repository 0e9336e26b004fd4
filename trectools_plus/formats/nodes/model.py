"""Values of JSON and YAML with their lines, and the text of each scalar.

A YAML loader converts ``010`` to 8, ``12:30`` to 750 and ``no`` to false. Here every scalar has its
text beside the value that a loader returns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from trectools_plus.formats.files.limits import MAX_DEPTH

JSON_CONSTANTS = frozenset({"NaN", "Infinity", "-Infinity"})
"""Numbers that Python writes to JSON, although JSON does not have them."""

SURROGATES = re.compile("[\ud800-\udfff]")
_MEANINGS = {
    dict: "mapping",
    list: "list",
    str: "text",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


class TreeError(Exception):
    """A document is malformed, and parsing cannot continue.

    Internal: readers convert it to a ``FormatError``, validators to a finding.

    Args:
        what: The problem, in one clause.
        line: The line, from 1.
        remedy: What the user can do about it.
    """

    def __init__(self, what: str, line: int, remedy: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.line = line
        self.remedy = remedy


@dataclass(slots=True, eq=False)
class Node:
    """A value.

    Attributes:
        line: The line where it starts, from 1.
        data: The value that a loader returns; of a list and a mapping, the nodes in it. A mapping
            has the first of equal keys.
        text: The text of a scalar as written, without quotes and with escapes resolved.
        key: Its key, if it is in a mapping.
        cut: The line of its end if a comment follows an unquoted YAML text on that line, which can
            cut off part of an intended text.
    """

    line: int
    data: Any
    text: str = ""
    key: Node | None = None
    cut: int | None = None

    @property
    def meaning(self) -> str:
        """Its type for a loader: ``text``, ``integer``, …; ``other`` for example for a date."""
        return _MEANINGS.get(type(self.data), "other")

    @property
    def fields(self) -> dict[str, Node]:
        """The values of a mapping by key; empty for other values."""
        return self.data if isinstance(self.data, dict) else {}

    @property
    def items(self) -> list[Node]:
        """The values of a list; empty for other values."""
        return self.data if isinstance(self.data, list) else []

    @property
    def is_scalar(self) -> bool:
        """False for a list or a mapping."""
        return not isinstance(self.data, dict | list)

    @property
    def is_empty(self) -> bool:
        """True for null, and for a list or a mapping without content."""
        return self.data is None or (not self.is_scalar and not self.data)

    @property
    def value(self) -> str | None:
        """A description of the loaded value if it differs from the text."""
        if self.meaning == "boolean":
            return f"the boolean {str(self.data).lower()}"
        if self.meaning in ("integer", "number"):
            return None if str(self.data) == self.text else str(self.data)
        if isinstance(self.data, Unread):
            return "a value that cannot be converted"
        return f"a {type(self.data).__name__}" if self.meaning == "other" else None

    def describe(self) -> str:
        """Describe it for a message: "a list", "the boolean false", "text"."""
        if self.meaning in ("text", "null"):
            return self.meaning
        return self.value or self.text if self.is_scalar else f"a {self.meaning}"


def text_node(line: int, text: str) -> Node:
    """Return the node of a text."""
    return Node(line, text, text)


def mapping_of(line: int, fields: dict[str, Node]) -> Node:
    """Return a mapping on one line."""
    for name, node in fields.items():
        node.key = text_node(line, name)
    return Node(line, fields)


def new_node(line: int, data: Any, depth: int) -> Node:
    """Return the node of a value at some depth, from 1.

    Raises:
        TreeError: If it is nested too deeply.
    """
    if depth + isinstance(data, dict | list) > MAX_DEPTH + 1:
        raise TreeError(f"nested more than {MAX_DEPTH} deep", line)
    return Node(line, data)


class Unread:
    """A scalar that is not converted, for example a number of thousands of digits."""


@dataclass(slots=True)
class Tree:
    """A document.

    Attributes:
        root: Its outermost value; ``None`` if the document is empty.
        repeats: The keys that occur again in a mapping, anywhere.
        constants: Scalars that are one of ``JSON_CONSTANTS``.
    """

    root: Node | None = None
    repeats: list[Node] = field(default_factory=list)
    constants: list[Node] = field(default_factory=list)

    def put(self, mapping: Node, key: Node, value: Node) -> None:
        """Put a value into a mapping, or record that the key is repeated."""
        value.key = key
        if mapping.data.setdefault(key.text, value) is not value:
            self.repeats.append(key)


def load_value(node: Node, *, as_text: bool = False) -> Any:
    """Convert a node like a usual loader: to a list, dictionary, text, number, …

    Args:
        node: The node.
        as_text: Convert scalars to their texts, apart from ``null``, ``~`` and empty values.

    Raises:
        TreeError: At a value that cannot be converted.
    """
    if isinstance(node.data, list):
        return [load_value(item, as_text=as_text) for item in node.items]
    if isinstance(node.data, dict):
        return {key: load_value(value, as_text=as_text) for key, value in node.fields.items()}
    if isinstance(node.data, Unread):
        raise TreeError("a value that cannot be converted", node.line)
    return node.text if as_text and node.data is not None else node.data


def refuse_repeats(tree: Tree) -> None:
    """Refuse a document in which a key occurs twice in a mapping.

    Raises:
        TreeError: At the second occurrence.
    """
    for key in tree.repeats:
        raise TreeError(f"key '{key.text}' occurs twice", key.line)


def find_line(root: Node | None, place: Sequence[str | int]) -> int | None:
    """Return the line of a value, or of the innermost existing value that contains its place.

    Args:
        root: The document; ``None`` if it is empty.
        place: The keys and indexes that lead to the value.

    Returns:
        The line; ``None`` if only the root itself contains the place.
    """
    line, node = None, root
    for step in place:
        values: Any = {} if node is None else node.fields or dict(enumerate(node.items))
        node = values.get(step)
        if node is None:
            break
        line = (node.key or node).line
    return line
