"""Parse YAML to nodes, from the events of PyYAML, whose composer crashes on deep nesting."""

from __future__ import annotations

import re
from typing import Any

import yaml

from trectools_plus.formats.nodes.model import SURROGATES, Node, Tree, TreeError, Unread, new_node
from trectools_plus.text import quoted

_TAG = "tag:yaml.org,2002:"
_KNOWN_TAGS = frozenset({"str", "int", "float", "bool", "null", "map", "seq", "timestamp"})
_COMMENT_FOLLOWS = re.compile(r"[ \t]+#")
_MAX_DIRECTIVES = 64
"""The parser compares each directive with all others."""


def parse_yaml(text: str) -> Tree:
    """Parse one YAML document, without aliases.

    Raises:
        TreeError: If the text is not YAML, has a second document, an alias or an unknown tag, or is
            too deep.
    """
    if text.count("%TAG") > _MAX_DIRECTIVES:
        raise TreeError(f"more than {_MAX_DIRECTIVES} directives", 1)
    try:
        return _YamlReader(text).read()
    except yaml.reader.ReaderError:
        match = yaml.reader.Reader.NON_PRINTABLE.search(text)
        line = text.count("\n", 0, match.start()) + 1 if match else 1
        raise TreeError("a character that YAML does not allow", line) from None
    except yaml.MarkedYAMLError as error:
        mark, start = error.problem_mark, error.context_mark
        if mark is None or (start is not None and not text[mark.index :].strip()):
            mark = start  # an unclosed value at the end of the file: report where it starts
        line = min(0 if mark is None else mark.line, text.rstrip("\n").count("\n")) + 1
        problem = " ".join(str(error.problem or error.context or "malformed").split())
        raise TreeError(f"invalid YAML: {problem}", line) from None


class _YamlReader:
    """Builds nodes from events."""

    def __init__(self, text: str) -> None:
        # libyaml is about ten times faster than the parser in Python, but not always available.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self._text, self._tree = text, Tree()
        self._events: Any = yaml.parse(text, Loader=loader)
        self._resolver: Any = yaml.SafeLoader("")

    def read(self) -> Tree:
        for event in self._events:
            line = event.start_mark.line + 1
            if isinstance(event, yaml.NodeEvent):
                self._tree.root = self._node(event, 1)
            elif isinstance(event, yaml.DocumentStartEvent) and self._tree.root is not None:
                raise TreeError("a second document begins", line)
        return self._tree

    def _node(self, event: Any, depth: int) -> Node:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            raise TreeError("an alias, which is not read", line, "write the value again")
        if event.tag not in (None, "!") and event.tag.removeprefix(_TAG) not in _KNOWN_TAGS:
            raise TreeError(f"unknown tag {quoted(event.tag)}", line)
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, new_node(line, None, depth))
        is_list = isinstance(event, yaml.SequenceStartEvent)
        node = new_node(line, [] if is_list else {}, depth)
        while not isinstance(inner := next(self._events), yaml.CollectionEndEvent):
            if is_list:
                node.data.append(self._node(inner, depth + 1))
            elif isinstance(inner, yaml.ScalarEvent):
                key = self._node(inner, depth)
                self._tree.put(node, key, self._node(next(self._events), depth + 1))
            else:
                raise TreeError("a list or mapping as key", inner.start_mark.line + 1)
        return node

    def _scalar(self, event: Any, node: Node) -> Node:
        """Add the text, and the value in YAML 1.1."""
        tag = event.tag
        if tag in (None, "!"):
            tag = self._resolver.resolve(yaml.ScalarNode, event.value, event.implicit)
        node.text = SURROGATES.sub("\ufffd", event.value)
        if not event.style and _COMMENT_FOLLOWS.match(self._text, event.end_mark.index):
            node.cut = event.end_mark.line + 1
        try:
            scalar = yaml.ScalarNode(tag, node.text)
            node.data = yaml.constructor.SafeConstructor().construct_object(scalar)
        except (yaml.YAMLError, ValueError, KeyError, IndexError, OverflowError):
            node.data = Unread()
        return node
