"""Parse JSON and YAML to trees with positions."""

from __future__ import annotations

import json
import re
from json.decoder import JSONArray, JSONObject  # type: ignore[attr-defined]
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any, Literal

from trectools_plus.formats.nodes.model import (
    JSON_CONSTANTS,
    MAX_DIGITS,
    Items,
    Mapping,
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

_BLANKS = re.compile(r"[ \t\n\r]*")
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
        return reader.read()
    except StopIteration as error:
        what, at = "expecting value", error.value
    except json.JSONDecodeError as error:
        what, at = error.msg[:1].lower() + error.msg[1:], error.pos
    if at >= len(text):  # Report an error at the end of a file on its last line with text.
        what, at = f"{what} before the end", len(text.rstrip("\n"))
    raise TreeError(f"invalid JSON: {what}", *reader.place(at))


class _JsonReader(TreeReader):
    """Builds nodes with the decoder of the standard library."""

    def __init__(self, text: str, first_line: int) -> None:
        super().__init__(text, first_line)
        self._depth = 0
        # The decoder returns numbers as they are written, and lists and mappings as nodes.
        decoder: Any = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
        decoder.parse_object = self._read_object
        decoder.parse_array = self._read_array
        self._scan_once = py_make_scanner(decoder)

    def read(self) -> Tree:
        self.tree.root, end = self._scan(self.text, self._skip_blanks(0))
        end = self._skip_blanks(end)
        if end < len(self.text):
            raise json.JSONDecodeError("Extra data", self.text, end)
        return self.tree

    def _skip_blanks(self, at: int) -> int:
        blanks = _BLANKS.match(self.text, at)
        return blanks.end() if blanks else at

    def _scan(self, text: str, at: int) -> tuple[Node, int]:
        value, end = self._scan_once(text, at)
        if isinstance(value, Items | Mapping):
            return value, end
        line, column = self.begin(at, self._depth)
        if text[at] != '"':
            return self._plain(Scalar(line, column, text[at:end], None)), end
        if _SURROGATES.search(value):
            raise TreeError("an unpaired surrogate is not a character", line, column)
        return Scalar(line, column, value, value), end

    def _plain(self, node: Scalar) -> Scalar:
        """Add the value of a number, a constant, or true, false and null."""
        is_long = len(node.text) > MAX_DIGITS
        node.data = Unread("a number") if is_long else json.loads(node.text)
        if node.meaning == "integer":
            node.text = str(node.data)  # "0" for "-0"
        if node.text in JSON_CONSTANTS:
            self.tree.constants.append(node)
        return node

    def _read_array(self, start: tuple[str, int], *_: object) -> tuple[Node, int]:
        self._depth += 1
        node = Items(*self.begin(start[1] - 1, self._depth))
        node.items, end = JSONArray(start, self._scan)
        self._depth -= 1
        return node, end

    def _read_object(self, start: tuple[str, int], *_: object) -> tuple[Node, int]:
        self._depth += 1
        node = Mapping(*self.begin(start[1] - 1, self._depth))
        pairs, end = JSONObject(start, True, self._scan, None, list)
        self.fill(node, ((self._key(name, value), value) for name, value in pairs))
        self._depth -= 1
        return node, end

    def _key(self, name: str, value: Node) -> Scalar:
        """Return the key before a value, without its column."""
        at = self._starts[value.line - self._first_line] + (value.column or 1) - 1
        line, _ = self.place(self.text.rindex('"', 0, self.text.rindex(":", 0, at)))
        return Scalar(line, None, name, name)
