"""Parse XML to elements with their lines.

Tags are found by a pattern in linear time; ``html.parser`` needs a quadratic time for some files.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from trectools_plus.formats.nodes.model import TreeError, TreeReader

_TOKEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<!\[CDATA\[(?P<data>.*?)(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)"
    r"|<!DOCTYPE[^\[>]*(?:\[.*?(?:\]|\Z)[^\[>]*)*(?:>|\Z)"
    r"|<(?P<end>/?)(?P<name>[a-z_][\w:.-]*)(?P<attributes>[^<>]*)>",
    re.DOTALL | re.IGNORECASE,
)
_ATTRIBUTE = re.compile(r"""(?<![\w:.-])([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_ENTITY = re.compile(r"&#?\w+;")


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

    Document types are not read. Names of HTML can stand for characters, for example ``&nbsp;``.

    Args:
        text: The file, without byte order mark.

    Returns:
        An element without a name that contains those of the file.

    Raises:
        TreeError: If an end tag does not match its start tag or is missing, elements are nested too
            deeply, or an entity is not one of HTML.
    """
    return _XmlReader(text).read()


class _XmlReader(TreeReader):
    """Builds elements from tags."""

    def read(self) -> Element:
        opened = [Element("", 1, 1, {})]
        end = 0
        for token in _TOKEN.finditer(self.text):
            opened[-1].parts.append(self._unescaped(end, token.start()))
            end = token.end()
            if token["data"] is not None:
                opened[-1].parts.append(token["data"])
            elif token["name"] is None:
                continue
            elif not token["end"]:
                element = self._element(token, len(opened))
                opened[-1].parts.append(element)
                opened += [] if token["attributes"].endswith("/") else [element]
            elif len(opened) == 1 or opened.pop().name != token["name"].lower():
                what, remedy = f"invalid XML: mismatched tag {token[0]}", "close every tag"
                raise TreeError(what, *self.place(token.start()), remedy)
        if len(opened) > 1:
            what = f"invalid XML: <{opened[-1].name}> is not closed"
            raise TreeError(what, opened[-1].line, opened[-1].column, "close every tag")
        return opened[0]

    def _element(self, token: re.Match[str], depth: int) -> Element:
        place = self.begin(token.start(), depth)
        attributes = {
            name.lower(): html.unescape(double or single)
            for name, double, single in _ATTRIBUTE.findall(token["attributes"])
        }
        return Element(token["name"].lower(), *place, attributes)

    def _unescaped(self, start: int, end: int) -> str:
        """Return the text between two tags with characters in place of entities."""

        def character(match: re.Match[str]) -> str:
            value = html.unescape(match[0])
            if value == match[0]:
                what, remedy = f"undefined entity {value}", "write the character itself"
                raise TreeError(what, *self.place(start + match.start()), remedy)
            return value

        text = self.text[start:end]
        return _ENTITY.sub(character, text) if "&" in text else text
