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
    Items,
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
    """Parse one YAML document, without aliases.

    Raises:
        TreeError: If the text is not YAML, has a second document, an alias or an unknown tag, or is
            too large or too deep.
    """
    if len(_TAG_DIRECTIVE.findall(text)) > _MAX_DIRECTIVES:
        raise TreeError(f"more than {_MAX_DIRECTIVES} directives", 1)
    reader = _YamlReader(text)
    try:
        return reader.read()
    except yaml.reader.ReaderError:
        match = yaml.reader.Reader.NON_PRINTABLE.search(text)
        line = reader.line_at(match.start() if match else 0)
        raise TreeError("a character that YAML does not allow", line) from None
    except yaml.MarkedYAMLError as error:
        raise reader.syntax_error(error) from None
    except (yaml.YAMLError, ValueError) as error:
        raise TreeError(str(error).splitlines()[0] or "invalid YAML", 1) from None


class _YamlReader(TreeReader):
    """Builds nodes from events."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        # libyaml is about ten times faster than the parser in Python, but not always available.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self._events: Iterator[Any] = yaml.parse(text, Loader=loader)
        self._resolver: Any = yaml.SafeLoader("")

    def read(self) -> Tree:
        n_documents = 0
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                n_documents += 1
                if n_documents > 1:
                    raise TreeError("a second document begins", self._line_of(event))
            elif isinstance(event, yaml.NodeEvent):
                self.tree.root = self._node(event, 0)
        return self.tree

    def _line_of(self, event: Any) -> int:
        return self.line_at(event.start_mark.index)

    def _node(self, event: Any, depth: int) -> Node:
        is_collection = isinstance(event, yaml.CollectionStartEvent)
        line = self.begin(self._line_of(event), depth + is_collection)
        if isinstance(event, yaml.AliasEvent):
            raise TreeError("an alias, which is not read", line, "write the value again")
        known = event.tag is None or event.tag.removeprefix(_TAG) in _KNOWN_TAGS
        if not known and event.tag != "!":
            raise TreeError(f"unknown tag {quoted(event.tag)}", line)
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, line)
        if isinstance(event, yaml.SequenceStartEvent):
            return Items(line, [self._node(item, depth + 1) for item in self._inner_events()])
        return self.mapping(line, self._pairs(depth + 1))

    def _inner_events(self) -> Iterator[Any]:
        """Yield the first events of the values up to the end of the list or mapping."""
        for event in self._events:
            if isinstance(event, yaml.CollectionEndEvent):
                return
            yield event

    def _pairs(self, depth: int) -> Iterator[tuple[Scalar, Node]]:
        for event in self._inner_events():
            if not isinstance(event, yaml.ScalarEvent):
                raise TreeError("a list or mapping as key", self._line_of(event))
            key = self._scalar(event, self.begin(self._line_of(event), depth))
            yield key, self._node(next(self._events), depth)

    def _scalar(self, event: Any, line: int) -> Scalar:
        text = _SURROGATES.sub("\ufffd", event.value)
        plain = not event.style  # '' in the C parser, None in the other one
        tag = event.tag
        if tag is None or tag == "!":
            tag = self._resolver.resolve(yaml.ScalarNode, event.value, event.implicit)
        end = event.end_mark.index
        is_cut = plain and _COMMENT_FOLLOWS.match(self.text, end) is not None
        data = text if tag == f"{_TAG}str" else _construct(tag, event.value)
        return Scalar(line, text, data, plain, self.line_at(end) if is_cut else None)

    def syntax_error(self, error: Any) -> TreeError:
        """Convert an error of PyYAML's parser."""
        mark, start = error.problem_mark, error.context_mark
        if mark is None or (start is not None and not self.text[mark.index :].strip()):
            mark = start  # an unclosed value at the end of the file: report where it starts
        line = 1 if mark is None else self.line_at(min(mark.index, len(self.text.rstrip("\n"))))
        problem = str(error.problem or error.context or "malformed")
        return TreeError(f"invalid YAML: {' '.join(problem.split())}", line)


def _construct(tag: str, text: str) -> object:
    """Return the value of a scalar in YAML 1.1."""
    name = tag.removeprefix(_TAG)
    if name in ("int", "float") and len(text) > MAX_DIGITS:
        return Unread("a number")
    try:
        return yaml.constructor.SafeConstructor().construct_object(yaml.ScalarNode(tag, text))
    except (yaml.YAMLError, ValueError, KeyError, IndexError, OverflowError):
        return Unread(f"a {name}")
