"""Find the records of topics in TREC's SGML and in XML."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from trectools_plus.formats.files.limits import MAX_DEPTH
from trectools_plus.formats.interchange.names import normalize
from trectools_plus.formats.nodes.model import Node, TreeError, text_node
from trectools_plus.formats.topic_records.model import (
    Record,
    Records,
    Report,
    TopicProblem,
    syntax_problem,
)
from trectools_plus.text import listed, visible

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
_TAGS = "|".join((*_LABELS, "query", "question", "summary", "description", "narrative", "slang"))
_TOP = re.compile(r"<top(?:\s[^>]*)?>(.*?)(?=</?top[\s>]|\Z)", re.DOTALL | re.IGNORECASE)
_AT_START = re.compile(r"^[ \t]*<([a-z][\w-]*)>", re.IGNORECASE | re.MULTILINE)
_END_TAG = re.compile(r"</([a-z][\w-]*)>", re.IGNORECASE)
_LONG_NAMES = {"desc": "description", "narr": "narrative"}
_RECORD_NAMES = (
    "topic", "top", "query", "question", "productionrequest", "request", "q", "record", "item",
    "doc",
)  # fmt: skip
_ID_NAMES = frozenset(
    ("number", "num", "id", "qid", "queryid", "topicid", "identifier", "requestnumber", "qno")
) | {"docno"}
_LANG_ATTRIBUTES = ("lang", "xml:lang", "language")
_LOOSE = re.compile(r"&(?!#?\w+;)|<(?![A-Za-z_/!?])")
_TOKEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<!\[CDATA\[(?P<data>.*?)(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)"
    r"|<!DOCTYPE[^\[>]*(?:\[.*?(?:\]|\Z)[^\[>]*)*(?:>|\Z)"
    r"|<(?P<end>/?)(?P<name>[a-z_][\w:.-]*)(?P<attributes>[^<>]*)>",
    re.DOTALL | re.IGNORECASE,
)
_ENTITY = re.compile(r"&\w+;")
_ATTRIBUTE = re.compile(r"""(?<![\w:.-])([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")


def find_sgml_records(text: str, report: Report) -> Records:
    """Find ``<top>`` blocks: ``<num> Number: 301``, ``<title> …``, with or without end tags.

    Reports blocks that have a field twice, and leaves them out.
    """
    paired = set(_AT_START.findall(text)) & set(_END_TAG.findall(text))
    tags = "|".join((f"(?:[a-z]{{1,3}}-)?(?:{_TAGS})", *map(re.escape, sorted(paired - {"top"}))))
    field = re.compile(rf"<({tags})>(.*?)(?=</?(?:{tags})>|\Z)", re.DOTALL | re.IGNORECASE)
    records = []
    line, counted_to = 1, 0
    for block in _TOP.finditer(text):
        line += text.count("\n", counted_to, block.start())
        counted_to = block.start()
        record = Record(line, {})
        for match in field.finditer(block[1]):
            tag = match[1].lower()
            label = re.escape(_LABELS.get(tag.rpartition("-")[2], ""))
            value = re.sub(rf"(?i)^{label}\s*:\s*", "", " ".join(match[2].split()))
            name = _LONG_NAMES.get(tag, tag)
            if name in record.fields and tag in _LABELS:
                what = f"<{tag}> occurs twice in one topic"
                report(TopicProblem("T104", line, what, remedy="End each topic with </top>"))
                break
            at = line + text.count("\n", block.start(), block.start(1) + match.start())
            _add(record.fields, name, text_node(at, value))
        else:
            records.append(record)
    return Records(records, "TREC SGML", is_plain=True)


def _add(fields: dict[str, Node], name: str, value: Node) -> None:
    """Add a value, behind an earlier one of the same name."""
    first = fields.get(name, value)
    joined = value.text if first is value else f"{first.text} {value.text}".strip()
    fields[name] = text_node(first.line, joined)


@dataclass(slots=True, eq=False)
class Element:
    """An element.

    Attributes:
        name: Its name in lower case.
        line: The line where it starts, from 1.
        attributes: Its attributes, names in lower case.
        parts: The texts and elements in it, in order.
    """

    name: str
    line: int
    attributes: dict[str, str] = field(default_factory=dict)
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


def _parse_xml(text: str) -> Element:
    """Parse a document, or a sequence of elements without a root.

    Tags are found by a pattern in linear time; ``html.parser`` needs a quadratic time for some
    files. Document types are not read. Names of HTML can stand for characters: ``&nbsp;``.

    Args:
        text: The file, without byte order mark.

    Returns:
        An element without a name that contains those of the file.

    Raises:
        TreeError: If an end tag does not match its start tag or is missing, or elements are nested
            too deeply.
    """
    opened = [Element("", 1)]
    line, begin = 1, 0
    for token in _TOKEN.finditer(text):
        opened[-1].parts.append(html.unescape(text[begin : token.start()]) + (token["data"] or ""))
        line += text.count("\n", begin, token.start())
        name = (token["name"] or "").lower()
        if name and not token["end"]:
            if len(opened) > MAX_DEPTH:
                raise TreeError(f"nested more than {MAX_DEPTH} deep", line)
            found = _ATTRIBUTE.findall(token["attributes"])
            attributes = {name.lower(): html.unescape(one or other) for name, one, other in found}
            element = Element(name, line, attributes)
            opened[-1].parts.append(element)
            opened += [] if token["attributes"].endswith("/") else [element]
        elif name and (len(opened) == 1 or opened.pop().name != name):
            raise TreeError(f"invalid XML: mismatched tag {token[0]}", line, "close every tag")
        line, begin = line + token[0].count("\n"), token.end()
    if len(opened) > 1:
        what = f"invalid XML: <{opened[-1].name}> is not closed"
        raise TreeError(what, opened[-1].line, "close every tag")
    return opened[0]


def find_xml_records(text: str, report: Report) -> Records | None:
    """Find the elements that have an id: ``<topic number="1">``, ``<query><id>1</id>``, …

    Reports XML that is not well-formed, and elements inside others of the same name, which are not
    read; ``None`` if it cannot be read or has no such element.
    """
    _report_loose(text, report)
    try:
        elements = list(_parse_xml(text).descendants())
    except TreeError as error:
        report(syntax_problem(error))
        return None
    names = {
        element.name
        for element in elements
        for name in (*element.attributes, *(child.name for child in element.children))
        if normalize(name) in _ID_NAMES
    } | {"topic"}.intersection(element.name for element in elements)
    name = next((name for name in _RECORD_NAMES if name in names), None)
    if name is None:
        seen = listed([visible(name) for name in dict.fromkeys(one.name for one in elements)])
        what = f"expected <top> or <topic> elements but found none (elements: {seen or 'none'})"
        remedy = "Give topics as TSV, JSON Lines, TREC SGML or TREC XML"
        report(TopicProblem("T104", 1, what, remedy=remedy))
        return None
    records, outer = [], Element("", 1)
    for element in (element for element in elements if element.name == name):
        # As in SGML, a topic ends at the first end tag: that of an element that begins before it.
        if element in outer.descendants():
            what = f"<{name}> inside another <{name}>, not read as a topic of its own"
            remedy = f"End each topic with </{name}>"
            report(TopicProblem("T104", element.line, what, remedy=remedy, severity="warning"))
        else:
            records.append(_xml_record(element, name))
        outer = element
    is_topic = name in ("topic", "top")
    return Records(records, "TREC XML" if is_topic else f"XML, <{name}>", is_plain=is_topic)


def _report_loose(text: str, report: Report) -> None:
    """Report the first ``&`` or ``<`` that stands for itself, and entities that are not HTML's."""
    if "<![CDATA[" in text:
        return
    for match in _ENTITY.finditer(text):
        if html.unescape(match[0]) == match[0]:
            line, what = text.count("\n", 0, match.start()) + 1, f"undefined entity {match[0]}"
            report(TopicProblem("T104", line, what, remedy="Write the character itself"))
            return
    loose = _LOOSE.search(text)
    if loose is not None:
        line = text.count("\n", 0, loose.start()) + 1
        escape = html.escape(loose[0])
        what = f"'{loose[0]}' in a text is not valid XML, read as '{escape}'"
        remedy = f"Write {escape} for {loose[0]}"
        report(TopicProblem("T104", line, what, remedy=remedy, severity="warning"))


def _xml_record(element: Element, name: str) -> Record:
    fields: dict[str, Node] = {}
    children = [
        child
        for child in element.children
        if child.name != name and all(inner.name != name for inner in child.descendants())
    ]
    for child in children:
        language = next(filter(None, map(child.attributes.get, _LANG_ATTRIBUTES)), None)
        is_translation = language is not None and child.name in fields
        field_name = f"{child.name}.{language}" if is_translation else child.name
        _add(fields, field_name, text_node(child.line, child.text))
    for attribute, text in element.attributes.items():
        if attribute not in fields or normalize(attribute) in _ID_NAMES:
            fields[attribute] = text_node(element.line, text.strip())
    own = " ".join("".join(part for part in element.parts if isinstance(part, str)).split())
    if own:
        fields[""] = text_node(element.line, own)
    return Record(element.line, fields, hidden=frozenset({"", *element.attributes}))
