"""Parse JSON to a tree with positions, which the standard library does not provide."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]

from trectools_plus.formats.nodes.model import (
    Items,
    Mapping,
    Meaning,
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


def read_scalar(node: Scalar) -> object:
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
