"""Parse JSON and YAML to nodes."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from typing import Any, Literal

from trectools_plus.formats.files.limits import MAX_DEPTH
from trectools_plus.formats.nodes.model import (
    JSON_CONSTANTS,
    SURROGATES,
    Node,
    Tree,
    TreeError,
    Unread,
    new_node,
)

MAX_DOCUMENT_BYTES = 16 << 20
"""The greatest size of YAML and JSON documents; their tree takes several times as much memory."""
Syntax = Literal["json", "yaml"]


def parse_document(text: str, syntax: Syntax) -> Tree:
    """Parse a document; the tree of an empty document has no root.

    Args:
        text: The document, without byte order mark.
        syntax: Its syntax.

    Raises:
        TreeError: If the text is too large or too deep, or malformed. YAML is also refused with a
            second document, an alias or an unknown tag.
    """
    if len(text) > MAX_DOCUMENT_BYTES:
        raise TreeError(f"a document of over {MAX_DOCUMENT_BYTES >> 20} MiB", 1)
    if syntax == "json":
        return parse_json(text) if text.strip() else Tree()
    # Loading PyYAML takes a tenth of the time of a short command.
    from trectools_plus.formats.nodes.yaml import parse_yaml

    return parse_yaml(text)


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[^\s\[\]{},:"]+')
"""The start of a value or of a key."""


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of a JSON object, with repeated keys."""


class _Plain(str):
    """A number or a constant as it is written."""

    __slots__ = ()


_DECODER = json.JSONDecoder(
    object_pairs_hook=_Pairs, parse_int=_Plain, parse_float=_Plain, parse_constant=_Plain
)


def parse_json(text: str, first_line: int = 1) -> Tree:
    """Parse one JSON document.

    NaN and infinities, which are not JSON, are accepted and recorded.

    Args:
        text: The document.
        first_line: The line number of its first line in the file.

    Raises:
        TreeError: If the text is not JSON, or is too large or too deep.
    """
    ends = [match.start() for match in re.finditer("\n", text)]
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise TreeError(f"nested more than {MAX_DEPTH} deep", first_line) from None
    except json.JSONDecodeError as error:
        at = min(error.pos, len(text.rstrip("\n")))
        what = error.msg[:1].lower() + error.msg[1:] + " before the end" * (error.pos >= len(text))
        line = first_line + bisect_left(ends, at)
        raise TreeError(f"invalid JSON: {what}", line) from None
    tree, tokens = Tree(), _TOKEN.finditer(text)

    def node(value: Any, depth: int) -> Node:
        """Return the node of the value at the next token."""
        line = first_line + bisect_left(ends, next(tokens).start())
        if isinstance(value, _Pairs):
            mapping = new_node(line, {}, depth)
            for name, inner in value:
                tree.put(mapping, node(name, depth), node(inner, depth + 1))
            return mapping
        result = new_node(line, value, depth)
        if isinstance(value, list):
            result.data = [node(item, depth + 1) for item in value]
        elif isinstance(value, _Plain):
            result.data, result.text = _number(value), str(value)
            tree.constants += [result] if value in JSON_CONSTANTS else []
        else:
            result.text = value if isinstance(value, str) else json.dumps(value)
            if SURROGATES.search(result.text):
                raise TreeError("an unpaired surrogate is not a character", line)
        return result

    tree.root = node(value, 1)
    return tree


def _number(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:  # thousands of digits
        return Unread()
