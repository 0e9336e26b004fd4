"""Parse JSON and YAML to trees with positions, and convert trees to the values of a loader."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Literal

from trectools_plus.formats.nodes.model import (
    Items,
    Mapping,
    Meaning,
    Node,
    Scalar,
    Tree,
    TreeBuilder,
    TreeError,
)

_TOKEN = re.compile(
    r"[ \t\n\r]*(?:"
    r'(?P<string>")'
    r"|(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![0-9A-Za-z_.])"
    r"|(?P<constant>NaN|-?Infinity)(?![0-9A-Za-z_.])"
    r"|(?P<word>true|false|null)(?![0-9A-Za-z_.])"
    r"|(?P<mark>[\[\]{},:])"
    r")"
)
_BLANKS = re.compile(r"[ \t\n\r]*")
_SURROGATES = re.compile("[\ud800-\udfff]")
_INTEGER = re.compile(r"-?[0-9]+")
_WORDS: dict[str, tuple[Meaning, str | None]] = {
    "true": ("boolean", "the boolean true"),
    "false": ("boolean", "the boolean false"),
    "null": ("null", None),
}


def parse_json(text: str, first_line: int = 1) -> Tree:
    """Parse one JSON document.

    NaN and infinities, which are not JSON, are accepted and recorded.

    Args:
        text: The document.
        first_line: The line number of its first line in the file.

    Raises:
        TreeError: If the text is not JSON, or is too large or too deep.
    """
    return _JsonParser(text, first_line).parse()


def read_json_scalar(node: Scalar) -> object:
    """Convert a scalar like the module ``json``.

    Raises:
        ValueError: If an integer has more digits than Python can convert.
    """
    if node.meaning == "boolean":
        return node.text == "true"
    if node.meaning == "integer":
        return int(node.text)
    if node.meaning == "number":
        return float(node.text)
    return None if node.meaning == "null" else node.text


class _JsonParser:
    """Parses a document in a loop over tokens, without recursion."""

    def __init__(self, text: str, first_line: int) -> None:
        self._text = text
        self._first_line = first_line
        lengths = (len(line) + 1 for line in text.split("\n"))
        self._starts = [0, *accumulate(lengths)]
        self._tree = Tree()
        self._builder = TreeBuilder(self._tree)

    def parse(self) -> Tree:
        at = self._value(0)
        while self._builder.depth:
            at = self._after_value(at)
        at = _blanks_end(self._text, at)
        if at < len(self._text):
            raise self._error("expected the end of the document", at)
        return self._tree

    def _value(self, at: int) -> int:
        """Read a scalar, or the start of a list or mapping with its first element."""
        match = _TOKEN.match(self._text, at)
        if match is None:
            raise self._error("expected a value", _blanks_end(self._text, at))
        kind, start, end = match.lastgroup, match.start(match.lastgroup or 0), match.end()
        place = self._place(start)
        if kind == "mark":
            return self._begin(self._text[start], start, end)
        if kind == "string":
            node, end = self._string(start)
        else:
            node = self._plain(self._text[start:end], kind, place)
        self._builder.add(node)
        return end

    def _begin(self, mark: str, start: int, end: int) -> int:
        if mark not in "[{":
            raise self._error("expected a value", start)
        opened = Items(*self._place(start)) if mark == "[" else Mapping(*self._place(start))
        self._builder.begin(opened)
        at = _blanks_end(self._text, end)
        if self._text[at : at + 1] == ("]" if mark == "[" else "}"):
            self._builder.end()
            return at + 1
        return self._element(at)

    def _element(self, at: int) -> int:
        """Read an element of the innermost list, or a key and value of the innermost mapping."""
        if self._builder.wants_key:
            at = _blanks_end(self._text, at)
            if self._text[at : at + 1] != '"':
                raise self._error("expected a key in double quotes", at)
            key, at = self._string(at)
            self._builder.add(key)
            at = _blanks_end(self._text, at)
            if self._text[at : at + 1] != ":":
                raise self._error("expected ':'", at)
            at += 1
        return self._value(at)

    def _after_value(self, at: int) -> int:
        """Read a comma and the next element, or the end of the innermost list or mapping."""
        at = _blanks_end(self._text, at)
        mark = self._text[at : at + 1]
        end = "]" if isinstance(self._builder.innermost, Items) else "}"
        if mark == end:
            self._builder.end()
            return at + 1
        if mark != ",":
            raise self._error(f"expected ',' or '{end}'", at)
        return self._element(at + 1)

    def _string(self, start: int) -> tuple[Scalar, int]:
        try:
            text, end = scanstring(self._text, start + 1, True)
        except JSONDecodeError as error:
            what = error.msg.split(" at")[0].split(":")[0].lower()
            raise self._error(what, min(error.pos, len(self._text))) from None
        line, column = self._place(start)
        if _SURROGATES.search(text):
            raise TreeError("an unpaired surrogate is not a character", line, column)
        return Scalar(line, column, text), end

    def _plain(self, text: str, kind: str | None, place: tuple[int, int]) -> Scalar:
        if kind == "word":
            meaning, value = _WORDS[text]
            return Scalar(*place, text, meaning, value)
        if kind == "constant":
            node = Scalar(*place, text, "number")
            self._tree.constants.append(node)
            return node
        whole = _INTEGER.fullmatch(text) is not None
        if whole:
            return Scalar(*place, text, "integer")
        value = repr(float(text))
        return Scalar(*place, text, "number", None if value == text else value)

    def _place(self, at: int) -> tuple[int, int]:
        row = bisect_right(self._starts, at) - 1
        return self._first_line + row, at - self._starts[row] + 1

    def _error(self, what: str, at: int) -> TreeError:
        # Report an error at the end of a file at the end of its last line with text.
        if at >= len(self._text):
            at = len(self._text.rstrip("\n"))
            what += " before the end"
        return TreeError(f"invalid JSON: {what}", *self._place(at))


def _blanks_end(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() if match else at


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
        return parse_json(text) if text.strip() else Tree()
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
        return _Loader(read_json_scalar).load(node, ())
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
