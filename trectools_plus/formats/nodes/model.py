"""JSON and YAML as a tree of texts with places: nothing is turned into a number, date or boolean.

A loader turns ``010`` into 8, ``12:30`` into 750 and ``no`` into false before anybody can look.
Here every scalar keeps its text, beside what a loader would make of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from trectools_plus.formats.limits import MAX_DEPTH

MAX_NODES = 2_000_000
"""Values beyond which a document is refused: about half a gigabyte of memory."""

JSON_CONSTANTS = frozenset({"NaN", "Infinity", "-Infinity"})
"""Numbers that Python writes into JSON although JSON does not have them."""

Meaning = Literal["text", "integer", "number", "boolean", "null", "other"]


class TreeError(Exception):
    """A document is not what its format allows; reading ends here.

    Internal: readers turn it into a finding.

    Args:
        what: What is wrong, in one clause.
        line: The line, from 1.
        column: The character column, from 1.
    """

    def __init__(self, what: str, line: int, column: int | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.line = line
        self.column = column


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
    """

    line: int
    column: int
    text: str
    meaning: Meaning = "text"
    value: str | None = None
    cut: int | None = None
    core: str | None = None


@dataclass(slots=True, eq=False)
class Items:
    """A list."""

    line: int
    column: int
    items: list[Node] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Mapping:
    """A mapping: each key once, in the file's order.

    Attributes:
        line: Where it begins, from 1.
        column: Its character column, from 1.
        pairs: By the key's text: the key and its value; the first one of equal keys.
        merged: Values of YAML's ``<<`` keys: their fields count where this mapping has none.
    """

    line: int
    column: int
    pairs: dict[str, tuple[Scalar, Node]] = field(default_factory=dict)
    merged: list[Node] = field(default_factory=list)


Node: TypeAlias = Scalar | Items | Mapping


@dataclass(frozen=True, slots=True)
class Repeat:
    """A key that a mapping has twice.

    Attributes:
        key: The second one.
        value: Its value.
        first: The value of the first one.
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
        n_values: How many values and keys are written.
    """

    root: Node | None = None
    repeats: list[Repeat] = field(default_factory=list)
    constants: list[Scalar] = field(default_factory=list)
    n_values: int = 0


class TreeBuilder:
    """Puts values into the list or mapping that is open; never recursive.

    Args:
        tree: What is being built.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._open: list[Items | Mapping] = []
        self._keys: list[Scalar | None] = []

    @property
    def depth(self) -> int:
        """How many lists and mappings are open."""
        return len(self._open)

    @property
    def wants_key(self) -> bool:
        """Whether the next value is a key of a mapping."""
        return bool(self._open) and isinstance(self._open[-1], Mapping) and self._keys[-1] is None

    def add(self, node: Node) -> None:
        """Add a value (or key) at the place that is next.

        Raises:
            TreeError: If there are too many, they are nested too deeply, or a key is no scalar.
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
        """Add a list or mapping and open it."""
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
        """The list or mapping that is open."""
        return self._open[-1] if self._open else None


def describe(node: Node) -> str:
    """What a value is, for people: "a list", "the boolean false", "text"."""
    if isinstance(node, Items):
        return "a list"
    if isinstance(node, Mapping):
        return "a mapping"
    if node.meaning == "null":
        return "null"
    return "text" if node.meaning == "text" else node.value or node.text
