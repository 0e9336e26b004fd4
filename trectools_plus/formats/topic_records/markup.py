"""Read topics in TREC's SGML and in XML."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from trectools_plus.formats.topic_records.nodes import TreeError, line_counter, text_node
from trectools_plus.formats.topic_records.records import Problems, Topic

_ELEMENTS = ("top", "topic", "query", "question", "productionrequest", "request", "q", "doc")
"""The elements that can be topics; the first that a file has are."""
_SGML_TAGS = frozenset(
    ("num", "dom", "title", "desc", "smry", "narr", "con", "fac", "def", "query", "question")
) | {"summary", "description", "narrative", "slang"}
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
        seen = ", ".join(sorted(names)[:9]) or "none"
        what = f"expected <top> or <topic> elements but found none (elements: {seen})"
        problems.add("T104", 1, what, remedy="Give topics as TSV, JSON Lines, SGML or XML")
        return []
    end = r"(?=</?top[\s>]|\Z)" if name == "top" else rf"</{name}\s*>"
    element = rf"<{name}(?P<rest>(?:\s[^<>]*?)?)(?:/>|>(?P<body>.*?){end})"
    line_of, topics = line_counter(text), []
    for match in re.compile(element, re.DOTALL | re.IGNORECASE).finditer(text):
        line, at, body = line_of(match.start()), match.start("body"), match["body"] or ""
        if inner := re.search(rf"<{name}[\s/>]", body, re.IGNORECASE):
            what = f"<{name}> inside another <{name}>, not read as a topic of its own"
            problems.add("T104", line_of(at + inner.start()), what, severity="warning")
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
        what = f"{'undefined entity' if is_entity else 'not valid XML:'} {match[0]}"
        severity, remedy = None if is_entity else "warning", "Write &amp; for &, &lt; for <"
        problems.add("T104", line_of(match.start()), what, remedy=remedy, severity=severity)
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
