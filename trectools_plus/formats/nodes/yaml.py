"""Parse YAML to a tree, from the events of PyYAML's parser; no objects are constructed."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from typing import Any

import yaml

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
from trectools_plus.text import quoted

_TAG = "tag:yaml.org,2002:"
_MEANINGS: dict[str, Meaning] = {
    "str": "text",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "null": "null",
}
_KNOWN_TAGS = {"map", "seq", "omap", "pairs", "set", "timestamp", "binary", "merge", "value"}
_COMMENT_FOLLOWS = re.compile(r"[ \t]+#")
_OTHER_LINE_ENDS = re.compile("\r(?!\n)|[\x85\u2028\u2029]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_PLAIN_INTEGER = re.compile("0|[1-9][0-9]*")
# Numbers of the core schema of YAML 1.2, section 10.3.2, that are not numbers in YAML 1.1.
_CORE_OCTAL = re.compile("0o[0-7]+")
_CORE_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)[eE][-+]?[0-9]+")
_TAG_DIRECTIVE = re.compile(r"^%TAG\b", re.MULTILINE)
_MAX_DIRECTIVES = 64
"""The parser compares each directive with all others."""
_MAX_DIGITS = 4000
"""Longer numbers are not converted, because the time grows with the square of their length."""


def parse_yaml(text: str) -> Tree:
    """Parse one YAML document; all aliases of a value refer to the same node.

    Raises:
        TreeError: If the text is not YAML, has a second document or an unknown tag, or is
            too large or too deep.
    """
    for number, directive in enumerate(_TAG_DIRECTIVE.finditer(text), 1):
        if number > _MAX_DIRECTIVES:
            line = text.count("\n", 0, directive.start()) + 1
            raise TreeError(f"more than {_MAX_DIRECTIVES} directives", line, 1)
    parser = _YamlParser(text)
    try:
        return parser.parse()
    except yaml.reader.ReaderError:
        raise parser.bad_character() from None
    except yaml.MarkedYAMLError as error:
        raise parser.syntax_error(error) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise TreeError(str(error).splitlines()[0] or "invalid YAML", 1) from None


class _YamlParser:
    """Builds a tree in a loop over the events of PyYAML's parser."""

    def __init__(self, text: str) -> None:
        self._text = text
        # YAML 1.1 also has other line ends than LF, but reported line numbers must count LFs.
        has_other_ends = _OTHER_LINE_ENDS.search(text) is not None
        lengths = (len(line) + 1 for line in text.split("\n"))
        self._starts = [0, *accumulate(lengths)] if has_other_ends else None
        self._resolver: Any = yaml.SafeLoader("")
        self._anchors: dict[str, Node] = {}

    def parse(self) -> Tree:
        tree = Tree()
        builder = TreeBuilder(tree)
        # libyaml is about ten times faster than the parser in Python, but not always available.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        n_documents = 0
        event: Any
        for event in yaml.parse(self._text, Loader=loader):
            if isinstance(event, yaml.DocumentStartEvent):
                n_documents += 1
                if n_documents > 1:
                    raise TreeError("a second document begins", *self._place(event.start_mark))
            elif isinstance(event, yaml.NodeEvent):
                self._add(event, builder)
            elif isinstance(event, yaml.CollectionEndEvent):
                builder.end()
        return tree

    def _add(self, event: Any, builder: TreeBuilder) -> None:
        if isinstance(event, yaml.AliasEvent):
            node = self._anchors.get(str(event.anchor))
            if node is None:
                what = f"alias {quoted(f'*{event.anchor}')} has no anchor"
                raise TreeError(what, *self._place(event.start_mark))
            builder.add(node)
            return
        node = self._node(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        if isinstance(node, Scalar):
            builder.add(node)
        else:
            builder.begin(node)

    def _node(self, event: Any) -> Node:
        place = self._place(event.start_mark)
        if event.tag is not None and event.tag != "!":
            name = event.tag.removeprefix(_TAG)
            if name not in _MEANINGS and name not in _KNOWN_TAGS:
                raise TreeError(f"unknown tag {quoted(event.tag)}", *place)
        if isinstance(event, yaml.SequenceStartEvent):
            return Items(*place, tag=event.tag)
        if isinstance(event, yaml.MappingStartEvent):
            return Mapping(*place, tag=event.tag)
        text = _SURROGATES.sub("\ufffd", event.value)
        # The style of a plain scalar is '' in the C parser and None in the other one.
        plain = not event.style
        tag = event.tag
        if tag is None or tag == "!":
            tag = self._resolver.resolve(yaml.ScalarNode, event.value, event.implicit)
        meaning = _MEANINGS.get(tag.removeprefix(_TAG), "other")
        cut = plain and _COMMENT_FOLLOWS.match(self._text, event.end_mark.index) is not None
        line = self._place(event.end_mark)[0] if cut else None
        core = _core_value(text) if plain and meaning == "text" else None
        value = _value(event.value, tag, meaning)
        return Scalar(*place, text, meaning, value, line, core, event.tag)

    def _place(self, mark: Any) -> tuple[int, int]:
        """Return line and column, from 1."""
        if self._starts is None:
            return mark.line + 1, mark.column + 1
        row = bisect_right(self._starts, mark.index) - 1
        return row + 1, mark.index - self._starts[row] + 1

    def bad_character(self) -> TreeError:
        """Return the error for a character that YAML does not allow."""
        found = yaml.reader.Reader.NON_PRINTABLE.search(self._text)
        if found is None:
            return TreeError("a character that YAML does not allow", 1)
        what = f"character U+{ord(found[0]):04X}, which YAML does not allow"
        line_start = self._text.rfind("\n", 0, found.start()) + 1
        line = self._text.count("\n", 0, found.start()) + 1
        return TreeError(what, line, found.start() - line_start + 1)

    def syntax_error(self, error: Any) -> TreeError:
        """Convert an error of PyYAML's parser."""
        mark, start = error.problem_mark, error.context_mark
        noticed = None if mark is None else self._place(mark)
        if mark is None or (start is not None and not self._text[mark.index :].strip()):
            mark = start  # an unclosed value at the end of the file: report where it starts
        line, column = (1, None) if mark is None else self._place(mark)
        last = self._text.rstrip("\n").count("\n") + 1
        if line > last:
            line, column = last, None
        indent = re.match(r"[ \t]*", self._text.split("\n", line)[line - 1])
        problem = str(error.problem or error.context or "invalid YAML")
        what = f"invalid YAML: {' '.join(problem.split())}"
        if "cannot start any token" in problem and indent and "\t" in indent[0]:
            what = "tab used to indent"
        found = TreeError(what, line, column)
        found.noticed = noticed
        return found


def read_scalar(node: Scalar) -> object:
    """Convert a scalar like PyYAML's safe loader, by the rules of YAML 1.1.

    Raises:
        TreeError: If its tag does not match its text.
        ValueError: If it has the tag or form of a number or date, but is not a valid one.
    """
    tag = node.tag
    if tag is None or tag == "!":
        if node.meaning == "text":
            return node.text
        resolver: Any = yaml.resolver.Resolver()
        tag = resolver.resolve(yaml.ScalarNode, node.text, (True, False))
    if node.meaning in ("integer", "number") and len(node.text) > _MAX_DIGITS:
        raise ValueError(f"a number of more than {_MAX_DIGITS:,} digits")
    try:
        constructor = yaml.constructor.SafeConstructor()
        return constructor.construct_object(yaml.ScalarNode(tag, node.text))
    except yaml.YAMLError as error:
        what = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise TreeError(f"invalid YAML: {what}", node.line, node.column) from None


def _core_value(text: str) -> str | None:
    """Return the YAML 1.2 value of a plain text of YAML 1.1; ``None`` if it is also a text."""
    if _CORE_OCTAL.fullmatch(text):
        return str(int(text[2:], 8)) if len(text) <= _MAX_DIGITS else "a number"
    return repr(float(text)) if _CORE_FLOAT.fullmatch(text) else None


def _value(text: str, tag: str, meaning: Meaning) -> str | None:
    """Describe PyYAML's value of a scalar; return ``None`` if it is the text itself."""
    if meaning == "text":
        return None
    if meaning == "other":
        return f"a {tag.removeprefix(_TAG)}"
    if len(text) > _MAX_DIGITS:
        return "a number"
    if _PLAIN_INTEGER.fullmatch(text):
        return None
    constructor = yaml.constructor.SafeConstructor()
    node = yaml.ScalarNode(tag, text)
    try:
        if meaning == "boolean":
            return f"the boolean {str(constructor.construct_yaml_bool(node)).lower()}"
        if meaning == "integer":
            value = str(constructor.construct_yaml_int(node))
        elif meaning == "number":
            value = repr(constructor.construct_yaml_float(node))
        else:
            return None
    except (ValueError, KeyError, IndexError, OverflowError):
        return f"a {meaning}"
    return None if value == text else value
