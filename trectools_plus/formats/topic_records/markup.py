"""Find the records of topics in TREC's SGML and in XML."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from trectools_plus.formats.interchange.names import normalize
from trectools_plus.formats.nodes.model import Scalar, TreeError, TreeReader
from trectools_plus.formats.topic_records.model import (
    Record,
    Records,
    Report,
    TopicProblem,
    syntax_problem,
)
from trectools_plus.formats.topic_records.schema import XML_ID_KEYS
from trectools_plus.text import listed, visible

_TOP = re.compile(r"<top(?:\s[^>]*)?>(.*?)(?=</?top[\s>]|\Z)", re.DOTALL | re.IGNORECASE)
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
_LANGUAGE = r"(?:[a-z]{1,3}-)?"
_TAGS = "|".join((*_LABELS, "query", "question", "summary", "description", "narrative", "slang"))
_AT_START = re.compile(r"^[ \t]*<([a-z][\w-]*)>", re.IGNORECASE | re.MULTILINE)
_END_TAG = re.compile(r"</([a-z][\w-]*)>", re.IGNORECASE)
_LONG_NAMES = {"desc": "description", "narr": "narrative"}
_RECORD_NAMES = (
    "topic", "top", "query", "question", "productionrequest", "request", "q", "record", "item",
    "doc",
)  # fmt: skip
_ID_NAMES = frozenset(normalize(name) for name in XML_ID_KEYS) | frozenset(
    ("identifier", "requestnumber", "qno", "docno")
)
_LANG_ATTRIBUTES = ("lang", "xml:lang", "language")
_LOOSE = re.compile(r"&(?!#?\w+;)|<(?![A-Za-z_/!?])")


def find_sgml_records(text: str, report: Report) -> Records:
    """Find ``<top>`` blocks: ``<num> Number: 301``, ``<title> …``, with or without end tags.

    Reports blocks that have a field twice, and leaves them out.
    """
    paired = set(_AT_START.findall(text)) & set(_END_TAG.findall(text))
    tags = "|".join((f"{_LANGUAGE}(?:{_TAGS})", *map(re.escape, sorted(paired - {"top"}))))
    field = re.compile(rf"<({tags})>(.*?)(?=</?(?:{tags})>|\Z)", re.DOTALL | re.IGNORECASE)
    records = []
    line, counted_to = 1, 0
    for block in _TOP.finditer(text):
        line += text.count("\n", counted_to, block.start())
        counted_to = block.start()
        fields = _sgml_fields(block, line, field, report)
        if fields is not None:
            records.append(Record(line, fields))
    return Records(records, "TREC SGML", is_plain=True, is_markup=True)


def _sgml_fields(
    block: re.Match[str], line: int, field: re.Pattern[str], report: Report
) -> dict[str, Scalar] | None:
    """Return the fields of a block; ``None`` if a field occurs twice."""
    fields: dict[str, Scalar] = {}
    for match in field.finditer(block[1]):
        tag = match[1].lower()
        label = _LABELS.get(tag.rpartition("-")[2], "")
        value = re.sub(rf"(?i)^{re.escape(label)}\s*:\s*", "", " ".join(match[2].split()))
        name = _LONG_NAMES.get(tag, tag)
        if name in fields and tag in _LABELS:
            what = f"<{tag}> occurs twice in one topic"
            report(TopicProblem("T104", line, what, remedy="End each topic with </top>"))
            return None
        at = line + block.string.count("\n", block.start(), block.start(1) + match.start())
        _add(fields, name, Scalar.of_text(at, value))
    return fields


def _add(fields: dict[str, Scalar], name: str, value: Scalar) -> None:
    """Add a value, behind an earlier one of the same name."""
    if name in fields:
        first = fields[name]
        value = Scalar.of_text(first.line, f"{first.text} {value.text}".strip())
    fields[name] = value


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
        attributes: Its attributes, names in lower case.
        parts: The texts and elements in it, in order.
    """

    name: str
    line: int
    attributes: dict[str, str]
    parts: list[str | Element] = field(default_factory=list)

    @property
    def children(self) -> list[Element]:
        """The elements in it."""
        return [part for part in self.parts if isinstance(part, Element)]

    @property
    def text(self) -> str:
        """The text in it and in its children, with single blanks."""
        parts = [part if isinstance(part, str) else part.text for part in self.parts]
        return " ".join("".join(parts).split())

    def descendants(self) -> Iterator[Element]:
        """Yield all elements in it, in the order of their start tags."""
        for child in self.children:
            yield child
            yield from child.descendants()


def parse_xml(text: str) -> Element:
    """Parse a document, or a sequence of elements without a root.

    Tags are found by a pattern in linear time; ``html.parser`` needs a quadratic time for some
    files. Document types are not read. Names of HTML can stand for characters: ``&nbsp;``.

    Args:
        text: The file, without byte order mark.

    Returns:
        An element without a name that contains those of the file.

    Raises:
        TreeError: If an end tag does not match its start tag or is missing, elements are nested too
            deeply, or an entity is not one of HTML.
    """
    reader = TreeReader(text)
    opened = [Element("", 1, {})]
    end = 0
    for token in _TOKEN.finditer(text):
        opened[-1].parts.append(_unescaped(text[end : token.start()], reader.line_at(end)))
        end = token.end()
        name = token["name"] and token["name"].lower()
        if token["data"] is not None:
            opened[-1].parts.append(token["data"])
        elif name and not token["end"]:
            attributes = {
                name.lower(): html.unescape(double or single)
                for name, double, single in _ATTRIBUTE.findall(token["attributes"])
            }
            line = reader.begin(reader.line_at(token.start()), len(opened))
            element = Element(name, line, attributes)
            opened[-1].parts.append(element)
            opened += [] if token["attributes"].endswith("/") else [element]
        elif name and (len(opened) == 1 or opened.pop().name != name):
            what = f"invalid XML: mismatched tag {token[0]}"
            raise TreeError(what, reader.line_at(token.start()), "close every tag")
    if len(opened) > 1:
        what = f"invalid XML: <{opened[-1].name}> is not closed"
        raise TreeError(what, opened[-1].line, "close every tag")
    return opened[0]


def _unescaped(text: str, line: int) -> str:
    """Return a text with characters in place of entities."""
    for match in _ENTITY.finditer(text):
        if html.unescape(match[0]) == match[0]:
            at = line + text.count("\n", 0, match.start())
            raise TreeError(f"undefined entity {match[0]}", at, "write the character itself")
    return html.unescape(text)


def find_xml_records(text: str, report: Report) -> Records | None:
    """Find the elements that have an id: ``<topic number="1">``, ``<query><id>1</id>``, …

    Reports XML that is not well-formed, and elements inside others of the same name, which are not
    read; ``None`` if it cannot be read or has no such element.
    """
    _report_loose(text, report)
    try:
        root = parse_xml(text)
    except TreeError as error:
        report(syntax_problem(error))
        return None
    elements = list(root.descendants())
    names = {element.name for element in elements if _has_id(element) or element.name == "topic"}
    name = next((name for name in _RECORD_NAMES if name in names), None)
    if name is None:
        seen = listed([visible(name) for name in dict.fromkeys(one.name for one in elements)])
        what = f"expected <top> or <topic> elements but found none (elements: {seen or 'none'})"
        remedy = "Give topics as TSV, JSON Lines, TREC SGML or TREC XML"
        report(TopicProblem("T104", 1, what, remedy=remedy))
        return None
    is_topic = name in ("topic", "top")
    label = "TREC XML" if is_topic else f"XML, <{name}>"
    records = [_xml_record(element, name) for element in _topics_in(root, name, report)]
    return Records(records, label, is_plain=is_topic, is_markup=True)


def _report_loose(text: str, report: Report) -> None:
    """Report the first ``&`` or ``<`` that stands for itself."""
    loose = None if "<![CDATA[" in text else _LOOSE.search(text)
    if loose is not None:
        line = text.count("\n", 0, loose.start()) + 1
        escape = html.escape(loose[0])
        what = f"'{loose[0]}' in a text is not valid XML, read as '{escape}'"
        remedy = f"Write {escape} for {loose[0]}"
        report(TopicProblem("T104", line, what, remedy=remedy, severity="warning"))


def _has_id(element: Element) -> bool:
    names = [*element.attributes, *(child.name for child in element.children)]
    return any(normalize(name) in _ID_NAMES for name in names)


def _topics_in(root: Element, name: str, report: Report) -> Iterator[Element]:
    """Yield the elements with a name. As in SGML, a topic ends at the first end tag.

    An element that begins before it is part of the topic, and is reported.
    """
    for element in root.children:
        if element.name != name:
            yield from _topics_in(element, name, report)
            continue
        yield element
        outer = element
        for inner in (inner for inner in element.descendants() if inner.name == name):
            if not any(inner is part for part in outer.descendants()):
                yield inner  # behind the first end tag
                continue
            what = f"<{name}> inside another <{name}>, not read as a topic of its own"
            remedy = f"End each topic with </{name}>"
            report(TopicProblem("T104", inner.line, what, remedy=remedy, severity="warning"))
            outer = inner


def _xml_record(element: Element, name: str) -> Record:
    fields: dict[str, Scalar] = {}
    hidden = {"", *element.attributes}
    children = [
        child
        for child in element.children
        if child.name != name and all(inner.name != name for inner in child.descendants())
    ]
    for child in children:
        language = next(filter(None, map(child.attributes.get, _LANG_ATTRIBUTES)), None)
        is_translation = language is not None and child.name in fields
        field_name = f"{child.name}.{language}" if is_translation else child.name
        _add(fields, field_name, Scalar.of_text(child.line, child.text))
    for inner in (inner for child in children for inner in child.descendants()):
        if inner.name not in fields:
            fields[inner.name] = Scalar.of_text(inner.line, inner.text)
            hidden.add(inner.name)
    for attribute, text in element.attributes.items():
        if attribute not in fields or normalize(attribute) in _ID_NAMES:
            fields[attribute] = Scalar.of_text(element.line, text)
    own = "".join(part for part in element.parts if isinstance(part, str))
    fields[""] = Scalar.of_text(element.line, " ".join(own.split()))
    return Record(element.line, fields, hidden=frozenset(hidden))
