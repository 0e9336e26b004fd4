"""Parse XML to elements with their lines.

Expat is used because ``html.parser`` needs a quadratic time for some malformed files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from trectools_plus.formats.files.limits import MAX_DEPTH
from trectools_plus.formats.nodes.model import MAX_NODES, TreeError
from trectools_plus.text import shortened

_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")
_HEAD = re.compile(r"(?:\s+|<!--.*?-->|<\?.*?\?>)*+<!DOCTYPE", re.DOTALL)
MAX_DEFAULTS = 200
"""The greatest total length of default values."""
# With this declaration, an undefined entity is an error; otherwise expat skips it silently.
_STANDALONE = '<?xml version="1.0" standalone="yes"?>'


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

    Document types are not read.

    Args:
        text: The file, without byte order mark.

    Returns:
        An element without a name that contains those of the file.

    Raises:
        TreeError: If the XML is not well-formed, elements are nested too deeply, or a document type
            declares entities or default values.
    """
    # Keep the line ends of the declaration, so that line numbers are right.
    text = _DECLARATION.sub(lambda match: "\n" * match[0].count("\n"), text, count=1)
    # A document type cannot be inside an element, but files with one have a root.
    has_root = _HEAD.match(text) is not None
    before, after = (_STANDALONE, "") if has_root else ("<root>", "</root>")
    builder = _Builder()
    parser = builder.parser
    try:
        parser.Parse(before, False)
        builder.offset = len(before)
        parser.Parse(text.encode(), False)
        parser.Parse(after, True)
    except expat.ExpatError as error:
        what = f"invalid XML: {expat.ErrorString(error.code)}"
        remedy = "close every tag, and write &amp; for & and &lt; for <"
        raise TreeError(what, *builder.place(error.lineno, error.offset), remedy) from error
    return builder.opened[0] if has_root else builder.opened[0].children[0]


class _Builder:
    """Builds elements from the events of the parser.

    Attributes:
        parser: The parser.
        offset: The length of the text before the file.
        opened: The open elements, the outermost first.
    """

    def __init__(self) -> None:
        self.offset = self._size = 0
        self.opened = [Element("", 1, 1, {})]
        self.parser = expat.ParserCreate("utf-8")
        # One call for adjacent texts; otherwise each &amp; and each line end is a call.
        self.parser.buffer_text, self.parser.buffer_size = True, 1 << 16
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = lambda _: self.opened.pop()
        self.parser.CharacterDataHandler = lambda text: self.opened[-1].parts.append(text)
        self.parser.EntityDeclHandler = lambda name, *_: self._refuse(f"an entity, {name}")
        self.parser.AttlistDeclHandler = self._declare_attribute

    def place(self, line: int, offset: int) -> tuple[int, int]:
        """Return a line and a column in the file."""
        return line, offset + 1 - (self.offset if line == 1 else 0)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        place = self.place(self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber)
        self._size += 1
        if len(self.opened) > MAX_DEPTH + 1:
            raise TreeError(f"invalid XML: nested more than {MAX_DEPTH} deep", *place)
        if self._size > MAX_NODES:
            raise TreeError(f"invalid XML: more than {MAX_NODES:,} elements", *place)
        lowered = {key.lower(): value for key, value in attributes.items()}
        element = Element(name.lower(), *place, lowered)
        self.opened[-1].parts.append(element)
        self.opened.append(element)

    def _declare_attribute(self, tag: str, name: str, _: str, value: str | None, __: int) -> None:
        """Refuse long default values, which the parser adds to every element."""
        self._size += len(value or "")
        if self._size > MAX_DEFAULTS:
            self._refuse(f"a long default {name} of <{tag}>")

    def _refuse(self, what: str) -> NoReturn:
        place = self.place(self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber)
        remedy = "write the values themselves, and remove the declaration"
        raise TreeError(f"the document type declares {shortened(what)}", *place, remedy)
