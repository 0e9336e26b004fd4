"""Topics, the queries of a collection: TSV, JSON Lines, TREC SGML and TREC XML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import polars as pl

from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.files.content import decode_lines, decode_text, iter_lines
from trectools_plus.formats.files.source import Source, read_source
from trectools_plus.formats.jsonl import as_field_text, find_key, get_id, get_text, iter_objects
from trectools_plus.formats.nodes.model import Mapping, Scalar, TreeError
from trectools_plus.formats.nodes.xml import parse_elements
from trectools_plus.formats.tables import TOPICS_SCHEMA, Topics
from trectools_plus.formats.topic_schema import LINE_ID_KEYS, TEXT_KEYS, is_header
from trectools_plus.formats.writing import id_problem, refuse_unwritable, write_rows
from trectools_plus.text import shortened

MAX_FIELDS = 1000
"""The greatest number of different fields in a file; each becomes a column."""

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
_TAGS = "|".join(_LABELS)
_FIELD = re.compile(
    rf"<({_TAGS})>(.*?)(?=</?(?:{_TAGS})>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_LONG_NAMES = {"desc": "description", "narr": "narrative"}
_XML_ID_NAMES = ("number", "num", "id", "qid", "query_id", "topic_id")
_XML_TEXT_NAMES = ("query", "title", "")


@dataclass(slots=True)
class Topic:
    """One topic of a file.

    Attributes:
        line: The line on which it starts, from 1.
        query_id: Its id.
        text: Its text.
        other_fields: Its other fields by name.
        text_line: The line on which its text starts; ``None`` if unknown.
    """

    line: int
    query_id: str
    text: str
    other_fields: dict[str, str] = field(default_factory=dict)
    text_line: int | None = None


def read_topics(path: str | Path) -> Topics:
    """Read topics; the first characters of the file, not its name, determine the format.

    - TSV: ``id TAB text``; tabs within the text become spaces. Lines that start with ``#`` and
      have no tab are comments. Repeated identical topics are read once.
    - JSON Lines (``{``): an id (``_id``, ``query_id``, ``qid`` or ``id``) and a text (``text``,
      ``query_text``, ``query`` or ``title``), with the same names on every line; other texts,
      numbers and booleans become columns of text.
    - TREC SGML (``<top>``): ``<num>`` and ``<title>``; the other fields become columns.
    - TREC XML (``<topic number=…>``): ``<query>`` or ``<title>``, or the text of the element.

    Args:
        path: The file, or ``-`` for standard input.

    Raises:
        InputError: If the file cannot be read.
        FormatError: If a topic is malformed or lacks its id or text, an id occurs with two texts
            or cannot be written to a run, the file is not UTF-8 or has CRs without LF, or there
            are no topics. The message contains the code of the rule of ``topics validate``.
    """
    source = read_source(path)
    _refuse_bare_cr(source)
    return _collect(_iter_topics(source), source.path)


def iter_topics(path: str | Path) -> Iterator[Topic]:
    """Yield the topics of a file one at a time, with the checks of :func:`read_topics`.

    TSV and JSON Lines are read line by line, TREC SGML and XML at once. Repeated topics are yielded
    each time.

    Args:
        path: The file, or ``-`` for standard input.

    Raises:
        InputError, FormatError: See :func:`read_topics`; repeated topics are not an error.
    """
    shown = str(path)
    lines = iter_lines(path)
    head = _up_to_first_text(lines)
    start = _start_of(b"\n".join(head))
    if start.startswith("<"):
        found = _iter_topics(read_source(path))
    else:
        checked = _without_bare_cr(chain(head, lines), shown)
        found = _iter_jsonl(checked, shown) if start.startswith("{") else _iter_tsv(checked, shown)
    topic = None
    for topic in found:
        _refuse_unusable(topic, shown)
        yield topic
    if topic is None:
        raise _no_topics(shown)


def write_topics(topics: Topics, path: str | Path) -> None:
    """Write topics as TSV, ``id TAB text``, one per line, without other columns.

    White space in a text, including line ends, becomes one space. The file is written atomically,
    compressed according to its suffix.

    Args:
        topics: The topics.
        path: The file.

    Raises:
        InputError: If there are no topics, an id cannot be written, a text is empty, or the file
            cannot be written.
    """
    refuse_unwritable(topics.frame, ("query_id",), "topics")
    one_line = pl.col("text").str.replace_all(r"[\s\p{Cc}]+", " ").str.strip_chars()
    rows = topics.frame.select("query_id", one_line)
    empty = rows.filter(pl.col("text") == "")
    if empty.height:
        what = f"topic {shortened(empty['query_id'][0])} has no text"
        raise InputError(what, where="topics", remedy="write the text, or remove the topic")
    write_rows([rows], path, separator="\t")


def _refuse_bare_cr(source: Source) -> None:
    """Refuse CRs without LF, which some tools read as line ends and others as white space."""
    if source.data.count(b"\r") == source.data.count(b"\r\n"):
        return
    at = next(match.start() for match in re.finditer(rb"\r(?!\n)", source.data))
    line_start = source.data.rfind(b"\n", 0, at) + 1
    raise _bare_cr(source.path, source.data.count(b"\n", 0, at) + 1, source.data[line_start:at])


def _bare_cr(path: str, line: int, before: bytes) -> FormatError:
    return FormatError(
        "CR without LF (F105)",
        path=path,
        line=line,
        column=len(before.decode("utf-8", "replace")) + 1,
        remedy="convert the line ends to LF: topics validate FILE --fix OUT",
    )


def _iter_topics(source: Source) -> Iterator[Topic]:
    start = _start_of(source.data[:4096])
    if start.startswith("{"):
        return _iter_jsonl(source.lines(), source.path)
    if not start.startswith("<"):
        return _iter_tsv(source.lines(), source.path)
    text = decode_text(source.data, source.path).removeprefix("\ufeff")
    if re.search("<top>", text, re.IGNORECASE):
        return iter_sgml(text, source.path)
    if re.search(r"<topic\b", text, re.IGNORECASE):
        return _iter_xml(text, source.path)
    raise FormatError(
        "expected <top> or <topic> elements but found none",
        path=source.path,
        remedy="give topics as TSV, JSON Lines, TREC SGML or TREC XML",
    )


def _start_of(data: bytes) -> str:
    return data.decode("utf-8", "ignore").lstrip("\ufeff \t\r\n")


def _up_to_first_text(lines: Iterator[bytes]) -> list[bytes]:
    """Return the lines up to the first that is not blank."""
    head = []
    for line in lines:
        head.append(line)
        if _start_of(line):
            break
    return head


def _without_bare_cr(lines: Iterable[bytes], path: str) -> Iterator[bytes]:
    for number, line in enumerate(lines, 1):
        at = line.find(b"\r", 0, -1)
        if at >= 0:
            raise _bare_cr(path, number, line[:at])
        yield line


def _iter_tsv(lines: Iterable[bytes], path: str) -> Iterator[Topic]:
    is_first = True
    for line, text in decode_lines(lines, path):
        query_id, tab, rest = text.partition("\t")
        if not tab and text.startswith("#"):
            continue  # a comment
        if not tab:
            what = "no tab between id and text (T101)"
            raise FormatError(what, path=path, line=line, remedy="write id TAB text")
        if is_first and is_header(query_id, rest):
            raise FormatError("header line (T103)", path=path, line=line, remedy="remove it")
        is_first = False
        yield Topic(line, query_id, rest.replace("\t", " ").strip(" "))


def _iter_jsonl(lines: Iterable[bytes], path: str) -> Iterator[Topic]:
    id_key = text_key = ""
    for line, record in iter_objects(lines, path):
        # The first line determines the names, so that a field has one meaning on all lines.
        id_key = id_key or find_key(record, LINE_ID_KEYS, "query id", path, line)
        text_key = text_key or find_key(record, TEXT_KEYS, "text", path, line)
        query_id, text = get_id(record, id_key, path, line), get_text(record, text_key, path, line)
        other_fields = {
            key: field
            for key, value in record.items()
            if key not in (id_key, text_key, *TOPICS_SCHEMA)
            and (field := as_field_text(value)) is not None
        }
        yield Topic(line, query_id, text, other_fields)


def _refuse_unusable(topic: Topic, path: str) -> None:
    problem = id_problem(topic.query_id, "query")
    if problem:
        code = "T113" if topic.query_id.strip(" ") else "T105"
        remedy = "change the id: a run cannot contain it"
        raise FormatError(f"{problem} ({code})", path=path, line=topic.line, remedy=remedy)
    if not topic.text.strip():
        what = f"topic {shortened(topic.query_id)} has no text (T121)"
        remedy = "write the text, or remove the topic"
        line = topic.text_line or topic.line
        raise FormatError(what, path=path, line=line, remedy=remedy)


def _collect(topics: Iterable[Topic], path: str) -> Topics:
    known: dict[str, Topic] = {}
    found: list[Topic] = []
    for topic in topics:
        _refuse_unusable(topic, path)
        first = known.setdefault(topic.query_id, topic)
        if first is topic:
            found.append(topic)
        elif first.text != topic.text:
            what = f"topic {shortened(topic.query_id)} has another text on line {first.line} (T112)"
            raise FormatError(what, path=path, line=topic.line, remedy="keep one of them")
    if not found:
        raise _no_topics(path)
    names = dict.fromkeys(name for topic in found for name in topic.other_fields)
    if len(names) > MAX_FIELDS:
        what = f"more than {MAX_FIELDS:,} different fields in {len(found):,} topics"
        raise FormatError(what, path=path, remedy="use the same few fields in every topic")
    columns = {
        "query_id": [topic.query_id for topic in found],
        "text": [topic.text for topic in found],
        **{name: [topic.other_fields.get(name) for topic in found] for name in names},
    }
    return Topics(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)), path)


def iter_sgml(text: str, path: str) -> Iterator[Topic]:
    """Parse ``<top>`` blocks: ``<num> Number: 301``, ``<title> …``, with or without closing tags.

    ``<title>`` becomes the text, which may be empty; ``<desc>``, ``<narr>`` and so on become other
    fields (``description``, ``narrative``, …).

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
        other_fields = {_LONG_NAMES.get(tag, tag): value for tag, value in fields.items()}
        yield Topic(line, query_id, title, other_fields, text_line)


def _iter_xml(text: str, path: str) -> Iterator[Topic]:
    """Parse ``<topic number="1">`` elements with ``<query>``, ``<title>`` or only text.

    The number may be an attribute or a child (``number``, ``num``, ``id``, …). Other children with
    text become other fields.

    Raises:
        FormatError: With line and column, if the XML is not well-formed, or if a document type
            declares entities or default values; with line, if a topic lacks number or text.
    """
    try:
        elements = parse_elements(text.encode(), "topic")
    except TreeError as error:
        raise FormatError(
            error.what, path=path, line=error.line, column=error.column, remedy=error.remedy
        ) from error
    for element in elements:
        yield xml_topic(element, path)


def xml_topic(element: Mapping, path: str) -> Topic:
    """Convert an XML element to a topic, whose text may be empty.

    Raises:
        FormatError: If it has no number, or neither ``<query>`` nor ``<title>`` nor a text.
    """
    nodes = {name: node for name, (_, node) in element.pairs.items() if isinstance(node, Scalar)}
    texts = {name: _one_line(node.text) for name, node in nodes.items() if name[:1] != "@"}
    values = {**texts, **{name[1:]: node.text for name, node in nodes.items() if name[:1] == "@"}}
    id_name = next((name for name in _XML_ID_NAMES if values.get(name)), None)
    text_names = [name for name in _XML_TEXT_NAMES if name in texts]
    text_name = next((name for name in text_names if texts[name]), text_names[0])
    if id_name is None:
        raise _missing("number", path, element.line)
    if not (text_name or texts[text_name]):
        raise _missing("<query> or <title>", path, element.line)
    other_fields = {
        name: text
        for name, text in texts.items()
        if nodes[name].text and name not in (id_name, text_name, "")
    }
    text_line = nodes[text_name].line if text_name else None
    return Topic(element.line, values[id_name].strip(), texts[text_name], other_fields, text_line)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _without_label(text: str, label: str) -> str:
    if text.lower().startswith(label.lower()):
        rest = text[len(label) :].lstrip()
        if rest.startswith(":"):
            return rest[1:].lstrip()
    return text


def _no_topics(path: str) -> FormatError:
    remedy = "check that the program that wrote the file finished"
    return FormatError("no topics", path=path, remedy=remedy)


def _missing(what: str, path: str, line: int) -> FormatError:
    return FormatError(
        f"{what} is missing in this topic",
        path=path,
        line=line,
        remedy="give every topic a number and a text",
    )
