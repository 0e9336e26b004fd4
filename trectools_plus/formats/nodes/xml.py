"""Find the XML elements with a given name, and return each as a mapping."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.parsers import expat

from trectools_plus.formats.nodes.model import Mapping, Scalar, TreeError
from trectools_plus.text import shortened

_BLANKS = re.compile(rb"\s*")
_SKIPPED = {b"<!--": b"-->", b"<?": b"?>"}
# With this declaration, an undefined entity is an error; otherwise expat skips it silently.
_STANDALONE = b'<?xml version="1.0" standalone="yes"?>'
_UNDEFINED = expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]
_NO_ENTITY = "write the character itself (&amp; for &), because DTDs are not read"


@dataclass(slots=True)
class _Element:
    """An element that is being read.

    Attributes:
        line: The line where it starts, from 1.
        column: Its column in characters, from 1.
        attributes: Its attributes, names in lower case.
        texts: The parts of the text of each child by its name; the element's own text has the
            empty name.
        places: Line and column of the first child with each name.
    """

    line: int
    column: int
    attributes: dict[str, str]
    texts: dict[str, list[str]] = field(default_factory=lambda: {"": []})
    places: dict[str, tuple[int, int]] = field(default_factory=dict)

    def as_node(self) -> Mapping:
        """Return the element as a mapping of texts."""
        here = self.line, self.column
        found = {f"@{name}": (here, value) for name, value in self.attributes.items()}
        found |= {
            name: (self.places.get(name, here), "".join(parts))
            for name, parts in self.texts.items()
        }
        pairs = {
            name: (Scalar(*place, name), Scalar(*place, text))
            for name, (place, text) in found.items()
        }
        return Mapping(*here, pairs)  # type: ignore[arg-type]


def parse_elements(data: bytes, tag: str) -> list[Mapping]:
    """Find all elements with a given name.

    Args:
        data: The file, in UTF-8; it may be a sequence of elements without a root.
        tag: The name in lower case; the file may use upper or lower case.

    Returns:
        The elements in the order of the file. A mapping has the attributes of an element under
        ``@name``, the texts of its children under their names, and its own text under the empty
        name. Names are in lower case; texts of children with the same name are joined, and text
        that is nested deeper belongs to the child.

    Raises:
        TreeError: If the XML is not well-formed, or a document type declares entities or default
            values.
    """
    found: list[_Element] = []
    open_tags: list[str] = []
    depths: list[int] = []  # positions in open_tags of the open elements with this name

    parser = expat.ParserCreate("utf-8")
    before, data, after = _with_root(data)

    def start(name: str, attributes: dict[str, str]) -> None:
        open_tags.append(name.lower())
        line, column = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
        place = line, column - len(before) if line == 1 else column
        if open_tags[-1] == tag:
            lowered = {key.lower(): value for key, value in attributes.items()}
            found.append(_Element(*place, lowered))
            depths.append(len(open_tags) - 1)
        elif depths and len(open_tags) == depths[0] + 2:
            found[-1].texts.setdefault(open_tags[-1], [])
            found[-1].places.setdefault(open_tags[-1], place)

    def end(_: str) -> None:
        open_tags.pop()
        if depths and depths[-1] == len(open_tags):
            depths.pop()

    def characters(text: str) -> None:
        if depths:
            # Text that is nested deeper belongs to the element's direct child.
            child = open_tags[depths[0] + 1 : depths[0] + 2]
            found[-1].texts.setdefault("".join(child), []).append(text)

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    _refuse_declarations(parser)
    try:
        parser.Parse(before, False)
        parser.Parse(data, False)
        parser.Parse(after, True)
    except expat.ExpatError as error:
        raise TreeError(
            f"invalid XML: {expat.ErrorString(error.code)}",
            error.lineno,
            error.offset + 1 - (len(before) if error.lineno == 1 else 0),
            _NO_ENTITY
            if error.code == _UNDEFINED
            else "close every tag, and write &amp; for & and &lt; for <",
        ) from error
    return [element.as_node() for element in found]


def _with_root(data: bytes) -> tuple[bytes, bytes, bytes]:
    """Return the text to parse before the file, the file without declaration, the text after it."""
    # Keep the line ends of the declaration, so that line numbers are right.
    declaration = re.match(rb"\s*<\?xml[^>]*\?>", data)
    if declaration:
        data = b"\n" * declaration[0].count(b"\n") + data[declaration.end() :]
    # Add a root, because some files are a sequence of elements without one. A document type cannot
    # be inside an element, but files with a document type have a root.
    if _has_document_type(data):
        return _STANDALONE, data, b""
    return b"<root>", data, b"</root>"


def _has_document_type(data: bytes) -> bool:
    """Return true if a document type comes before any element."""
    at = 0
    while True:
        blanks = _BLANKS.match(data, at)
        at = blanks.end() if blanks else at
        end = next((end for start, end in _SKIPPED.items() if data.startswith(start, at)), None)
        closed = -1 if end is None else data.find(end, at)
        if end is None or closed < 0:
            return data.startswith(b"<!DOCTYPE", at)
        at = closed + len(end)


def _refuse_declarations(parser: expat.XMLParserType) -> None:
    """Refuse entities and default values; a reference to a DTD is allowed, but not read.

    Entities that contain other entities, and long default values, could fill the memory.
    """

    def refuse(what: str, remedy: str) -> None:
        raise TreeError(what, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1, remedy)

    def entity(name: str, *_: object) -> None:
        what = f"the document type declares an entity, {shortened(name)!r}"
        refuse(what, "write the characters themselves, and remove the declaration")

    def attributes(tag: str, name: str, _: str, default: str | None, __: int) -> None:
        if default is not None:
            what = f"the document type gives <{shortened(tag)}> a default {shortened(name)}"
            refuse(what, "write the attribute in each element, and remove the declaration")

    parser.EntityDeclHandler = entity
    parser.AttlistDeclHandler = attributes
