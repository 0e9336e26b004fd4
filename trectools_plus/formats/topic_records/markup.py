"""Find the records of topics in TREC's SGML and in XML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from trectools_plus.formats.interchange.names import normalize
from trectools_plus.formats.nodes.markup import Element, parse_xml
from trectools_plus.formats.nodes.model import Scalar, TreeError
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
    return Records(records, "TREC SGML", is_plain=True)


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


def find_xml_records(text: str, report: Report) -> Records | None:
    """Find the elements that have an id: ``<topic number="1">``, ``<query><id>1</id>``, …

    Reports XML that is not well-formed; ``None`` if it cannot be read or has no such element.
    """
    _report_loose(text, report)
    try:
        root = parse_xml(text)
    except TreeError as error:
        report(syntax_problem(error))
        return None
    elements = list(root.descendants())
    name = _record_name(elements)
    if name is None:
        names = dict.fromkeys(visible(element.name) for element in elements)
        shown = f" (elements: {listed(list(names))})" if names else ""
        what = f"expected <top> or <topic> elements but found none{shown}"
        remedy = "Give topics as TSV, JSON Lines, TREC SGML or TREC XML"
        report(TopicProblem("T104", 1, what, remedy=remedy))
        return None
    records = [_xml_record(element, name) for element in _topics_in(root, name, report)]
    n_nested = sum(element.name == name for element in elements) - len(records)
    is_topic = name in ("topic", "top")
    label = "TREC XML" if is_topic else f"XML, <{name}>"
    return Records(records, label, is_plain=is_topic, n_nested=n_nested)


def _report_loose(text: str, report: Report) -> None:
    """Report the first ``&`` or ``<`` that stands for itself."""
    loose = None if "<![CDATA[" in text else _LOOSE.search(text)
    if loose is not None:
        line = text.count("\n", 0, loose.start()) + 1
        column = loose.start() - text.rfind("\n", 0, loose.start())
        escape = "&amp;" if loose[0] == "&" else "&lt;"
        what = f"'{loose[0]}' in a text is not valid XML, read as '{escape}'"
        remedy = f"Write {escape} for {loose[0]}"
        report(TopicProblem("T104", line, what, column, remedy=remedy, severity="warning"))


def _record_name(elements: list[Element]) -> str | None:
    """Return the name of the elements that are topics."""
    names = {element.name for element in elements if _has_id(element)}
    names |= {"topic"} & {element.name for element in elements}
    return next((name for name in _RECORD_NAMES if name in names), None)


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
        topics = [inner for inner in element.descendants() if inner.name == name]
        outer = element
        for inner in topics:
            if not any(inner is part for part in outer.descendants()):
                yield inner  # behind the first end tag
                continue
            what = f"<{name}> inside another <{name}>, not read as a topic of its own"
            remedy = f"End each topic with </{name}>"
            problem = TopicProblem("T104", inner.line, what, inner.column, remedy=remedy)
            report(replace(problem, severity="warning"))
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
        _add(fields, f"{child.name}.{language}" if is_translation else child.name, _value(child))
    for child in children:
        for inner in child.descendants():
            if inner.name not in fields:
                fields[inner.name] = _value(inner)
                hidden.add(inner.name)
    for attribute, text in element.attributes.items():
        if attribute not in fields or normalize(attribute) in _ID_NAMES:
            fields[attribute] = Scalar.of_text(element.line, text, element.column)
    fields[""] = Scalar.of_text(element.line, " ".join(element.own_text.split()), element.column)
    return Record(element.line, fields, hidden=frozenset(hidden))


def _value(element: Element) -> Scalar:
    return Scalar.of_text(element.line, " ".join(element.all_text.split()), element.column)
