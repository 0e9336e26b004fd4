"""The node model: values of JSON and YAML with their lines, and the text of each scalar.

A YAML loader converts ``010`` to 8, ``12:30`` to 750 and ``no`` to false. Here every scalar has its
text beside the value that a loader returns.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from trectools_plus.formats.files.limits import MAX_DEPTH

MAX_NODES = 2_000_000
"""The greatest number of values in a document, which take about half a gigabyte of memory."""
MAX_DIGITS = 4000
"""Longer numbers are not converted, because the time grows with the square of their length."""
JSON_CONSTANTS = frozenset({"NaN", "Infinity", "-Infinity"})
"""Numbers that Python writes to JSON, although JSON does not have them."""

Meaning = Literal["text", "integer", "number", "boolean", "null", "other"]
_MEANINGS: dict[type, Meaning] = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


# Numbers of the core schema of YAML 1.2, section 10.3.2, that are not numbers in YAML 1.1.
_CORE_OCTAL = re.compile("0o[0-7]+")
_CORE_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)[eE][-+]?[0-9]+")


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


class Unread(str):
    """A scalar that is not converted: its name in messages, for example "a number"."""

    __slots__ = ()


@dataclass(slots=True, eq=False)
class Scalar:
    """A single value.

    Attributes:
        line: Its line, from 1.
        text: The text as written, without quotes and with escapes resolved.
        data: The value that a loader returns; the text itself for a text.
        is_plain: True for YAML without quotes.
        cut: The line of its end if a comment follows an unquoted YAML text on that line, which can
            cut off part of an intended text.
    """

    line: int
    text: str
    data: object
    is_plain: bool = False
    cut: int | None = None

    @classmethod
    def of_text(cls, line: int, text: str) -> Scalar:
        """Return a text."""
        return cls(line, text, text)

    @property
    def meaning(self) -> Meaning:
        """Its type for a loader."""
        return _MEANINGS.get(type(self.data), "other")

    @property
    def value(self) -> str | None:
        """A description of the loaded value if it differs from the text."""
        if self.meaning == "boolean":
            return f"the boolean {str(self.data).lower()}"
        if self.meaning in ("integer", "number"):
            return None if str(self.data) == self.text else str(self.data)
        if self.meaning != "other":
            return None
        return self.data if isinstance(self.data, Unread) else f"a {type(self.data).__name__}"

    @property
    def core(self) -> str | None:
        """The number that YAML 1.2 loaders read from a plain text of YAML 1.1; else ``None``."""
        if not self.is_plain or self.meaning != "text" or len(self.text) > MAX_DIGITS:
            return None
        if _CORE_OCTAL.fullmatch(self.text):
            return str(int(self.text[2:], 8))
        return str(float(self.text)) if _CORE_FLOAT.fullmatch(self.text) else None


@dataclass(slots=True, eq=False)
class Items:
    """A list.

    Attributes:
        line: The line where it starts, from 1.
        items: Its values.
    """

    line: int
    items: list[Node] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Mapping:
    """A mapping: each key once, in the order of the file.

    Attributes:
        line: The line where it starts, from 1.
        pairs: The key and its value by the text of the key; the first of equal keys.
    """

    line: int
    pairs: dict[str, tuple[Scalar, Node]] = field(default_factory=dict)

    @property
    def fields(self) -> dict[str, Node]:
        """The values by key."""
        return {name: value for name, (_, value) in self.pairs.items()}

    @property
    def scalars(self) -> dict[str, Scalar]:
        """The values that are scalars, by key."""
        return {name: value for name, value in self.fields.items() if isinstance(value, Scalar)}


Node: TypeAlias = Scalar | Items | Mapping


@dataclass(slots=True)
class Tree:
    """A document.

    Attributes:
        root: Its outermost value; ``None`` if the document is empty.
        repeats: The keys that occur again in a mapping, anywhere.
        constants: Scalars that are one of ``JSON_CONSTANTS``.
    """

    root: Node | None = None
    repeats: list[Scalar] = field(default_factory=list)
    constants: list[Scalar] = field(default_factory=list)


class TreeReader:
    """The base of readers of documents: lines, limits, and mappings without repeated keys.

    Args:
        text: The document.
        first_line: The line number of its first line in the file.
    """

    def __init__(self, text: str, first_line: int = 1) -> None:
        self.text = text
        self.tree = Tree()
        self.size = 0
        self._first_line = first_line
        self._ends = [match.start() for match in re.finditer("\n", text)]

    def line_at(self, place: int) -> int:
        """Return the line of a position; only LF ends a line."""
        return self._first_line + bisect_left(self._ends, place)

    def begin(self, line: int, depth: int) -> int:
        """Count a value on a line, and return the line.

        Raises:
            TreeError: If there are too many values, or they are nested too deeply.
        """
        self.size += 1
        if self.size > MAX_NODES:
            raise TreeError(f"more than {MAX_NODES:,} values", line)
        if depth > MAX_DEPTH:
            raise TreeError(f"nested more than {MAX_DEPTH} deep", line)
        return line

    def mapping(self, line: int, pairs: Iterable[tuple[Scalar, Node]]) -> Mapping:
        """Return a mapping of the first of equal keys; record the others."""
        mapping = Mapping(line)
        for key, value in pairs:
            if mapping.pairs.setdefault(key.text, (key, value))[0] is not key:
                self.tree.repeats.append(key)
        return mapping


def describe(node: Node) -> str:
    """Describe a value for a message: "a list", "the boolean false", "text"."""
    if not isinstance(node, Scalar):
        return "a list" if isinstance(node, Items) else "a mapping"
    if node.meaning == "null":
        return "null"
    return "text" if node.meaning == "text" else node.value or node.text


def load_value(node: Node, *, as_text: bool = False) -> Any:
    """Convert a node like a usual loader: to a list, dictionary, text, number, …

    Args:
        node: The node.
        as_text: Convert scalars to their texts, apart from ``null``, ``~`` and empty values.

    Raises:
        TreeError: At a value that cannot be converted.
    """
    if isinstance(node, Items):
        return [load_value(item, as_text=as_text) for item in node.items]
    if isinstance(node, Mapping):
        return {key: load_value(value, as_text=as_text) for key, value in node.fields.items()}
    if isinstance(node.data, Unread):
        raise TreeError(f"{node.data}, which is not supported", node.line)
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
        if isinstance(node, Items) and isinstance(step, int) and step < len(node.items):
            node = node.items[step]
            line = node.line
        elif isinstance(node, Mapping) and isinstance(step, str) and step in node.pairs:
            key, node = node.pairs[step]
            line = key.line
        else:
            break
    return line
