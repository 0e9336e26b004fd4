"""Parse YAML to a tree, from the events of PyYAML's parser.

PyYAML's own composer is not used, because deep nesting makes it crash.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from trectools_plus.formats.nodes.model import (
    MAX_DIGITS,
    MAX_REPEATED,
    Items,
    Mapping,
    Node,
    Scalar,
    Tree,
    TreeError,
    TreeReader,
    Unread,
)
from trectools_plus.text import quoted

_TAG = "tag:yaml.org,2002:"
_KNOWN_TAGS = frozenset({"str", "int", "float", "bool", "null", "map", "seq", "timestamp"})
_COMMENT_FOLLOWS = re.compile(r"[ \t]+#")
_SURROGATES = re.compile("[\ud800-\udfff]")
_TAG_DIRECTIVE = re.compile(r"^%TAG\b", re.MULTILINE)
_MAX_DIRECTIVES = 64
"""The parser compares each directive with all others."""


def parse_yaml(text: str) -> Tree:
    """Parse one YAML document; ``<<`` is resolved.

    Raises:
        TreeError: If the text is not YAML, has a second document or an unknown tag, or is
            too large or too deep.
    """
    for number, directive in enumerate(_TAG_DIRECTIVE.finditer(text), 1):
        if number > _MAX_DIRECTIVES:
            line = text.count("\n", 0, directive.start()) + 1
            raise TreeError(f"more than {_MAX_DIRECTIVES} directives", line, 1)
    reader = _YamlReader(text)
    try:
        return reader.read()
    except yaml.reader.ReaderError:
        raise reader.bad_character() from None
    except yaml.MarkedYAMLError as error:
        raise reader.syntax_error(error) from None
    except (yaml.YAMLError, ValueError) as error:
        raise TreeError(str(error).splitlines()[0] or "invalid YAML", 1) from None


class _YamlReader(TreeReader):
    """Builds nodes from events; an alias is the node that it refers to."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        # libyaml is about ten times faster than the parser in Python, but not always available.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self._events: Iterator[Any] = yaml.parse(text, Loader=loader)
        self._resolver: Any = yaml.SafeLoader("")
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._n_repeated = 0

    def read(self) -> Tree:
        n_documents = 0
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                n_documents += 1
                if n_documents > 1:
                    raise TreeError("a second document begins", *self._place_of(event))
            elif isinstance(event, yaml.NodeEvent):
                self.tree.root = self._node(event, 0)
        return self.tree

    def _place_of(self, event: Any) -> tuple[int, int]:
        return self.place(event.start_mark.index)

    def _node(self, event: Any, depth: int) -> Node:
        is_collection = isinstance(event, yaml.CollectionStartEvent)
        line, column = self.begin(event.start_mark.index, depth + is_collection)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(str(event.anchor), line, column)
        known = event.tag is None or event.tag.removeprefix(_TAG) in _KNOWN_TAGS
        if not known and event.tag != "!":
            raise TreeError(f"unknown tag {quoted(event.tag)}", line, column)
        if event.anchor is not None:
            inside = Unread("an alias to the value that contains it")
            self._anchors[event.anchor] = Scalar(line, column, "", inside), 0
        size = self.size
        node: Node
        if isinstance(event, yaml.ScalarEvent):
            node = self._scalar(event, line, column)
        elif isinstance(event, yaml.SequenceStartEvent):
            items = [self._node(item, depth + 1) for item in self._inner_events()]
            node = Items(line, column, items)
        else:
            node = self._mapping(Mapping(line, column), depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = node, self.size - size
        return node

    def _inner_events(self) -> Iterator[Any]:
        """Yield the first events of the values up to the end of the list or mapping."""
        for event in self._events:
            if isinstance(event, yaml.CollectionEndEvent):
                return
            yield event

    def _alias(self, name: str, line: int, column: int) -> Node:
        if name not in self._anchors:
            raise TreeError(f"alias {quoted(f'*{name}')} has no anchor", line, column)
        node, size = self._anchors[name]
        self.size += size
        self._n_repeated += size
        if self._n_repeated > MAX_REPEATED:
            what = f"aliases repeat more than {MAX_REPEATED:,} values"
            raise TreeError(what, line, column)
        return node

    def _mapping(self, mapping: Mapping, depth: int) -> Mapping:
        pairs: list[tuple[Scalar, Node]] = []
        merged: list[Node] = []
        event: Any
        for event in self._inner_events():
            if isinstance(event, yaml.CollectionStartEvent):
                raise TreeError("a list or mapping as key", *self._place_of(event))
            key = self._node(event, depth + 1)
            value = self._node(next(self._events), depth + 1)
            if not isinstance(key, Scalar):
                raise TreeError("a list or mapping as key", key.line, key.column)
            if key.text == "<<" and key.is_plain:
                merged += value.items if isinstance(value, Items) else [value]
            else:
                pairs.append((key, value))
        self.fill(mapping, pairs)
        for part in merged:
            inherited = part.pairs if isinstance(part, Mapping) else {}
            mapping.pairs = {**inherited, **mapping.pairs}
        return mapping

    def _scalar(self, event: Any, line: int, column: int) -> Scalar:
        text = _SURROGATES.sub("\ufffd", event.value)
        plain = not event.style  # '' in the C parser, None in the other one
        tag = event.tag
        if tag is None or tag == "!":
            tag = self._resolver.resolve(yaml.ScalarNode, event.value, event.implicit)
        end = event.end_mark.index
        cut = plain and _COMMENT_FOLLOWS.match(self.text, end) is not None
        is_text = tag == f"{_TAG}str"
        data = text if is_text else _construct(tag, event.value)
        return Scalar(line, column, text, data, plain, self.place(end)[0] if cut else None)

    def bad_character(self) -> TreeError:
        """Return the error for a character that YAML does not allow."""
        match = yaml.reader.Reader.NON_PRINTABLE.search(self.text)
        if match is None:
            return TreeError("a character that YAML does not allow", 1)
        what = f"character U+{ord(match[0]):04X}, which YAML does not allow"
        return TreeError(what, *self.place(match.start()))

    def syntax_error(self, error: Any) -> TreeError:
        """Convert an error of PyYAML's parser."""
        mark, start = error.problem_mark, error.context_mark
        if mark is None or (start is not None and not self.text[mark.index :].strip()):
            mark = start  # an unclosed value at the end of the file: report where it starts
        last = len(self.text.rstrip("\n"))
        line, column = self.place(0 if mark is None else min(mark.index, last))
        indent = re.match(r"[ \t]*", self.text.split("\n", line)[line - 1])
        problem = str(error.problem or error.context or "invalid YAML")
        if "cannot start any token" in problem and indent and "\t" in indent[0]:
            return TreeError("tab used to indent", line, column)
        return TreeError(f"invalid YAML: {' '.join(problem.split())}", line, column)


def _construct(tag: str, text: str) -> object:
    """Return the value of a scalar in YAML 1.1."""
    name = tag.removeprefix(_TAG)
    if name in ("int", "float") and len(text) > MAX_DIGITS:
        return Unread("a number")
    try:
        return yaml.constructor.SafeConstructor().construct_object(yaml.ScalarNode(tag, text))
    except (yaml.YAMLError, ValueError, KeyError, IndexError, OverflowError):
        return Unread(f"a {name}")
