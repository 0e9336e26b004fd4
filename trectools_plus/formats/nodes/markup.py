"""Parse XML to elements with their lines, with the tolerant parser of the standard library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from html.entities import html5
from html.parser import HTMLParser

from trectools_plus.formats.files.limits import MAX_DEPTH
from trectools_plus.formats.nodes.model import TreeError
from trectools_plus.text import shortened

_ENTITY = re.compile(r"&([A-Za-z][\w.-]*;)")
_DECLARED = re.compile(r"<!ENTITY\s+(?:%\s+)?([^\s>]+)")
_HEAD = re.compile(r"\s*(?:<\?.*?\?>\s*|<!--.*?-->\s*)*<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>", re.DOTALL)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)


@dataclass(slots=True, eq=False)
class Element:
    """An element of XML.

    Attributes:
        name: Its name in lower case.
        line: The line where it starts, from 1.
        column: The column where it starts, from 1.
        attributes: Its attributes, names in lower case.
        parts: The texts and elements in it, in order.
    """

    name: str
    line: int
    column: int
    attributes: dict[str, str]
    parts: list[str | Element] = field(default_factory=list)

    @property
    def children(self) -> list[Element]:
        """The elements in it."""
        return [part for part in self.parts if isinstance(part, Element)]

    @property
    def own_text(self) -> str:
        """The text in it, but not in its children."""
        return "".join(part for part in self.parts if isinstance(part, str))

    @property
    def all_text(self) -> str:
        """The text in it and in its children."""
        return "".join(part if isinstance(part, str) else part.all_text for part in self.parts)

    def descendants(self) -> Iterator[Element]:
        """Yield all elements in it, in the order of their start tags."""
        for child in self.children:
            yield child
            yield from child.descendants()


def parse_xml(text: str) -> Element:
    """Parse a document, or a sequence of elements without a root.

    Document types are not read, and entities are not expanded.

    Args:
        text: The file, without byte order mark.

    Returns:
        An element without a name that contains those of the file.

    Raises:
        TreeError: If start and end tags do not match, elements are nested too deeply, an entity is
            declared, or an entity is unknown.
    """
    declared = _DECLARED.search(text)
    if declared is not None:
        what = f"the document type declares an entity, {shortened(declared[1])!r}"
        remedy = "write the characters themselves, and remove the declaration"
        raise TreeError(what, text.count("\n", 0, declared.start()) + 1, None, remedy)
    head = _HEAD.match(text)
    if head is not None:
        text = re.sub(r"[^\n]", " ", head[0]) + text[head.end() :]
    text = _CDATA.sub(lambda section: escape(section[1]), text)
    for entity in _ENTITY.finditer(text):
        if entity[1] not in html5 and entity[1] != "apos;":
            what = f"invalid XML: undefined entity &{shortened(entity[1])}"
            remedy = "write the character itself (&amp; for &), because DTDs are not read"
            raise TreeError(what, text.count("\n", 0, entity.start()) + 1, None, remedy)
    parser = _Parser()
    parser.feed(text)
    parser.close()
    if len(parser.opened) > 1:
        what = f"invalid XML: mismatched tag, <{shortened(parser.opened[-1].name)}> is not closed"
        raise TreeError(what, text.count("\n") + 1, None, "close every tag")
    return parser.opened[0]


class _Parser(HTMLParser):
    """Builds elements.

    Attributes:
        opened: The open elements, the outermost first.
    """

    def __init__(self) -> None:
        super().__init__()
        self.opened = [Element("", 1, 1, {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        line, offset = self.getpos()
        if len(self.opened) > MAX_DEPTH + 1:
            raise TreeError(f"invalid XML: nested more than {MAX_DEPTH} deep", line, offset + 1)
        attributes = {name: value or "" for name, value in attrs}
        element = Element(tag, line, offset + 1, attributes)
        self.opened[-1].parts.append(element)
        self.opened.append(element)

    def handle_endtag(self, tag: str) -> None:
        line, offset = self.getpos()
        if self.opened[-1].name != tag:
            what = f"invalid XML: mismatched tag </{shortened(tag)}>"
            remedy = "close every tag, and write &amp; for & and &lt; for <"
            raise TreeError(what, line, offset + 1, remedy)
        self.opened.pop()

    def handle_data(self, data: str) -> None:
        self.opened[-1].parts.append(data)

    def set_cdata_mode(self, *_: object, **__: object) -> None:
        """Read all elements alike; in HTML, scripts and titles contain no tags."""
