"""Parse JSON and YAML to trees with positions."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

from trectools_plus.formats.files.limits import MAX_DEPTH
from trectools_plus.formats.nodes.model import (
    JSON_CONSTANTS,
    MAX_DIGITS,
    Items,
    Node,
    Scalar,
    Tree,
    TreeError,
    TreeReader,
    Unread,
)

MAX_DOCUMENT_BYTES = 64 << 20
"""The greatest size of YAML and JSON documents; their tree takes several times as much memory."""
Syntax = Literal["json", "yaml"]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[^\s\[\]{},:"]+')
"""The start of a value or of a key."""
_SURROGATES = re.compile("[\ud800-\udfff]")


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


def parse_json(text: str, first_line: int = 1) -> Tree:
    """Parse one JSON document.

    NaN and infinities, which are not JSON, are accepted and recorded.

    Args:
        text: The document.
        first_line: The line number of its first line in the file.

    Raises:
        TreeError: If the text is not JSON, or is too large or too deep.
    """
    reader = _JsonReader(text, first_line)
    try:
        reader.tree.root = reader.node(_DECODER.decode(text), 0)
    except RecursionError:
        raise TreeError(f"nested more than {MAX_DEPTH} deep", first_line) from None
    except json.JSONDecodeError as error:
        what, at = error.msg[:1].lower() + error.msg[1:], error.pos
        if at >= len(text):  # Report an error at the end of a file on its last line with text.
            what, at = f"{what} before the end", len(text.rstrip("\n"))
        raise TreeError(f"invalid JSON: {what}", reader.line_at(at)) from None
    return reader.tree


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of a JSON object, with repeated keys."""


class _Plain(str):
    """A number or a constant as it is written."""

    __slots__ = ()


_DECODER = json.JSONDecoder(
    object_pairs_hook=_Pairs, parse_int=_Plain, parse_float=_Plain, parse_constant=_Plain
)


class _JsonReader(TreeReader):
    """Builds nodes of decoded values; the tokens of the text, in the same order, are places."""

    def __init__(self, text: str, first_line: int) -> None:
        super().__init__(text, first_line)
        self._tokens = _TOKEN.finditer(text)

    def node(self, value: Any, depth: int) -> Node:
        """Return the node of the value at the next token."""
        line = self.begin(self.line_at(next(self._tokens).start()), depth + isinstance(value, list))
        if isinstance(value, _Pairs):
            return self.mapping(
                line, [(self._key(name), self.node(inner, depth + 1)) for name, inner in value]
            )
        if isinstance(value, list):
            return Items(line, [self.node(item, depth + 1) for item in value])
        if isinstance(value, _Plain):
            return self._number(Scalar(line, str(value), None))
        if not isinstance(value, str):
            return Scalar(line, json.dumps(value), value)
        if not value.isascii() and _SURROGATES.search(value):
            raise TreeError("an unpaired surrogate is not a character", line)
        return Scalar.of_text(line, value)

    def _key(self, name: str) -> Scalar:
        return Scalar.of_text(self.line_at(next(self._tokens).start()), name)

    def _number(self, node: Scalar) -> Scalar:
        """Add the value of a number or a constant."""
        node.data = Unread("a number") if len(node.text) > MAX_DIGITS else json.loads(node.text)
        if node.meaning == "integer":
            node.text = str(node.data)  # "0" for "-0"
        if node.text in JSON_CONSTANTS:
            self.tree.constants.append(node)
        return node
