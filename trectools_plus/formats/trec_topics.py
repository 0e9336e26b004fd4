"""Topics in TREC's two markups: the old SGML with unclosed tags, and XML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from trectools_plus.errors import FormatError
from trectools_plus.formats.ids import shortened


@dataclass(slots=True)
class Topic:
    """One topic as it stands in a file.

    Attributes:
        line: The line it starts on, from 1.
        query_id: Its id.
        text: What is asked.
        further: Its other fields by name.
        text_line: The line its text starts on, where that is known.
    """

    line: int
    query_id: str
    text: str
    further: dict[str, str] = field(default_factory=dict)
    text_line: int | None = None


_TOP = re.compile(r"<top>(.*?)(?=</?top>|\Z)", re.DOTALL | re.IGNORECASE)
_LABELS = {
    "num": "Number",
    "dom": "Domain",
    "title": "Topic",
    "desc": "Description",
    "smry": "Summary",
    "narr": "Narrative",
    "con": "Concept(s)",
    "fac": "Factor(s)",
    "def": "Definition(s)",
}
_FIELD = re.compile(
    r"<(num|title|desc|narr|dom|smry|con|fac|def)>(.*?)"
    r"(?=</?(?:num|title|desc|narr|dom|smry|con|fac|def)>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_LONG_NAMES = {"desc": "description", "narr": "narrative"}


def iter_sgml(text: str, path: str) -> Iterator[Topic]:
    """Parse ``<top>`` blocks: ``<num> Number: 301``, ``<title> …``, tags closed or not.

    ``<title>`` becomes the text, which may be empty; other fields (``description``,
    ``narrative``, …) are kept.

    Raises:
        FormatError: If a block lacks ``<num>`` or ``<title>``, or has a field twice.
    """
    line, counted_to = 1, 0
    for block in _TOP.finditer(text):
        line += text.count("\n", counted_to, block.start())
        counted_to = block.start()
        fields: dict[str, str] = {}
        text_line = line
        for found in _FIELD.finditer(block[1]):
            tag = found[1].lower()
            if tag in fields:
                raise FormatError(
                    f"<{tag}> occurs twice in one topic",
                    path=path,
                    line=line,
                    remedy="end each topic with </top>",
                )
            if tag == "title":
                text_line += text.count("\n", block.start(), block.start(1) + found.start())
            fields[tag] = _without_label(_one_line(found[2]), _LABELS[tag])
        if not fields.get("num") or "title" not in fields:
            raise _missing("<title>" if fields.get("num") else "<num>", path, line)
        query_id, title = fields.pop("num"), fields.pop("title")
        further = {_LONG_NAMES.get(tag, tag): value for tag, value in fields.items()}
        yield Topic(line, query_id, title, further, text_line)


_BLANKS = re.compile(rb"\s*")
_PASSED_OVER = {b"<!--": b"-->", b"<?": b"?>"}
# An entity that only the DTD knows is an error then, and not left out without a word.
_STANDALONE = b'<?xml version="1.0" standalone="yes"?>'
_UNDEFINED = expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]
_NO_ENTITY = "write the character itself, for no DTD is read; &amp; for a plain &"

_ID_NAMES = ("number", "num", "id", "qid", "query_id", "topic_id")
_TEXT_NAMES = ("query", "title", "")


@dataclass(slots=True)
class Element:
    """A ``<topic>`` of an XML file.

    Attributes:
        line: The line it starts on, from 1.
        attributes: Its attributes, names in lower case.
        texts: The pieces of text in each child, by its name; its own under the empty name.
        lines: The line that each child starts on.
    """

    line: int
    attributes: dict[str, str]
    texts: dict[str, list[str]] = field(default_factory=lambda: {"": []})
    lines: dict[str, int] = field(default_factory=dict)

    def topic(self, path: str) -> Topic:
        """The topic it describes; its text may be empty.

        Raises:
            FormatError: If it lacks its number, or has nothing for a text.
        """
        texts = {name: _one_line("".join(parts)) for name, parts in self.texts.items()}
        values = {**texts, **self.attributes}
        id_name = next((name for name in _ID_NAMES if values.get(name)), None)
        text_names = [name for name in _TEXT_NAMES if name in texts]
        text_name = next((name for name in text_names if texts[name]), text_names[0])
        if id_name is None:
            raise _missing("number", path, self.line)
        if not (text_name or texts[text_name]):
            raise _missing("<query> or <title>", path, self.line)
        further = {
            name: texts[name]
            for name, parts in self.texts.items()
            if parts and name not in (id_name, text_name, "")
        }
        text_line = self.lines.get(text_name)
        return Topic(self.line, values[id_name].strip(), texts[text_name], further, text_line)


def iter_xml(data: bytes, path: str) -> Iterator[Topic]:
    """Parse ``<topic number="1">`` elements with ``<query>`` or ``<title>``, or text of their own.

    The number may be an attribute or a child (``number``, ``num``, ``id``, …). Other children
    that hold text are kept as fields.

    Raises:
        FormatError: As :func:`parse_xml`; with line, if a topic lacks number or text.
    """
    for element in parse_xml(data, path):
        yield element.topic(path)


def parse_xml(data: bytes, path: str) -> list[Element]:
    """Find the ``<topic>`` elements of an XML file, whatever they hold.

    Raises:
        FormatError: With line and column, if the XML is not well-formed, if a document type
            declares entities or default values.
    """
    topics: list[Element] = []
    open_tags: list[str] = []
    topic_at: list[int] = []  # where in open_tags a topic is open

    parser = expat.ParserCreate("utf-8")

    def start(tag: str, attributes: dict[str, str]) -> None:
        open_tags.append(tag.lower())
        if open_tags[-1] == "topic":
            lowered = {name.lower(): value for name, value in attributes.items()}
            topics.append(Element(parser.CurrentLineNumber, lowered))
            topic_at.append(len(open_tags) - 1)
        elif topic_at and len(open_tags) == topic_at[0] + 2:
            topics[-1].texts.setdefault(open_tags[-1], [])
            topics[-1].lines.setdefault(open_tags[-1], parser.CurrentLineNumber)

    def end(_: str) -> None:
        open_tags.pop()
        if topic_at and topic_at[-1] == len(open_tags):
            topic_at.pop()

    def characters(text: str) -> None:
        if topic_at:
            # Whatever is nested deeper belongs to the topic's direct child.
            child = open_tags[topic_at[0] + 1 : topic_at[0] + 2]
            topics[-1].texts.setdefault("".join(child), []).append(text)

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    _refuse_declarations(parser, path)
    # The declaration's place keeps its line ends.
    declaration = re.match(rb"\s*<\?xml[^>]*\?>", data)
    if declaration:
        data = b"\n" * declaration[0].count(b"\n") + data[declaration.end() :]
    # A root of our own: some files are a bare sequence of topics. It cannot hold a document type,
    # and a file that has one has a root too.
    before, behind = b"<root>", b"</root>"
    if _has_document_type(data):
        before, behind = _STANDALONE, b""
    try:
        parser.Parse(before, False)
        parser.Parse(data, False)
        parser.Parse(behind, True)
    except expat.ExpatError as error:
        raise FormatError(
            f"no XML: {expat.ErrorString(error.code)}",
            path=path,
            line=error.lineno,
            column=error.offset + 1 - (len(before) if error.lineno == 1 else 0),
            remedy=_NO_ENTITY
            if error.code == _UNDEFINED
            else "close every tag, and write &amp; for & and &lt; for <",
        ) from error
    return topics


def _has_document_type(data: bytes) -> bool:
    """Whether a document type comes before any element, behind comments and instructions."""
    at = 0
    while True:
        blanks = _BLANKS.match(data, at)
        at = blanks.end() if blanks else at
        end = next((end for start, end in _PASSED_OVER.items() if data.startswith(start, at)), None)
        closed = -1 if end is None else data.find(end, at)
        if end is None or closed < 0:
            return data.startswith(b"<!DOCTYPE", at)
        at = closed + len(end)


def _refuse_declarations(parser: expat.XMLParserType, path: str) -> None:
    """Let a document type name a DTD, which is not read, but not define what texts hold.

    Entities that hold each other, and long default values, grow without bound.
    """

    def refuse(what: str, remedy: str) -> None:
        line, column = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
        raise FormatError(what, path=path, line=line, column=column, remedy=remedy)

    def entity(name: str, *_: object) -> None:
        what = f"the document type declares an entity, {shortened(name)!r}"
        refuse(what, "write the characters themselves, and take the declaration out")

    def attributes(tag: str, name: str, _: str, default: str | None, __: int) -> None:
        if default is not None:
            what = f"the document type gives <{shortened(tag)}> a default {shortened(name)}"
            refuse(what, "write the attribute at each element, and take the declaration out")

    parser.EntityDeclHandler = entity
    parser.AttlistDeclHandler = attributes


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _without_label(text: str, label: str) -> str:
    if text.lower().startswith(label.lower()):
        rest = text[len(label) :].lstrip()
        if rest.startswith(":"):
            return rest[1:].lstrip()
    return text


def _missing(what: str, path: str, line: int) -> FormatError:
    return FormatError(
        f"{what} is missing in this topic",
        path=path,
        line=line,
        remedy="give every topic a number and a text",
    )
