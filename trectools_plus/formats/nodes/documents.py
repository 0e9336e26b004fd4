"""Parse YAML and JSON documents to a tree, and convert it to the values of a usual loader."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from trectools_plus.formats.nodes import json as json_nodes
from trectools_plus.formats.nodes.model import Items, Mapping, Node, Scalar, Tree, TreeError

MAX_DOCUMENT_BYTES = 64 << 20
"""The greatest size of YAML and JSON documents; their tree takes several times as much memory."""

Syntax = Literal["json", "yaml"]

_PLAIN_TAGS = (None, "!", *(f"tag:yaml.org,2002:{kind}" for kind in ("str", "map", "seq")))


def parse_document(text: str, syntax: Syntax) -> Tree:
    """Parse a document; the tree of an empty document has no root.

    Args:
        text: The document, without byte order mark.
        syntax: Its syntax.

    Raises:
        TreeError: If the text is too large or too deep, or malformed.
    """
    if len(text) > MAX_DOCUMENT_BYTES:
        raise TreeError(f"a document of over {MAX_DOCUMENT_BYTES >> 20} MiB", 1)
    if syntax == "json":
        return json_nodes.parse_json(text) if text.strip() else Tree()
    # Loading PyYAML takes a tenth of the time of a short command.
    from trectools_plus.formats.nodes.yaml import parse_yaml

    return parse_yaml(text)


def load_value(node: Node, syntax: Syntax) -> object:
    """Convert a node like a usual loader: to a list, dictionary, text, number, …

    YAML's ``<<`` is an ordinary key. All aliases of a node become the same object.

    Raises:
        TreeError: If the node contains itself, or has an unsupported tag.
        ValueError: If a scalar does not match its type.
    """
    if syntax == "json":
        return _Loader(json_nodes.read_scalar).load(node, ())
    from trectools_plus.formats.nodes.yaml import read_scalar

    return _Loader(read_scalar).load(node, ())


def load_texts(node: Node) -> object:
    """Convert a node, with scalars as texts; ``null``, ``~`` and empty values become ``None``.

    Raises:
        TreeError: If the node contains itself, or has an unsupported tag.
    """
    return _Loader(_read_text).load(node, ())


def refuse_repeats(tree: Tree) -> None:
    """Refuse a document in which a key occurs twice in a mapping.

    Raises:
        TreeError: At the second occurrence.
    """
    for repeat in tree.repeats:
        key = repeat.key
        raise TreeError(f"key '{key.text}' occurs twice", key.line, key.column)


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


def _read_text(node: Scalar) -> str | None:
    _refuse_tag(node)
    return None if node.meaning == "null" else node.text


class _Loader:
    """Converts nodes; a node with several aliases is converted once.

    Args:
        read_scalar: Converts a scalar.
    """

    def __init__(self, read_scalar: Callable[[Scalar], object]) -> None:
        self._read_scalar = read_scalar
        self._loaded: dict[int, object] = {}

    def load(self, node: Node, outer: tuple[int, ...]) -> object:
        """Convert a node that is inside the nodes whose ``id()`` is in ``outer``."""
        if isinstance(node, Scalar):
            return self._read_scalar(node)
        if id(node) in outer:
            raise TreeError(
                "this alias is inside the value that it refers to", node.line, node.column
            )
        if id(node) not in self._loaded:
            _refuse_tag(node)
            self._loaded[id(node)] = self._load_collection(node, (*outer, id(node)))
        return self._loaded[id(node)]

    def _load_collection(self, node: Items | Mapping, outer: tuple[int, ...]) -> object:
        if isinstance(node, Items):
            return [self.load(item, outer) for item in node.items]
        if len(node.merged) > 1:
            raise TreeError("key '<<' occurs twice", node.line, node.column)
        loaded = {key: self.load(value, outer) for key, (_, value) in node.pairs.items()}
        if node.merged:
            loaded["<<"] = self.load(node.merged[0], outer)
        return loaded


def _refuse_tag(node: Node) -> None:
    if node.tag not in _PLAIN_TAGS:
        what = f"the tag {node.tag} is not supported"
        raise TreeError(what, node.line, node.column)
