"""The node model: a tree of texts with positions, in which no scalar is converted.

A loader turns ``010`` into 8, ``12:30`` into 750 and ``no`` into false before anybody can look.
Here every scalar keeps its text, beside what a loader would make of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from trectools_plus.formats.files.limits import MAX_DEPTH

MAX_NODES = 2_000_000
"""Values beyond which a document is refused: about half a gigabyte of memory."""

JSON_CONSTANTS = frozenset({"NaN", "Infinity", "-Infinity"})
"""Numbers that Python writes into JSON although JSON does not have them."""

MAX_REPEATED = 50_000
"""Values that aliases and merges may add to those that are written."""

_VISITS = 4
"""No value that is written once is looked at more often than this."""

MAX_MERGES = 16
"""Depth up to which YAML's ``<<`` is followed."""

Meaning = Literal["text", "integer", "number", "boolean", "null", "other"]


class TreeError(Exception):
    """A document is not what its syntax allows; reading ends here.

    Internal: readers raise it again as an error of the file, validators turn it into a finding.

    Args:
        what: What is wrong, in one clause.
        line: The line, from 1.
        column: The character column, from 1.
        remedy: What to do about it.

    Attributes:
        noticed: Line and column at which the parser noticed it, where that is another place.
    """

    noticed: tuple[int, int] | None = None

    def __init__(
        self, what: str, line: int, column: int | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(what)
        self.what = what
        self.line = line
        self.column = column
        self.remedy = remedy


@dataclass(slots=True, eq=False)
class Scalar:
    """A single value.

    Attributes:
        line: Its line, from 1.
        column: Its character column, from 1.
        text: What is written, without quotes and with escapes resolved.
        meaning: What a loader makes of it.
        value: The value in words, where it is not the text: "8", "the boolean false".
        cut: The line, if a plain YAML text ends where a comment begins on the same line.
        core: For a text: what loaders of YAML 1.2 read in its place, in words.
        tag: Its YAML tag, if one is written.
    """

    line: int
    column: int
    text: str
    meaning: Meaning = "text"
    value: str | None = None
    cut: int | None = None
    core: str | None = None
    tag: str | None = None


@dataclass(slots=True, eq=False)
class Items:
    """A list.

    Attributes:
        line: Where it begins, from 1.
        column: Its character column, from 1.
        items: Its values.
        tag: Its YAML tag, if one is written.
    """

    line: int
    column: int
    items: list[Node] = field(default_factory=list)
    tag: str | None = None


@dataclass(slots=True, eq=False)
class Mapping:
    """A mapping: each key once, in the file's order.

    Attributes:
        line: Where it begins, from 1.
        column: Its character column, from 1.
        pairs: By the key's text: the key and its value; the first one of equal keys.
        merged: Values of YAML's ``<<`` keys: their fields count where this mapping has none.
        tag: Its YAML tag, if one is written.
    """

    line: int
    column: int
    pairs: dict[str, tuple[Scalar, Node]] = field(default_factory=dict)
    merged: list[Node] = field(default_factory=list)
    tag: str | None = None


Node: TypeAlias = Scalar | Items | Mapping


@dataclass(frozen=True, slots=True)
class Repeat:
    """A key that occurs twice in a mapping.

    Attributes:
        key: The second occurrence.
        value: Its value.
        first: The value of the first occurrence.
    """

    key: Scalar
    value: Node
    first: Node


@dataclass(slots=True)
class Tree:
    """A document.

    Attributes:
        root: Its top value; ``None`` if the document is empty.
        repeats: Keys that occur twice in a mapping, anywhere.
        constants: The ``JSON_CONSTANTS`` in it.
        n_values: The number of values and keys as written; an alias counts once.
    """

    root: Node | None = None
    repeats: list[Repeat] = field(default_factory=list)
    constants: list[Scalar] = field(default_factory=list)
    n_values: int = 0


class TreeBuilder:
    """Adds values to the list or mapping that is open, without recursion.

    Args:
        tree: The tree that is being built.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._open: list[Items | Mapping] = []
        self._keys: list[Scalar | None] = []

    @property
    def depth(self) -> int:
        """The number of lists and mappings that are open."""
        return len(self._open)

    @property
    def wants_key(self) -> bool:
        """True if the next value is a key of a mapping."""
        return bool(self._open) and isinstance(self._open[-1], Mapping) and self._keys[-1] is None

    def add(self, node: Node) -> None:
        """Add a value or key at the current position.

        Raises:
            TreeError: If there are too many values, or a key is not a scalar.
        """
        self._tree.n_values += 1
        if self._tree.n_values > MAX_NODES:
            raise TreeError(f"more than {MAX_NODES:,} values", node.line, node.column)
        if not self._open:
            self._tree.root = node
            return
        top = self._open[-1]
        if isinstance(top, Items):
            top.items.append(node)
            return
        key = self._keys[-1]
        if key is None:
            if not isinstance(node, Scalar):
                raise TreeError("a list or mapping as key", node.line, node.column)
            self._keys[-1] = node
            return
        self._keys[-1] = None
        self._set(top, key, node)

    def _set(self, mapping: Mapping, key: Scalar, value: Node) -> None:
        if key.text == "<<" and key.meaning == "other":
            mapping.merged.append(value)
        elif key.text in mapping.pairs:
            self._tree.repeats.append(Repeat(key, value, mapping.pairs[key.text][1]))
        else:
            mapping.pairs[key.text] = key, value

    def begin(self, node: Items | Mapping) -> None:
        """Add a list or mapping and open it.

        Raises:
            TreeError: As :meth:`add`, or if it is nested too deeply.
        """
        self.add(node)
        self._open.append(node)
        self._keys.append(None)
        if self.depth > MAX_DEPTH:
            raise TreeError(f"nested more than {MAX_DEPTH} deep", node.line, node.column)

    def end(self) -> None:
        """Close the innermost list or mapping."""
        self._open.pop()
        self._keys.pop()

    @property
    def innermost(self) -> Items | Mapping | None:
        """The list or mapping that was opened last and is still open."""
        return self._open[-1] if self._open else None


def describe(node: Node) -> str:
    """Describe a value for a message: "a list", "the boolean false", "text"."""
    if isinstance(node, Items):
        return "a list"
    if isinstance(node, Mapping):
        return "a mapping"
    if node.meaning == "null":
        return "null"
    return "text" if node.meaning == "text" else node.value or node.text


class TooMuchError(Exception):
    """Aliases and merges add more than ``MAX_REPEATED`` values.

    Internal: the reader turns it into a finding.

    Args:
        node: The value at which the bound was exceeded.
    """

    def __init__(self, node: Node) -> None:
        super().__init__()
        self.node = node


class Unfolder:
    """Gives the items and fields of nodes, with aliases and merges resolved, within a bound.

    A few lines with aliases can stand for billions of values.

    Args:
        n_values: The number of values as written.
    """

    def __init__(self, n_values: int) -> None:
        self._left = _VISITS * n_values + MAX_REPEATED

    def items(self, node: Items) -> list[Node]:
        """Return the items of a list.

        Raises:
            TooMuchError: If the bound is exceeded.
        """
        self._spend(len(node.items), node)
        return node.items

    def fields(self, node: Mapping, depth: int = 0) -> list[tuple[Scalar, Node]]:
        """Return keys and values of a mapping, with those that YAML's ``<<`` merges into it.

        Raises:
            TooMuchError: If the bound is exceeded.
        """
        self._spend(len(node.pairs) + len(node.merged), node)
        if not node.merged or depth > MAX_MERGES:
            return list(node.pairs.values())
        found = dict(node.pairs)
        for other in node.merged:
            for part in self.items(other) if isinstance(other, Items) else [other]:
                if isinstance(part, Mapping):
                    for key, value in self.fields(part, depth + 1):
                        found.setdefault(key.text, (key, value))
        return list(found.values())

    def _spend(self, steps: int, node: Node) -> None:
        self._left -= steps + 1
        if self._left < 0:
            raise TooMuchError(node)
