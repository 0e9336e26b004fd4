"""Find the records of topics in TREC's SGML and in XML."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from html.entities import name2codepoint

from trectools_plus.formats.interchange.names import normalize
from trectools_plus.formats.nodes.model import Scalar, TreeError
from trectools_plus.formats.nodes.xml import Element, parse_xml
from trectools_plus.formats.topic_records.making import (
    choose_language,
    format_of,
    is_language,
    is_text_name,
    names_of,
)
from trectools_plus.formats.topic_records.model import (
    Record,
    Records,
    Report,
    TopicOptions,
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
_PAIRED = re.compile(
    r"^[ \t]*<([a-z][\w-]*)>(?=.*?</\1>)", re.DOTALL | re.IGNORECASE | re.MULTILINE
)
"""The start tag of a field at the start of a line, with an end tag."""
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
_DOCUMENT_TYPE = re.compile(r"(?s).{0,4096}?<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>")
_ENTITY = re.compile(r"&([A-Za-z]\w*);")
_XML_ENTITIES = frozenset({"amp", "lt", "gt", "quot", "apos"})


def find_sgml_records(text: str, options: TopicOptions, report: Report) -> Records:
    """Find ``<top>`` blocks: ``<num> Number: 301``, ``<title> …``, with or without end tags.

    Reports blocks that have a field twice, and leaves them out.
    """
    found = []
    names: dict[str, None] = {}
    line, counted_to = 1, 0
    for block in _TOP.finditer(text):
        line += text.count("\n", counted_to, block.start())
        counted_to = block.start()
        fields = _sgml_fields(block, line, text, report)
        if fields is not None:
            found.append(Record(line, fields))
            names.update(dict.fromkeys(fields))
    languages = _drop_other_languages(found, options)
    name = format_of(names)
    return Records(
        found,
        f"{name} SGML" if name else "TREC SGML",
        is_plain=not name and not languages,
        noun="<top> elements",
        language=languages[0] if languages else None,
        languages=tuple(languages[1:]),
    )


def _sgml_fields(
    block: re.Match[str], line: int, text: str, report: Report
) -> dict[str, Scalar] | None:
    """Return the fields of a block; ``None`` if a field occurs twice."""
    fields: dict[str, Scalar] = {}
    paired = {name.lower() for name in _PAIRED.findall(block[1])}
    tags = "|".join((f"{_LANGUAGE}(?:{_TAGS})", *(re.escape(name) for name in sorted(paired))))
    pattern = rf"<({tags})>(.*?)(?=</?(?:{tags})>|\Z)"
    for found in re.finditer(pattern, block[1], re.DOTALL | re.IGNORECASE):
        tag = found[1].lower()
        value = _without_label(_one_line(found[2]), _LABELS.get(tag.rpartition("-")[2], ""))
        name = _LONG_NAMES.get(tag, tag)
        if name in fields and tag in _LABELS:
            what = f"<{tag}> occurs twice in one topic"
            report(TopicProblem("T104", line, what, remedy="End each topic with </top>"))
            return None
        at = line + text.count("\n", block.start(), block.start(1) + found.start())
        if name in fields:
            value = f"{fields[name].text} {value}".strip()
            at = fields[name].line
        fields[name] = Scalar(at, 1, value)
    return fields


def _drop_other_languages(records: Sequence[Record], options: TopicOptions) -> list[str]:
    """Drop fields like ``de-title`` in other languages; return the chosen one, and then all."""
    codes: dict[str, None] = {}
    for record in records:
        for name in record.fields:
            code, dash, rest = name.partition("-")
            if dash and len(code) <= 3 and rest in _LABELS:
                codes.setdefault(code)
    if len(codes) < 2:
        return []
    chosen = choose_language(list(codes), options.language)
    for record in records:
        record.fields = {
            name: node
            for name, node in record.fields.items()
            if name.partition("-")[0] not in codes or name.startswith(f"{chosen}-")
        }
    return [chosen or "", *codes]


def find_xml_records(text: str, options: TopicOptions, report: Report) -> Records | None:
    """Find the elements that have an id: ``<topic number="1">``, ``<query><id>1</id>``, …

    Reports XML that is not well-formed; ``None`` if it cannot be read or has no such element.
    """
    try:
        elements = parse_xml(_escaped(text, report).encode())
    except TreeError as error:
        report(syntax_problem(error))
        return None
    name = _record_name(elements)
    if name is None:
        seen = dict.fromkeys(element.name for element in elements)
        shown = f" (elements: {listed([visible(one) for one in seen])})" if seen else ""
        what = f"expected <top> or <topic> elements but found none{shown}"
        remedy = "Give topics as TSV, JSON Lines, TREC SGML or TREC XML"
        report(TopicProblem("T104", 1, what, remedy=remedy))
        return None
    found = list(_outermost(elements, name, report))
    n_nested = sum(element.name == name for element in elements) - len(found)
    by_language = _languages_of(found)
    chosen: str | None = None
    if by_language:
        chosen = choose_language(list(by_language), options.language)
        found = by_language.get(chosen or "", [])
    records = [_xml_record(element, name, options) for element in found]
    codes: Sequence[str] = tuple(by_language)
    if not codes:
        codes, chosen = _choose_named_language(records, options)
    format_name = format_of([field for record in records[:1000] for field in record.fields])
    is_topic = name in ("topic", "top")
    label = f"{format_name} XML" if format_name else "TREC XML" if is_topic else f"XML, <{name}>"
    return Records(
        records,
        label,
        is_plain=is_topic and format_name in ("", "TREC-COVID") and chosen is None,
        noun=f"<{name}> elements",
        language=chosen,
        languages=tuple(codes),
        n_nested=n_nested,
    )


def _escaped(text: str, report: Report) -> str:
    """Return XML with bare ``&`` and ``<`` escaped, and HTML's named characters replaced.

    Line numbers do not change.
    """
    # The parser counts a bare CR as a line end, which would change its line numbers.
    text = re.sub("\r(?!\n)", " ", text)
    document_type = _DOCUMENT_TYPE.match(text)
    head, text = (document_type[0], text[document_type.end() :]) if document_type else ("", text)
    if "<![CDATA[" in text:
        return head + text
    loose = _LOOSE.search(text)
    if loose is not None:
        line = (head + text[: loose.start()]).count("\n") + 1
        column = loose.start() - text.rfind("\n", 0, loose.start())
        escape = "&amp;" if loose[0] == "&" else "&lt;"
        what = f"'{loose[0]}' in a text is not valid XML, read as '{escape}'"
        remedy = f"Write {escape} for {loose[0]}"
        report(TopicProblem("T104", line, what, column, remedy=remedy, severity="warning"))
        text = _LOOSE.sub(lambda match: "&amp;" if match[0] == "&" else "&lt;", text)
    return head + _ENTITY.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    name = match[1]
    code = None if name in _XML_ENTITIES else name2codepoint.get(name)
    return match[0] if code is None else f"&#{code};"


def _record_name(elements: Sequence[Element]) -> str | None:
    """Return the name of the elements that are topics."""
    counts = Counter(element.name for element in elements if _has_id(element))
    names = {element.name for element in elements}
    if "currentquery" in names and counts["session"]:
        return "session"
    for name in _RECORD_NAMES:
        if counts[name]:
            return name
    if "topic" in names:
        return "topic"
    with_text = Counter(
        element.name for element in elements if _has_id(element) and element.all_text
    )
    return max(with_text, key=with_text.__getitem__, default=None)


def _has_id(element: Element) -> bool:
    return any(normalize(name) in _ID_NAMES for name in element.attributes) or any(
        normalize(child.name) in _ID_NAMES for child in element.children
    )


def _outermost(elements: Sequence[Element], name: str, report: Report) -> Iterator[Element]:
    """Yield the elements with a name. As in SGML, a topic ends at the first end tag.

    An element that begins before it is part of the topic, and is reported.
    """
    named = [element for element in elements if element.name == name]
    ends = sorted(element.end for element in named)
    closed, at = 0, 0
    for element in named:
        if element.start < closed:
            what = f"<{name}> inside another <{name}>, not read as a topic of its own"
            remedy = f"End each topic with </{name}>"
            problem = TopicProblem(
                "T104", element.line, what, element.column, remedy=remedy, severity="warning"
            )
            report(problem)
            continue
        while ends[at] < element.start:
            at += 1
        closed = ends[at]
        yield element


def _languages_of(found: Sequence[Element]) -> dict[str, list[Element]]:
    """Return topics by their language, if they have one and there are several; else nothing."""
    by_language: dict[str, list[Element]] = {}
    for element in found:
        by_language.setdefault(_language_of(element), []).append(element)
    return by_language if len(by_language) > 1 and "" not in by_language else {}


def _language_of(element: Element) -> str:
    return next((element.attributes[n] for n in _LANG_ATTRIBUTES if n in element.attributes), "")


def _choose_named_language(
    records: Sequence[Record], options: TopicOptions
) -> tuple[Sequence[str], str | None]:
    """Take the text of elements named after languages, ``<en>``, if topics have no other text.

    Returns:
        All languages, and the chosen one.
    """
    names = names_of(records)
    codes = [name for name in names if is_language(name)]
    if not codes or options.text_fields or any(is_text_name(name) for name in names):
        return (), None
    chosen = choose_language(codes, options.language)
    for record in records:
        text = record.fields.get(chosen or "")
        record.fields = {n: node for n, node in record.fields.items() if n not in codes}
        if text is not None:
            record.fields["text"] = text
    return codes, chosen or ""


def _xml_record(element: Element, name: str, options: TopicOptions) -> Record:
    fields: dict[str, Scalar] = {}
    hidden = set(element.attributes)
    here = element.line, element.column
    languages: dict[str, list[str]] = {}
    children = [child for child in element.children if not _contains(child, name)]
    for child in children:
        if any(name in child.attributes for name in _LANG_ATTRIBUTES):
            languages.setdefault(child.name, []).append(_language_of(child))
    for child in children:
        codes = languages.get(child.name, [])
        if len(set(codes)) > 1:
            wanted = choose_language(list(dict.fromkeys(codes)), options.language)
            if not any(child.attributes.get(n) == wanted for n in _LANG_ATTRIBUTES):
                continue
        value = _one_line("".join(child.all_text))
        if child.name in fields:
            value = f"{fields[child.name].text} {value}".strip()
        fields[child.name] = Scalar(child.line, child.column, value)
    for child in children:
        for inner in _descendants(child):
            if inner.name not in fields:
                fields[inner.name] = Scalar(
                    inner.line, inner.column, _one_line("".join(inner.all_text))
                )
                hidden.add(inner.name)
    for attribute, text in element.attributes.items():
        if attribute not in fields or normalize(attribute) in _ID_NAMES:
            fields[attribute] = Scalar(*here, text)
    fields[""] = Scalar(*here, _one_line("".join(element.own_text)))
    return Record(element.line, fields, hidden=frozenset(hidden | {""}))


def _contains(element: Element, name: str) -> bool:
    return element.name == name or any(inner.name == name for inner in _descendants(element))


def _descendants(element: Element) -> Iterator[Element]:
    waiting = list(reversed(element.children))
    while waiting:
        inner = waiting.pop()
        yield inner
        waiting += reversed(inner.children)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _without_label(text: str, label: str) -> str:
    if label and text.lower().startswith(label.lower()):
        rest = text[len(label) :].lstrip()
        if rest.startswith(":"):
            return rest[1:].lstrip()
    return text
