"""Parse XML to elements with positions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.parsers import expat

from trectools_plus.formats.files.limits import MAX_DEPTH
from trectools_plus.formats.nodes.model import MAX_NODES, TreeError
from trectools_plus.text import shortened

MAX_DEFAULTS = 200
"""The greatest total length of default values, which the parser adds to every element."""
_BLANKS = re.compile(rb"\s*")
_SKIPPED = {b"<!--": b"-->", b"<?": b"?>"}
# With this declaration, an undefined entity is an error; otherwise expat skips it silently.
_STANDALONE = b'<?xml version="1.0" standalone="yes"?>'
_UNDEFINED = expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]
_NO_ENTITY = "write the character itself (&amp; for &), because DTDs are not read"


@dataclass(slots=True, eq=False)
class Element:
    """An element of XML.

    Attributes:
        name: Its name in lower case.
        line: The line where it starts, from 1.
        column: The column where it starts, from 1.
        attributes: Its attributes, names in lower case.
        start: Its number in the order of start and end tags.
        end: The number of its end tag.
        children: The elements in it.
        own_text: The text in it, but not in its children.
        texts: All texts of the document.
        first_text: The position in ``texts`` of the first text in this element.
        last_text: The position after the last one.
    """

    name: str
    line: int
    column: int
    attributes: dict[str, str]
    start: int
    end: int = 0
    children: list[Element] = field(default_factory=list)
    own_text: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    first_text: int = 0
    last_text: int = 0

    @property
    def all_text(self) -> list[str]:
        """The text in it and in its children."""
        return self.texts[self.first_text : self.last_text]


def parse_xml(data: bytes) -> list[Element]:
    """Parse a document.

    Args:
        data: The file, in UTF-8; it may be a sequence of elements without a root.

    Returns:
        All elements in the order of their start tags.

    Raises:
        TreeError: If the XML is not well-formed or too deep, or a document type declares entities
            or default values.
    """
    found: list[Element] = []
    opened: list[Element] = []
    texts: list[str] = []
    n_tags = 0

    parser = expat.ParserCreate("utf-8")
    # One call for adjacent texts; otherwise each &amp; and each line end is a call.
    parser.buffer_text, parser.buffer_size = True, 1 << 16
    before, data, after = _with_root(data)
    is_added = bool(after)

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal n_tags
        n_tags += 1
        line, column = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
        column = column - len(before) if line == 1 else column
        lowered = {key.lower(): value for key, value in attributes.items()}
        element = Element(name.lower(), line, column, lowered, n_tags)
        element.texts, element.first_text = texts, len(texts)
        if len(opened) > MAX_DEPTH:
            raise TreeError(f"invalid XML: nested more than {MAX_DEPTH} deep", line, column)
        if len(found) > MAX_NODES:
            raise TreeError(f"invalid XML: more than {MAX_NODES:,} elements", line, column)
        if opened:
            opened[-1].children.append(element)
        opened.append(element)
        found.append(element)

    def end(_: str) -> None:
        nonlocal n_tags
        n_tags += 1
        element = opened.pop()
        element.end, element.last_text = n_tags, len(texts)

    def characters(text: str) -> None:
        if opened:
            opened[-1].own_text.append(text)
        texts.append(text)

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
    return found[1:] if is_added else found


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
    """Refuse entities and long default values; a reference to a DTD is allowed, but not read.

    Entities that contain other entities, and long default values, could fill the memory.
    """
    n_default = 0

    def refuse(what: str, remedy: str) -> None:
        raise TreeError(what, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1, remedy)

    def entity(name: str, *_: object) -> None:
        what = f"the document type declares an entity, {shortened(name)!r}"
        refuse(what, "write the characters themselves, and remove the declaration")

    def attributes(tag: str, name: str, _: str, default: str | None, __: int) -> None:
        nonlocal n_default
        n_default += len(default or "")
        if n_default > MAX_DEFAULTS:
            what = f"the document type gives <{shortened(tag)}> a long default {shortened(name)}"
            refuse(what, "write the attribute in each element, and remove the declaration")

    parser.EntityDeclHandler = entity
    parser.AttlistDeclHandler = attributes
