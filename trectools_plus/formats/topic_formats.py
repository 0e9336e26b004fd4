"""Formats of topics: a row for each, with its mark and its reader, and the problems in files.

Readers add problems to a table, and raise only ``TreeError``. The rules of ``topics validate``
report them; for loaders, :meth:`Problems.refuse` raises the first one that prevents reading.
"""

from __future__ import annotations

import html
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from typing import Any, Literal, NamedTuple

from trectools_plus.errors import FormatError
from trectools_plus.formats.interchange.names import (
    CASE_KEYS,
    JUDGED_KEYS,
    TABLE_TEXTS,
    TABLE_TOPIC_IDS,
    TOP_KEYS,
    TOPIC_TEXTS,
    find_fields,
    names_of,
    normalize,
)
from trectools_plus.formats.interchange.table_files import BLANKS, Header, find_header
from trectools_plus.formats.interchange.table_files import read_table as read_headed_table
from trectools_plus.formats.nodes import (
    Node,
    Repeat,
    TreeError,
    line_counter,
    parse_json,
    parse_yaml,
    text_node,
)
from trectools_plus.text import quoted, visible

SAMPLED = 1000
"""The number of records whose fields decide how a file is read."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem in a file of topics or in a test set.

    Attributes:
        code: The rule of ``topics validate`` that reports it.
        line: The line, from 1.
        message: The problem.
        query_id: The topic.
        doc_id: The document.
        severity: If it differs from the severity of the rule: ``warning`` if the topics can be read
            as meant.
        remedy: What the user can do about it, if it differs from the remedy of the rule.
        blocks_scoring: ``False`` if the file can be scored.
    """

    code: str
    line: int
    message: str
    query_id: str | None = None
    doc_id: str | None = None
    severity: Literal["warning"] | None = None
    remedy: str | None = None
    blocks_scoring: bool | None = None


class Problems:
    """The problems of a file: the first of each code and severity, and the lines of the others.

    One that prevents scoring replaces a first one that does not.
    """

    def __init__(self) -> None:
        self.groups: dict[tuple[str, str | None], tuple[Problem, array[int]]] = {}

    def add(self, code: str, line: int, message: str, **further: Any) -> None:
        """Add a problem; ``further`` are attributes of :class:`Problem`."""
        problem = Problem(code, line, message, **further)
        first, lines = self.groups.get((code, problem.severity), (problem, array("I")))
        lines.append(line)
        prevents_scoring = first.blocks_scoring is False and problem.blocks_scoring is None
        self.groups[code, problem.severity] = problem if prevents_scoring else first, lines

    def refuse(self, path: str) -> None:
        """Raise the first problem that is not a warning and prevents reading.

        Raises:
            FormatError: With the code of the rule.
        """
        found = [
            problem
            for problem, _ in self.groups.values()
            if (problem.severity, problem.blocks_scoring) == (None, None)
        ]
        if problem := min(found, key=lambda problem: problem.line, default=None):
            raise FormatError(
                f"{problem.message} ({problem.code})",
                path=path,
                line=problem.line,
                remedy=problem.remedy and problem.remedy[:1].lower() + problem.remedy[1:],
            )


@dataclass(slots=True)
class Topic:
    """One topic of a file, or one case of a test set.

    Attributes:
        line: The line of its id, or on which it starts, from 1.
        query_id: Its id; ``None`` if it is missing or empty.
        text: Its text; ``None`` if it is missing or not a single value.
        text_line: The line on which its text starts; ``None`` if unknown.
        fields: Its values by name, as written.
    """

    line: int
    query_id: str | None = None
    text: str | None = None
    text_line: int | None = None
    fields: dict[str, Node] = field(default_factory=dict)


@dataclass(slots=True)
class TopicTable:
    """The topics of a file in any format, also those of a test set, which can lack an id or a text.

    Attributes:
        test_sets: Read the texts of test sets too.
        topics: The topics.
        problems: The problems that were found.
        read_as: A description of the fields, if they are not the usual ones.
        other: The document, if it is a test set that should not be read, or has no topics.
    """

    test_sets: bool = True
    topics: list[Topic] = field(default_factory=list)
    problems: Problems = field(default_factory=Problems)
    read_as: str | None = None
    other: Node | None = None


def read_id(node: Node, what: str, query_id: str | None, problems: Problems) -> str | None:
    """Read an id as it is written in the file; ``None`` without one.

    Args:
        node: The value.
        what: The name of the value in messages: "id" or "document id".
        query_id: The topic that it belongs to, if that is known.
        problems: Collects null (T105), and values that loaders do not read as text (T114).
    """
    if node.data == "":
        problems.add("T105", node.line, f"{what} is empty", query_id=query_id)
        return None
    return _read_scalar(node, what, "T114", query_id, problems)


def read_text(node: Node, topic: Topic, problems: Problems) -> None:
    """Read the text of a topic, and its place.

    Reports null (T105), values of other types (T115) and a text cut at '#' (T117).
    """
    topic.text_line = node.line
    topic.text = _read_scalar(node, "text", "T115", topic.query_id, problems)
    if node.cut is not None:
        problems.add(
            "T117",
            node.cut,
            f"text is cut at '#': {quoted(node.text)}",
            query_id=topic.query_id,
            severity="warning",
        )


def _read_scalar(
    node: Node, what: str, code: str, query_id: str | None, problems: Problems
) -> str | None:
    if not node.is_scalar or node.data is None:
        problems.add("T105", node.line, f"{what} is {node.describe()}", query_id=query_id)
        return None
    if node.meaning != "text":
        shown = visible(node.text)
        problems.add(
            code,
            node.line,
            f"{what} {shown} is read as {node.describe()}",
            query_id=query_id,
            # A whole number stays the same if it is converted back to text.
            severity="warning" if node.is_whole else None,
            remedy=f'Quote it: "{shown}"',
        )
    return node.text


_TSV = "id TAB text"
_LINE_FORMS = {
    "query TAB id TAB text": re.compile(r"query\t([^\t]+)\t(.*)", re.IGNORECASE),
    "id:priority:text": re.compile(r" *([0-9]+):[0-9]{1,2}: *([^\s][^\t]*)"),
    "id:text": re.compile(r" *([^\s:#{}\[\]\"'<>,;|]+): *([^\s][^\t]*)"),
    _TSV: re.compile(r"([^\t]*)\t(.*)"),
}
"""A file has the first of these forms that all its lines have; otherwise it is TSV."""
_NOT_IDS = {"id", "qid", "text", "query", "title", "topic", "number", "http", "https"}
_JUDGED_OR_RANKED = re.compile(r"\S+[ \t]+[Qq]?0[ \t]+\S+[ \t]+-?[0-9]+(?:[ \t]+\S+){0,2}\s*")
"""A row of a run, or of qrels."""


def read_lines(text: str, table: TopicTable) -> Iterator[Topic]:
    """Yield the topics of lines ``id TAB text`` or another form, also those without id or text.

    Blank lines, comments (``#`` without a tab) and a header are skipped.
    """
    lines = [
        (at, line.removesuffix("\r"))
        for at, line in enumerate(text.split("\n"), 1)
        if line.strip(" \t\r\v\f") and ("\t" in line or line[0] != "#")
    ]
    sample = [line for _, line in lines[:SAMPLED]]
    if sample and all(map(_JUDGED_OR_RANKED.fullmatch, sample)):
        remedy = "Use 'runs validate' or 'trectools-plus qrels validate' for it"
        table.problems.add("T101", lines[0][0], "this is a run, or qrels", remedy=remedy)
        return
    ids = {
        form: {match[1].lower() for line in sample if (match := row.fullmatch(line))} - _NOT_IDS
        for form, row in _LINE_FORMS.items()
    }
    # All lines have the form, with ids that occur once.
    form = next((form for form in ids if len(ids[form]) == len(sample) > 0), _TSV)
    if form != _TSV:
        report_other_form(lines[0][0], f"lines {form}", table.problems)
    elif sample and is_header(sample[0].split("\t")):
        at, line = lines.pop(0)
        table.problems.add("T103", at, f"header line {quoted(line)}", blocks_scoring=False)
    for at, line in lines:
        yield from _read_line(at, line, form, table.problems)


def _read_line(at: int, line: str, form: str, problems: Problems) -> Iterator[Topic]:
    match = _LINE_FORMS[form].fullmatch(line)
    if match is None:
        problems.add("T101", at, f"expected {form} but got {quoted(line)}")
        return
    query_id, words = match[1] if match[1].strip(" ") else None, match[2]
    if query_id is None:
        problems.add("T105", at, f"no id before {quoted(words.strip(' '))}")
    elif "\t" in words:
        what = "tab inside the text, read as a blank"
        problems.add("T102", at, what, query_id=query_id, severity="warning")
    yield Topic(at, query_id, words.replace("\t", " ").strip(" "), at)


def report_other_form(line: int, name: str, problems: Problems) -> None:
    """Report that a file is not TSV (T101)."""
    problems.add(
        "T101",
        line,
        f"{name}, not {_TSV}; trectools-plus reads them, other tools do not",
        severity="warning",
    )


_HEADER = {"query_id": TABLE_TOPIC_IDS[:-2], "text": TABLE_TEXTS}


def is_header(names: Sequence[str]) -> bool:
    """Return whether the values of a line are the names of columns with id and text."""
    return find_fields(names, _HEADER).keys() == _HEADER.keys()


def find_header_of_topics(text: str) -> Header | None:
    """Return the header of a table, except two columns with a tab."""
    header, least = find_header(text, is_header), {BLANKS: 1 << 30, "\t": 3}
    return header if header and len(header.names) >= least.get(header.separator, 2) else None


def read_table(text: str, table: TopicTable) -> list[Topic]:
    """Return the rows of a table with a header; values that are empty are left out.

    Raises:
        TreeError: At a row with more values than names, or with quotes that do not match.
    """
    header = find_header_of_topics(text)
    if header is None:
        return []
    rows = read_headed_table(text, header)
    for line in rows.misshapen.line.tolist():
        raise TreeError("more values than names in the header, or quotes that do not match", line)
    topics = [
        Topic(
            line,
            fields={
                name: text_node(line, value)
                for name, value in zip(header.names, values, strict=True)
                if value
            },
        )
        for line, *values in rows.rows.iter_rows()
    ]
    if topics:
        report_other_form(1, "a table with a header", table.problems)
    return topics


def read_json_lines(text: str, table: TopicTable) -> list[Topic]:
    """Return the objects of JSON Lines; report the other lines."""
    topics = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            if line.strip(" \t\r"):
                root = parse_json(line, table.problems.add, number)
                if not isinstance(root.data, dict):
                    raise TreeError(f"expected a JSON object but got {root.describe()}", number)
                topics.append(_topic_of(root))
        except TreeError as error:
            table.problems.add("T104", error.line, str(error))
    return topics


def read_document(
    text: str, table: TopicTable, parse: Callable[[str, Repeat], Node | None]
) -> list[Topic]:
    """Return the topics of a document; without topics, it is the other document of the table.

    Raises:
        TreeError: If it is not valid, or the topics are conversations.
    """
    root = parse(text, table.problems.add) if text.strip() else None
    topics = root and find_topics(root, table.test_sets)
    table.other = None if topics else root
    return topics or []


_LISTS = names_of("topics queries questions data records items claims testcases")
_TURNS = {"turn", "turns", "utterances", "conversation"}


def find_topics(root: Node, test_sets: bool) -> list[Topic] | None:
    """Return the topics of a document in JSON or YAML: a list, or ``{id: text}``.

    Args:
        root: The document.
        test_sets: Return the cases of a test set too.

    Returns:
        The topics; ``None`` if the document is a test set, or neither.

    Raises:
        TreeError: If the topics are conversations.
    """
    lists = [value for name, value in root.fields.items() if normalize(name) in _LISTS]
    values = lists[0] if len(lists) == 1 else root
    cases = values.items or list(values.fields.values())
    names = dict.fromkeys(name for case in cases[:SAMPLED] for name in case.fields)
    if _is_test_set(root, values, names):
        are_topics = test_sets and bool(names)
    elif values.items or any(normalize(name) in TOPIC_TEXTS for name in names):
        are_topics = all(case.fields for case in cases)
    elif any(normalize(name) in (*TOPIC_TEXTS[:9], *TABLE_TOPIC_IDS) for name in root.fields):
        cases, are_topics = [root], True
    elif all(case.meaning == "text" for case in cases):
        cases = [Node(case.line, {"text": case}, key=case.key) for case in cases]
        are_topics = True
    else:
        are_topics = False
    return list(map(_topic_of, cases)) if cases and are_topics else None


def _is_test_set(root: Node, values: Node, names: dict[str, None]) -> bool:
    """Return whether a document has metadata, or the names of fields of a test set.

    Args:
        root: The document.
        values: The value in it that has the topics or cases.
        names: The names of their fields.
    """
    if "metadata" in root.fields or (values is not root and names and names.keys() <= {*CASE_KEYS}):
        return True
    # Keys that only test sets have, or misspellings of them.
    keys = [*names, *(values.fields if values is root else ())][:SAMPLED]
    known = *JUDGED_KEYS, *TOP_KEYS[1:]
    return any(get_close_matches(key[:64].lower(), known, 1, 0.75) for key in keys)


def _topic_of(mapping: Node) -> Topic:
    """Return the topic of a mapping, whose key is its id if it is in a mapping.

    Raises:
        TreeError: If it is a conversation, whose turns are several queries.
    """
    for name, value in mapping.fields.items():
        if value.items and normalize(name) in _TURNS:
            raise TreeError(
                "turns of a conversation are not read; write one topic for each turn", value.line
            )
    key = mapping.key or text_node(mapping.line, "")
    return Topic(key.line, key.text or None, fields=mapping.fields)


_ELEMENTS = names_of("top topic query question productionrequest request q doc")
"""The elements that can be topics; the first that a file has are."""
_SGML_TAGS = names_of(
    "num dom title desc smry narr con fac def query question summary description narrative slang"
)
_LONG_NAMES = {"desc": "description", "narr": "narrative"}
_LABEL = re.compile(
    r"^(?:Number|Domain|Topic|Description|Summary|Narrative|Concept\(s\)|Factor\(s\)"
    r"|Definition\(s\))\s*:\s*",
    re.IGNORECASE,
)
_NOT_TEXT = re.compile(
    r"<!--.*?(?:-->|\Z)|<!\[CDATA\[(?P<data>.*?)(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)"
    r"|<!DOCTYPE[^\[>]*(?:\[.*?(?:\]|\Z)[^\[>]*)*(?:>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_TAG = re.compile(r"<(?P<end>/?)(?P<name>[a-z_][\w:.-]*)(?P<rest>[^<>]*)>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""(?<![\w:.-])([\w:.-]+)\s*=\s*("[^"]*"|'[^']*')""")
_LANGUAGE = re.compile(r"""(?:^|[\s:])lang(?:uage)?\s*=\s*["']([^"']+)""", re.IGNORECASE)
_SMART = {r"I[ \t]+(\S+)": r"<top><num>\1", "W": "<title>", "[A-Z]": "<narr>"}
_LOOSE = re.compile(r"&(?:#?\w+;)?|<(?![A-Za-z_/!?])")


def read_markup(text: str, table: TopicTable) -> list[Topic]:
    """Return ``<top>`` blocks, or elements like ``<topic number="1">`` and ``<query>``.

    A topic ends at the first end tag. In ``<top>``, end tags can be missing: ``<num> Number: 301``.
    Document types are not read; names of HTML can stand for characters: ``&nbsp;``. ``.I 1`` and
    ``.W`` (SMART) are read as ``<top><num>1`` and ``<title>``.

    Raises:
        TreeError: If XML is not well-formed.
    """
    for pattern, tag in _SMART.items() if text.lstrip().startswith(".I") else ():
        text = re.sub(rf"^\.{pattern}[ \t\r]*$", tag, text, flags=re.MULTILINE)
    text = _NOT_TEXT.sub(_blank, text)
    names = {tag["name"].lower() for tag in _TAG.finditer(text)}
    if "top" not in names:
        _check_xml(text, table.problems)
    name = next((name for name in _ELEMENTS if name in names), None)
    if name is None:
        shown = ", ".join(sorted(names)[:9]) or "without names"
        raise TreeError(
            f"expected <top> or <topic> elements, lines or JSON but got elements {shown}", 1
        )
    end = r"(?=</?top[\s>]|\Z)" if name == "top" else rf"</{name}\s*>"
    element = rf"<{name}(?P<rest>(?:\s[^<>]*?)?)(?:/>|>(?P<body>.*?){end})"
    elements, line_of = re.compile(element, re.DOTALL | re.IGNORECASE), line_counter(text)
    return [_read_element(match, name, line_of, table) for match in elements.finditer(text)]


def _read_element(
    match: re.Match[str], name: str, line_of: Callable[[int], int], table: TopicTable
) -> Topic:
    line, at, body = line_of(match.start()), match.start("body"), match["body"] or ""
    if inner := re.search(rf"<{name}[\s/>]", body, re.IGNORECASE):
        what = f"<{name}> inside another <{name}>, not read as a topic of its own"
        table.problems.add("T104", line_of(at + inner.start()), what, severity="warning")
        body = body[: inner.start()]
    fields: dict[str, Node] = {}
    for field_name, position, parts in _fields_of(body):
        text = " ".join(html.unescape("".join(parts)).split())
        if name == "top" and field_name:
            text, field_name = _LABEL.sub("", text, 1), _LONG_NAMES.get(field_name, field_name)
        if field_name or text:
            first = fields.get(field_name) or text_node(line_of(at + position), "")
            fields[field_name] = text_node(first.line, f"{first.text} {text}".strip())
    attributes = {
        key.lower(): text_node(line, html.unescape(value[1:-1]).strip())
        for key, value in _ATTRIBUTE.findall(match["rest"])
    }
    return Topic(line, fields=attributes | fields)


def _blank(match: re.Match[str]) -> str:
    """Return the content of a CDATA section; for other markup, its line ends."""
    return html.escape(match["data"]) if match["data"] else "\n" * match[0].count("\n")


def _check_xml(text: str, problems: Problems) -> None:
    """Report loose characters and unknown entities, the first of each.

    Raises:
        TreeError: If an end tag does not match its start tag or is missing.
    """
    line_of = line_counter(text)
    loose = [match for match in _LOOSE.finditer(text) if html.unescape(match[0]) == match[0]]
    for is_entity, match in {len(match[0]) > 1: match for match in reversed(loose)}.items():
        problems.add(
            "T104",
            line_of(match.start()),
            f"{'undefined entity' if is_entity else 'not valid XML:'} {match[0]}",
            remedy="Write &amp; for &, &lt; for <",
            severity=None if is_entity else "warning",
        )
    opened: list[re.Match[str]] = []
    for tag in _TAG.finditer(text):
        if not tag["end"]:
            opened += [] if tag["rest"].endswith("/") else [tag]
        elif not opened or opened.pop()["name"].lower() != tag["name"].lower():
            raise TreeError(f"invalid XML: mismatched tag {tag[0]}", line_of(tag.start()))
    for tag in opened:
        raise TreeError(f"invalid XML: {tag[0]} is not closed", line_of(tag.start()))


def _fields_of(body: str) -> list[tuple[str, int, list[str]]]:
    """Return name, position and parts of the text of each field; first, those outside of fields.

    A field ends at its end tag; if its name has none, at the next tag that begins a field.
    """
    tags, opened = [*_TAG.finditer(body)], ""
    ends = [*(tag.start() for tag in tags), len(body)]
    closed = {tag["name"].lower() for tag in tags if tag["end"]}
    fields = [("", 0, [body[: ends[0]]])]
    for tag, end in zip(tags, ends[1:], strict=True):
        name = tag["name"].lower()
        if tag["end"]:
            opened = "" if name == opened else opened
        elif not opened or (
            opened not in closed and (name in closed or name.rpartition("-")[2] in _SGML_TAGS)
        ):
            opened = "" if tag["rest"].endswith("/") else name
            if language := _LANGUAGE.search(tag["rest"]):
                name += f".{language[1]}" * any(name == earlier for earlier, *_ in fields)
            fields.append((name, tag.start(), []))
        fields[-1 if opened else 0][2].append(body[tag.end() : end])
    return fields


_YAML_START = re.compile(
    r"(?!(?>\s*).*\t)"  # no tab in the first line that is not blank
    r"(?:[^\S\n]*(?:#.*)?\n)*(?:---|(?:queries|test_cases|metadata)\s*:|- +\w+\s*:)"
)
_TWO_OBJECTS = re.compile(r"[ \t\r\n]*\{[^\n]*\}\s*?\n\s*\{")


class TopicFormat(NamedTuple):
    """A format of topics.

    Attributes:
        mark: True for files of this format, by the suffix of the name and the text.
        read: Returns the topics of a text, and reports problems to a table.
        suffixes: The suffixes of the names of files that have this format, whatever is in them.
        has_lines: True if each line is a topic.
        is_document: True for JSON and YAML documents, which can be test sets.
    """

    mark: Callable[[str, str], object]
    read: Callable[[str, TopicTable], Iterable[Topic]]
    suffixes: tuple[str, ...] = ()
    has_lines: bool = False
    is_document: bool = False


TSV = TopicFormat(lambda *_: True, read_lines, has_lines=True)
"""Lines ``id TAB text``, and similar ones: the format of files without another mark."""
YAML = TopicFormat(
    lambda suffix, text: suffix != "tsv" and _YAML_START.match(text),
    partial(read_document, parse=parse_yaml),
    ("yml", "yaml"),
    is_document=True,
)
JSON = TopicFormat(
    lambda suffix, text: (
        suffix == "json" or re.match(rf"[ \t\r\n]*[{{{'[' * (suffix != 'tsv')}]", text)
    ),
    partial(read_document, parse=parse_json),
    is_document=True,
)
TOPIC_FORMATS = (
    TopicFormat(
        lambda _, text: _TWO_OBJECTS.match(text),
        read_json_lines,
        ("jsonl", "ndjson"),
        has_lines=True,
    ),
    JSON,
    TopicFormat(lambda _, text: re.match(r"[ \t\r\n]*(?:<|\.I[ \t])", text), read_markup),
    TopicFormat(lambda _, text: find_header_of_topics(text), read_table, has_lines=True),
    YAML,
    TSV,
)
"""The formats of topics; a file has that of its suffix, or else the first whose mark it has."""
_SUFFIX = re.compile(r"\.(ya?ml|jsonl|ndjson|json|tsv)(?:\.\w+)?$", re.IGNORECASE)


def format_of(path: str, text: str) -> TopicFormat:
    """Return the format of a file.

    Args:
        path: The name of the file.
        text: Its text, without byte order mark.
    """
    suffix = "".join(_SUFFIX.findall(path)).lower()
    forms = sorted(TOPIC_FORMATS, key=lambda form: suffix not in form.suffixes)
    return next(form for form in forms if suffix in form.suffixes or form.mark(suffix, text))
