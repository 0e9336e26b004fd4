"""Values of JSON and YAML with their lines, and the text of each scalar.

A YAML loader converts ``010`` to 8, ``12:30`` to 750 and ``no`` to false. Here every scalar has its
text beside the value that a loader returns. Both are read as a sequence of nodes: from the tokens
of JSON, and from the events of PyYAML, whose composer crashes on deep nesting.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

from trectools_plus.formats.files.limits import MAX_DEPTH
from trectools_plus.text import visible

MAX_DOCUMENT_BYTES = 16 << 20
"""The greatest size of YAML and JSON documents; their tree takes several times as much memory."""
UNREAD = object()
"""The value of a scalar that cannot be converted, for example a number of thousands of digits."""
_MEANINGS = {
    dict: "mapping",
    list: "list",
    str: "text",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


class TreeError(Exception):
    """A document is malformed, and parsing cannot continue.

    Internal: readers convert it to a ``FormatError``, validators to a finding.

    Args:
        what: The problem, in one clause.
        line: The line, from 1.
        code: The rule of ``topics validate`` that reports it.
    """

    def __init__(self, what: str, line: int, code: str = "T104") -> None:
        super().__init__(what)
        self.line, self.code = line, code


@dataclass(slots=True, eq=False)
class Node:
    """A value.

    Attributes:
        line: The line where it starts, from 1.
        data: The value that a loader returns; of a list and a mapping, the nodes in it. A mapping
            has the first of equal keys.
        text: The text of a scalar as written, without quotes and with escapes resolved.
        key: Its key, if it is in a mapping.
        cut: The line of its end if a comment follows an unquoted YAML text on that line, which can
            cut off part of an intended text.
    """

    line: int
    data: Any
    text: str = ""
    key: Node | None = None
    cut: int | None = None

    @property
    def meaning(self) -> str:
        """Its type for a loader: ``text``, ``integer``, …; ``value`` for example for a date."""
        return _MEANINGS.get(type(self.data), "value")

    @property
    def fields(self) -> dict[str, Node]:
        """The values of a mapping by key; empty for other values."""
        return self.data if isinstance(self.data, dict) else {}

    @property
    def items(self) -> list[Node]:
        """The values of a list; empty for other values."""
        return self.data if isinstance(self.data, list) else []

    @property
    def is_scalar(self) -> bool:
        """False for a list or a mapping."""
        return not isinstance(self.data, dict | list)

    @property
    def is_empty(self) -> bool:
        """True for null, and for a list or a mapping without content."""
        return self.data in (None, [], {})

    @property
    def is_whole(self) -> bool:
        """True for an integer that is written as a loader writes it, apart from a plus sign."""
        return self.meaning == "integer" and str(self.data) == self.text.removeprefix("+")

    def describe(self) -> str:
        """Describe it for a message: "a list", "the boolean false", "text"."""
        if self.data is UNREAD:
            return "a value that cannot be converted"
        if not self.is_scalar:
            return f"a {self.meaning}"
        is_named = self.meaning in ("text", "null")
        return self.meaning if is_named else f"the {self.meaning} {str(self.data).lower()}"


def text_node(line: int, text: str) -> Node:
    """Return the node of a text."""
    return Node(line, text, text)


Repeat = Callable[[str, int, str], None]
"""Takes the code, the line and the message of a key that is repeated in a mapping."""


def refuse(_: str, line: int, what: str) -> NoReturn:
    """Refuse a document in which a key occurs twice in a mapping.

    Raises:
        TreeError: At the second occurrence.
    """
    raise TreeError(what, line)


def check_size(text: str) -> None:
    """Refuse a document whose nodes would need too much memory.

    Raises:
        TreeError: If it is too large.
    """
    if len(text) > MAX_DOCUMENT_BYTES:
        raise TreeError(f"a document of over {MAX_DOCUMENT_BYTES >> 20} MiB", 1)


def line_counter(text: str, first_line: int = 1) -> Callable[[int], int]:
    """Return a function that returns the line of a position in a text."""
    ends = [match.start() for match in re.finditer("\n", text)]
    return lambda position: first_line + bisect_left(ends, position)


Parts = Iterator[Node | None]
"""The nodes of a document in their order; ``None`` ends a list or a mapping."""


def _complete(node: Node, parts: Parts, repeat: Repeat, depth: int = 1) -> Node:
    """Put the following nodes into a list or mapping, up to its end."""
    if node.is_scalar:
        return node
    if depth > MAX_DEPTH:
        raise TreeError(f"nested more than {MAX_DEPTH} deep", node.line)
    for part in iter(parts.__next__, None):
        if isinstance(node.data, list):
            node.data.append(_complete(part, parts, repeat, depth + 1))
        elif not part.is_scalar:
            raise TreeError("a list or mapping as key", part.line)
        else:
            value = _complete(next(parts) or part, parts, repeat, depth + 1)
            value.key = part
            if node.data.setdefault(part.text, value) is not value:
                what = f"key {visible(part.text)} is repeated; loaders keep the last value"
                repeat("T116", part.line, what)
    return node


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]|[^\s\[\]{},:"]+')
"""A scalar, or the start or end of a list or mapping."""
_GRAMMAR = json.JSONDecoder(parse_int=str, parse_float=str)


def parse_json(text: str, repeat: Repeat = refuse, first_line: int = 1) -> Node:
    """Parse one JSON document.

    Args:
        text: The document.
        repeat: Takes the keys that are repeated; by default, they are errors.
        first_line: The line number of its first line in the file.

    Raises:
        TreeError: If the text is not JSON, for example because of NaN, or is too large or too deep.
    """
    check_size(text)
    line_of = line_counter(text, first_line)
    try:
        _GRAMMAR.decode(text)
    except RecursionError:
        raise TreeError(f"nested more than {MAX_DEPTH} deep", first_line) from None
    except json.JSONDecodeError as error:
        what = error.msg.lower() + " before the end" * (error.pos >= len(text))
        at = min(error.pos, len(text.rstrip("\n")))
        raise TreeError(f"invalid JSON: {what}", line_of(at)) from None
    parts = (_part(match[0], line_of(match.start())) for match in _TOKEN.finditer(text))
    return _complete(next(parts) or Node(first_line, None), parts, repeat)


def _part(token: str, line: int) -> Node | None:
    """Return the node of a token of JSON."""
    if token[0] == '"' and "\\" not in token:
        return text_node(line, token[1:-1])
    if token in "]}":
        return None
    if token in "[{":
        return Node(line, [] if token == "[" else {})
    if token.endswith(("N", "y")):
        raise TreeError(f"{token} is not valid JSON", line)
    value: Any = UNREAD
    with suppress(ValueError):  # thousands of digits
        value = json.loads(token)
    text = value if isinstance(value, str) else token
    if re.search("[\ud800-\udfff]", text):
        raise TreeError("an unpaired surrogate is not a character", line)
    return Node(line, value, text)


_KNOWN_TAGS = {"!", "str", "int", "float", "bool", "null", "map", "seq", "timestamp"}
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
    import yaml  # takes a tenth of the time of a short command

    check_size(text)
    if text.count("%TAG") > 64:  # the parser compares each with all others
        raise TreeError("more than 64 directives", 1)
    root, parts = None, _yaml_parts(text)
    try:
        for part in parts:
            root = part and _complete(part, parts, repeat)
    except yaml.reader.ReaderError:
        match = yaml.reader.Reader.NON_PRINTABLE.search(text)
        line = line_counter(text)(match.start() if match else 0)
        raise TreeError("a character that YAML does not allow", line) from None
    except yaml.MarkedYAMLError as error:
        raise _malformed(error, text) from None
    return root


def _malformed(error: Any, text: str) -> TreeError:
    mark, start = error.problem_mark, error.context_mark
    if not mark or (start and not text[mark.index :].strip()):
        mark = start  # an unclosed value at the end of the file: report where it starts
    line = min(mark.line if mark else 0, text.rstrip("\n").count("\n")) + 1
    problem = " ".join(str(error.problem or error.context).split())
    return TreeError(f"invalid YAML: {problem}", line)


def _yaml_parts(text: str) -> Parts:
    """Yield the nodes of a document, from the events of the parser."""
    import yaml

    # libyaml is about ten times faster than the parser in Python, but not always available.
    loader, documents = getattr(yaml, "CSafeLoader", yaml.SafeLoader), 0
    events: Iterator[Any] = yaml.parse(text, Loader=loader)
    for event in events:
        documents += isinstance(event, yaml.DocumentStartEvent)
        if documents > 1:
            raise TreeError("a second document begins", event.start_mark.line + 1)
        if isinstance(event, yaml.NodeEvent):
            yield _yaml_part(event, text)
        elif isinstance(event, yaml.CollectionEndEvent):
            yield None


def _yaml_part(event: Any, text: str) -> Node:
    import yaml

    line = event.start_mark.line + 1
    if isinstance(event, yaml.AliasEvent):
        raise TreeError("an alias, which is not read; write the value again", line)
    if (event.tag or "!").removeprefix("tag:yaml.org,2002:") not in _KNOWN_TAGS:
        raise TreeError(f"unknown tag {event.tag!r}"[:80], line)
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event, text)
    return Node(line, [] if isinstance(event, yaml.SequenceStartEvent) else {})


def _scalar(event: Any, text: str) -> Node:
    """Return the text, and the value in YAML 1.1."""
    import yaml

    # A whole loader takes longer to make than both parts of it.
    resolver: Any = yaml.resolver.Resolver()
    tag = (event.tag or "!").strip("!")
    tag = tag or resolver.resolve(yaml.ScalarNode, event.value, event.implicit)
    node = Node(event.start_mark.line + 1, UNREAD, re.sub("[\ud800-\udfff]", "\ufffd", event.value))
    if not event.style and _COMMENT_FOLLOWS.match(text, event.end_mark.index):
        node.cut = event.end_mark.line + 1
    with suppress(yaml.YAMLError, ValueError, KeyError, IndexError, OverflowError):
        node.data = yaml.constructor.SafeConstructor().construct_object(
            yaml.ScalarNode(tag, node.text)
        )
    return node


def load_value(node: Node, *, as_text: bool = False) -> Any:
    """Convert a node like a usual loader: to a list, dictionary, text, number, …

    Args:
        node: The node.
        as_text: Convert scalars to their texts, apart from ``null``, ``~`` and empty values.

    Raises:
        TreeError: At a value that cannot be converted.
    """
    if isinstance(node.data, list):
        return [load_value(item, as_text=as_text) for item in node.items]
    if isinstance(node.data, dict):
        return {key: load_value(value, as_text=as_text) for key, value in node.fields.items()}
    if node.data is UNREAD:
        raise TreeError(node.describe(), node.line)
    return node.text if as_text and node.data is not None else node.data


def find_line(root: Node | None, place: Sequence[str | int]) -> int | None:
    """Return the line of a value, or of the innermost existing value that contains its place.

    Args:
        root: The document; ``None`` if it is empty.
        place: The keys and indexes that lead to the value.

    Returns:
        The line; ``None`` if only the root itself contains the place.
    """
    line = None
    for step in place:
        values: Any = {} if root is None else root.fields or dict(enumerate(root.items))
        root = values.get(step)
        line = (root.key or root).line if root else line
    return line
