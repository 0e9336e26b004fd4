"""The records of topics in files: lines, tables, JSON, SGML and XML, and the problems in them.

Readers never raise: they add problems to a collection. The rules of ``topics validate`` report
them; for loaders, :meth:`Problems.refuse` raises the first one that prevents reading.
"""

from __future__ import annotations

import html
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal

from trectools_plus.errors import FormatError
from trectools_plus.formats.interchange.names import (
    CASE_KEYS,
    JUDGED_KEYS,
    TABLE_TEXTS,
    TABLE_TOPIC_IDS,
    TOP_KEYS,
    TOPIC_TEXTS,
    names_of,
    normalize,
)
from trectools_plus.formats.interchange.table_files import Header
from trectools_plus.formats.interchange.table_files import read_table as read_headed_table
from trectools_plus.formats.nodes import (
    Node,
    TreeError,
    line_counter,
    parse_json,
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
    severity: Literal["error", "warning", "info"] | None = None
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
        found = [problem for problem, _ in self.groups.values() if problem.severity != "warning"]
        for problem in sorted(found, key=lambda problem: problem.line):
            if problem.blocks_scoring is not False:
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


def iter_lines(text: str, problems: Problems) -> Iterator[Topic]:
    """Yield the topics of lines ``id TAB text`` or another form, also those without id or text.

    Blank lines, comments (``#`` without a tab) and a header are skipped.

    Args:
        text: The file.
        problems: Collects the problems.
    """
    ended = ((at, line.removesuffix("\r")) for at, line in enumerate(text.split("\n"), 1))
    lines = [
        (at, line)
        for at, line in ended
        if line.strip(" \t\v\f") and (not line.startswith("#") or "\t" in line)
    ]
    sample = [line for _, line in lines[:SAMPLED]]
    if sample and all(map(_JUDGED_OR_RANKED.fullmatch, sample)):
        problems.add(
            "T101",
            lines[0][0],
            "this is a run, or qrels",
            remedy="Use 'runs validate' or 'trectools-plus qrels validate' for it",
        )
        return
    form = next(form for form, row in _LINE_FORMS.items() if _are_topics(sample, row))
    if form != _TSV:
        report_other_form(lines[0][0], f"lines {form}", problems)
    elif sample and is_header(sample[0].split("\t")):
        at, line = lines.pop(0)
        problems.add("T103", at, f"header line {quoted(line)}", blocks_scoring=False)
    for at, line in lines:
        match = _LINE_FORMS[form].fullmatch(line)
        if match is None:
            problems.add("T101", at, f"expected {form} but got {quoted(line)}")
            continue
        query_id, words = match[1] if match[1].strip(" ") else None, match[2]
        if query_id is None:
            problems.add("T105", at, f"no id before {quoted(words.strip(' '))}")
        elif "\t" in words:
            problems.add(
                "T102",
                at,
                "tab inside the text, read as a blank",
                query_id=query_id,
                severity="warning",
            )
        yield Topic(at, query_id, words.replace("\t", " ").strip(" "), at)


def _are_topics(lines: Sequence[str], row: re.Pattern[str]) -> bool:
    """Return whether all lines have a form, with ids that occur once."""
    ids = {match[1].lower() for line in lines if (match := row.fullmatch(line))}
    return row is _LINE_FORMS[_TSV] or (len(ids) == len(lines) > 0 and not _NOT_IDS & ids)


def report_other_form(line: int, name: str, problems: Problems) -> None:
    """Report that a file is not TSV (T101)."""
    problems.add(
        "T101",
        line,
        f"{name}, not {_TSV}; trectools-plus reads them, other tools do not",
        severity="warning",
        remedy=f"Write {_TSV}",
    )


def is_header(names: Sequence[str]) -> bool:
    """Return whether the values of a line are the names of columns with id and text."""
    plain = [normalize(name) for name in names]
    ids = [name for name in plain if name in TABLE_TOPIC_IDS[:-2]]
    return bool(ids) and any(name != ids[0] for name in plain if name in TABLE_TEXTS)


def read_table(text: str, header: Header, problems: Problems) -> list[Topic]:
    """Return the rows of a table with a header; values that are empty are left out.

    Raises:
        TreeError: At a row with more values than names, or with quotes that do not match.
    """
    table = read_headed_table(text, header)
    for line in table.misshapen.line.tolist():
        raise TreeError("more values than names in the header, or quotes that do not match", line)
    topics = [
        Topic(line, fields={name: text_node(line, value) for name, value in row if value})
        for line, *values in table.rows.iter_rows()
        for row in [zip(header.names, values, strict=True)]
    ]
    if topics:
        report_other_form(1, "a table with a header", problems)
    return topics


def read_json_lines(text: str, problems: Problems) -> list[Topic]:
    """Return the objects of JSON Lines; report the other lines."""
    topics = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            root = parse_json(line, problems.add, number) if line.strip(" \t\r") else None
            if root is not None and not isinstance(root.data, dict):
                raise TreeError(f"expected a JSON object but got {root.describe()}", number)
            topics += [] if root is None else [_topic_of(root)]
        except TreeError as error:
            problems.add("T104", error.line, str(error))
    return topics


_LISTS = names_of("topics queries questions data records items claims testcases")
_TURNS = {"turn", "turns", "utterances", "conversation"}


def find_topics(root: Node, *, test_sets: bool = False) -> list[Topic] | None:
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
    has_form = values is not root and 0 < len(names) == len(names.keys() & {*CASE_KEYS})
    # Keys that only test sets have, or misspellings of them.
    keys = [*names, *(values.fields if values is root else ())][:SAMPLED]
    known = *JUDGED_KEYS, *TOP_KEYS[1:]
    has_form |= any(get_close_matches(key[:64].lower(), known, 1, 0.75) for key in keys)
    if "metadata" in root.fields or has_form:
        return list(map(_topic_of, cases)) if test_sets and names else None
    has_texts = any(normalize(name) in TOPIC_TEXTS for name in names)
    if values.items or has_texts:
        is_regular = cases and all(case.fields for case in cases)
        return list(map(_topic_of, cases)) if is_regular else None
    if any(normalize(name) in (*TOPIC_TEXTS[:9], *TABLE_TOPIC_IDS) for name in root.fields):
        return [_topic_of(root)]
    if not cases or any(case.meaning != "text" for case in cases):
        return None
    return [Topic(case.line, key, fields={"text": case}) for key, case in values.fields.items()]


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
    key = mapping.key or Node(mapping.line, None)
    return Topic(key.line, key.text or None, fields=mapping.fields)


_ELEMENTS = names_of("top topic query question productionrequest request q doc")
"""The elements that can be topics; the first that a file has are."""
_SGML_TAGS = names_of(
    "num dom title desc smry narr con fac def query question summary description narrative slang"
)
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
_ATTRIBUTE = re.compile(r"""(?<![\w:.-])([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_SMART = {r"I[ \t]+(\S+)": r"<top><num>\1", "W": "<title>", "[A-Z]": "<narr>"}
_LOOSE = re.compile(r"&(?:#?\w+;)?|<(?![A-Za-z_/!?])")


def read_markup(text: str, problems: Problems) -> list[Topic]:
    """Return ``<top>`` blocks, or elements like ``<topic number="1">`` and ``<query>``.

    A topic ends at the first end tag. In ``<top>``, end tags can be missing: ``<num> Number: 301``.
    Document types are not read; names of HTML can stand for characters: ``&nbsp;``. ``.I 1`` and
    ``.W`` (SMART) are read as ``<top><num>1`` and ``<title>``.

    Args:
        text: The file, without byte order mark.
        problems: Collects the problems.

    Raises:
        TreeError: If XML is not well-formed.
    """
    for pattern, tag in _SMART.items() if text.lstrip().startswith(".I") else ():
        text = re.sub(rf"^\.{pattern}[ \t\r]*$", tag, text, flags=re.MULTILINE)
    text = _NOT_TEXT.sub(_blank, text)
    names = {tag["name"].lower() for tag in _TAG.finditer(text)}
    if "top" not in names:
        _check_xml(text, problems)
    name = next((name for name in _ELEMENTS if name in names), None)
    if name is None:
        problems.add(
            "T104",
            1,
            "expected <top> or <topic> elements but found none "
            f"(elements: {', '.join(sorted(names)[:9]) or 'none'})",
            remedy="Give topics as TSV, JSON Lines, SGML or XML",
        )
        return []
    end = r"(?=</?top[\s>]|\Z)" if name == "top" else rf"</{name}\s*>"
    element = rf"<{name}(?P<rest>(?:\s[^<>]*?)?)(?:/>|>(?P<body>.*?){end})"
    line_of, topics = line_counter(text), []
    for match in re.compile(element, re.DOTALL | re.IGNORECASE).finditer(text):
        line, at, body = line_of(match.start()), match.start("body"), match["body"] or ""
        if inner := re.search(rf"<{name}[\s/>]", body, re.IGNORECASE):
            problems.add(
                "T104",
                line_of(at + inner.start()),
                f"<{name}> inside another <{name}>, not read as a topic of its own",
                severity="warning",
            )
            body = body[: inner.start()]
        attributes = _attributes_of(match["rest"])
        fields = {name: text_node(line, value) for name, value in attributes.items()}
        for field_name, position, value in _fields_of(body, is_sgml=name == "top"):
            first = fields.get(field_name) or text_node(line_of(at + position), "")
            joined = value if field_name in attributes else f"{first.text} {value}".strip()
            fields[field_name] = text_node(first.line, joined)
        topics.append(Topic(line, fields=fields))
    return topics


def _blank(match: re.Match[str]) -> str:
    """Return the content of a CDATA section; for other markup, its line ends."""
    return html.escape(match["data"]) if match["data"] else "\n" * match[0].count("\n")


def _attributes_of(rest: str) -> dict[str, str]:
    return {
        name.lower(): html.unescape(one or other).strip()
        for name, one, other in _ATTRIBUTE.findall(rest)
    }


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


def _fields_of(body: str, *, is_sgml: bool) -> Iterator[tuple[str, int, str]]:
    """Yield name, position and text of each field of an element; its own text has no name."""
    tags = [(tag["name"].lower(), tag) for tag in _TAG.finditer(body)]
    closed = {name for name, tag in tags if tag["end"]}
    fields: list[tuple[str, int, list[str]]] = [("", 0, [])]
    opened, begin = "", 0
    for name, tag in tags:
        fields[-1 if opened else 0][2].append(body[begin : tag.start()])
        begin = tag.end()
        is_known = name in closed or name.rpartition("-")[2] in _SGML_TAGS
        if tag["end"]:
            opened = "" if name == opened else opened
        elif not opened or (opened not in closed and is_known):
            language = next(
                filter(
                    None, map(_attributes_of(tag["rest"]).get, ("lang", "xml:lang", "language"))
                ),
                None,
            )
            is_translation = language and any(name == earlier for earlier, *_ in fields)
            fields.append((f"{name}.{language}" if is_translation else name, tag.start(), []))
            opened = "" if tag["rest"].endswith("/") else name
    fields[-1 if opened else 0][2].append(body[begin:])
    for name, position, parts in fields:
        text = " ".join(html.unescape("".join(parts)).split())
        if is_sgml and name:
            yield (
                {"desc": "description", "narr": "narrative"}.get(name, name),
                position,
                _LABEL.sub("", text, 1),
            )
        elif name or text:
            yield name, position, text
