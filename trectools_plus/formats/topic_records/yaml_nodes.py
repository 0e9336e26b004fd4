"""Parse YAML to nodes, from the events of PyYAML, whose composer crashes on deep nesting."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from trectools_plus.formats.topic_records.nodes import (
    UNREAD,
    Node,
    Repeat,
    TreeError,
    check_depth,
    check_size,
    put,
    refuse,
)

_TAG = "tag:yaml.org,2002:"
_KNOWN_TAGS = frozenset({"str", "int", "float", "bool", "null", "map", "seq", "timestamp"})
_COMMENT_FOLLOWS = re.compile(r"[ \t]+#")


def parse_yaml(text: str, repeat: Repeat = refuse) -> Node | None:
    """Parse one YAML document, without aliases.

    Args:
        text: The document.
        repeat: Takes the keys that are repeated; by default, they are errors.

    Raises:
        TreeError: If the text is not YAML, is too large or too deep, or has a second document, an
            alias or an unknown tag.
    """
    check_size(text)
    if text.count("%TAG") > 64:  # the parser compares each with all others
        raise TreeError("more than 64 directives", 1)
    # libyaml is about ten times faster than the parser in Python, but not always available.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    root: Node | None = None
    try:
        events: Iterator[Any] = yaml.parse(text, Loader=loader)
        for event in events:
            line = event.start_mark.line + 1
            if isinstance(event, yaml.NodeEvent):
                root = _node(event, events, text, repeat, 1)
            elif isinstance(event, yaml.DocumentStartEvent) and root is not None:
                raise TreeError("a second document begins", line)
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
    return root


def _node(event: Any, events: Iterator[Any], text: str, repeat: Repeat, depth: int) -> Node:
    """Return the node that begins with an event."""
    line = event.start_mark.line + 1
    if isinstance(event, yaml.AliasEvent):
        raise TreeError("an alias, which is not read; write the value again", line)
    if event.tag not in (None, "!") and event.tag.removeprefix(_TAG) not in _KNOWN_TAGS:
        raise TreeError(f"unknown tag {event.tag!r}"[:80], line)
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event, text)
    check_depth(depth, line)
    is_list = isinstance(event, yaml.SequenceStartEvent)
    node = Node(line, [] if is_list else {})
    while not isinstance(inner := next(events), yaml.CollectionEndEvent):
        if is_list:
            node.data.append(_node(inner, events, text, repeat, depth + 1))
        elif isinstance(inner, yaml.ScalarEvent):
            value = _node(next(events), events, text, repeat, depth + 1)
            put(node, _scalar(inner, text), value, repeat)
        else:
            raise TreeError("a list or mapping as key", inner.start_mark.line + 1)
    return node


_RESOLVER: Any = yaml.SafeLoader("")


def _scalar(event: Any, text: str) -> Node:
    """Return the text, and the value in YAML 1.1."""
    tag = event.tag
    if tag in (None, "!"):
        tag = _RESOLVER.resolve(yaml.ScalarNode, event.value, event.implicit)
    node = Node(event.start_mark.line + 1, UNREAD, re.sub("[\ud800-\udfff]", "\ufffd", event.value))
    if not event.style and _COMMENT_FOLLOWS.match(text, event.end_mark.index):
        node.cut = event.end_mark.line + 1
    try:
        scalar = yaml.ScalarNode(tag, node.text)
        node.data = yaml.constructor.SafeConstructor().construct_object(scalar)
    except (yaml.YAMLError, ValueError, KeyError, IndexError, OverflowError):
        pass  # stays unread
    return node
