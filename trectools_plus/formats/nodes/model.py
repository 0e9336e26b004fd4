"""The node model: a tree of texts with positions, in which scalars are not converted.

A YAML loader converts ``010`` to 8, ``12:30`` to 750 and ``no`` to false. Here every scalar has its
text, and a description of the value that a loader would return.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from trectools_plus.formats.files.limits import MAX_DEPTH

MAX_NODES = 2_000_000
"""The greatest number of values in a document, which take about half a gigabyte of memory."""

JSON_CONSTANTS = frozenset({"NaN", "Infinity", "-Infinity"})
"""Numbers that Python writes to JSON, although JSON does not have them."""

MAX_REPEATED = 50_000
"""The number of values that aliases and merges may always add to the written values."""

_VISITS_PER_VALUE = 4
"""The average number of times that a written value may be visited."""

MAX_MERGE_DEPTH = 16
"""The greatest depth to which YAML's ``<<`` is resolved."""

Meaning = Literal["text", "integer", "number", "boolean", "null", "other"]


class TreeError(Exception):
    """A document is malformed, and parsing cannot continue.

    Internal: readers convert it to a ``FormatError``, validators to a finding.

    Args:
        what: The problem, in one clause.
        line: The line, from 1.
        column: The column in characters, from 1.
        remedy: What the user can do about it.

    Attributes:
        noticed: Line and column at which the parser found the problem, if it is another place.
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
        column: Its column in characters, from 1.
        text: The text as written, without quotes and with escapes resolved.
        meaning: Its type for a loader.
        value: A description of the loaded value if it differs from the text, for example "8" or
            "the boolean false".
        cut: The line of its end if a comment follows an unquoted YAML text on that line, which can
            cut off part of an intended text.
        core: A description of the value that YAML 1.2 loaders return if it is a text in YAML 1.1.
        tag: Its YAML tag, if any.
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
        line: The line where it starts, from 1.
        column: Its column in characters, from 1.
        items: Its values.
        tag: Its YAML tag, if any.
    """

    line: int
    column: int
    items: list[Node] = field(default_factory=list)
    tag: str | None = None


@dataclass(slots=True, eq=False)
class Mapping:
    """A mapping: each key once, in the order of the file.

    Attributes:
        line: The line where it starts, from 1.
        column: Its column in characters, from 1.
        pairs: The key and its value by the text of the key; the first of equal keys.
        merged: Values of YAML's ``<<`` keys, whose fields this mapping inherits.
        tag: Its YAML tag, if any.
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
        root: Its outermost value; ``None`` if the document is empty.
        repeats: Keys that occur twice in a mapping, anywhere.
        constants: Scalars that are one of ``JSON_CONSTANTS``.
        n_values: The number of values and keys as written; an alias counts once.
    """

    root: Node | None = None
    repeats: list[Repeat] = field(default_factory=list)
    constants: list[Scalar] = field(default_factory=list)
    n_values: int = 0


class TreeBuilder:
    """Adds values to the innermost open list or mapping, without recursion.

    Args:
        tree: The tree to fill.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._open: list[Items | Mapping] = []
        self._keys: list[Scalar | None] = []

    @property
    def depth(self) -> int:
        """The number of open lists and mappings."""
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
            TreeError: See :meth:`add`; or if it is nested too deeply.
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
        """The innermost open list or mapping."""
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
    """Aliases and merges add too many values.

    Internal: readers convert it to a finding.

    Args:
        node: The value at which the limit was exceeded.
    """

    def __init__(self, node: Node) -> None:
        super().__init__()
        self.node = node


class AliasResolver:
    """Returns items and fields of nodes with aliases and merges resolved, up to a limit.

    The limit is needed because a few lines with aliases can produce billions of values.

    Args:
        n_values: The number of values as written.
    """

    def __init__(self, n_values: int) -> None:
        self._remaining = _VISITS_PER_VALUE * n_values + MAX_REPEATED

    def items(self, node: Items) -> list[Node]:
        """Return the items of a list.

        Raises:
            TooMuchError: If the limit is exceeded.
        """
        self._count_visits(len(node.items), node)
        return node.items

    def fields(self, node: Mapping, depth: int = 0) -> list[tuple[Scalar, Node]]:
        """Return keys and values of a mapping, including those that YAML's ``<<`` merges into it.

        Raises:
            TooMuchError: If the limit is exceeded.
        """
        self._count_visits(len(node.pairs) + len(node.merged), node)
        if not node.merged or depth > MAX_MERGE_DEPTH:
            return list(node.pairs.values())
        found = dict(node.pairs)
        for other in node.merged:
            for part in self.items(other) if isinstance(other, Items) else [other]:
                if isinstance(part, Mapping):
                    for key, value in self.fields(part, depth + 1):
                        found.setdefault(key.text, (key, value))
        return list(found.values())

    def _count_visits(self, visits: int, node: Node) -> None:
        self._remaining -= visits + 1
        if self._remaining < 0:
            raise TooMuchError(node)
