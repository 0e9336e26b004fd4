"""Find the records of topics in lines: ``id:text``, ``id|text``, ``id text``, SMART's ``.I 1``.

The topics of the Million Query track have a priority: ``20001:1:text``.
"""

from __future__ import annotations

import re
from typing import Literal

from trectools_plus.formats.nodes.model import Scalar
from trectools_plus.formats.topic_records.model import Record, Records, Report, TopicProblem
from trectools_plus.text import plural

LineForm = Literal["priority", "colon", "labelled", "comma", "semicolon", "pipe", "blank", "smart"]

_COLON = re.compile(r" *([^\s:#{}\[\]\"'<>,;|]+): *([^\s][^\t]*)")
_LABELLED = re.compile(r"query\t([^\t]+)\t(.*)", re.IGNORECASE)
_NUMBERED = r" *([A-Za-z][A-Za-z_.-]*\d[\w.-]*|\d[\w.-]*)"
_LINES_CHECKED = 200
_NOT_IDS = frozenset({"id", "qid", "text", "query", "title", "topic", "number", "http", "https"})

_PATTERNS: dict[LineForm, re.Pattern[str]] = {
    "priority": re.compile(r" *([0-9]+):[0-9]{1,2}: *([^\s][^\t]*)"),
    "colon": _COLON,
    "labelled": _LABELLED,
    "comma": re.compile(rf"{_NUMBERED} *, *([^\s][^\t]*)"),
    "semicolon": re.compile(rf"{_NUMBERED} *; *([^\s][^\t]*)"),
    "pipe": re.compile(rf"{_NUMBERED} *\| *([^\s][^\t]*)"),
    "blank": re.compile(rf"{_NUMBERED} +([^\s][^\t]*)"),
}
NAMES: dict[LineForm, str] = {
    "priority": "lines id:priority:text",
    "colon": "lines id:text",
    "labelled": "lines query TAB id TAB text",
    "comma": "lines id,text",
    "semicolon": "lines id;text",
    "pipe": "lines id|text",
    "blank": "lines id text",
    "smart": "SMART",
}
_SMART = re.compile(r"^\.I[ \t]+(\S+)[ \t\r]*$(.*?)(?=^\.I[ \t]|\Z)", re.DOTALL | re.MULTILINE)
_SECTION = re.compile(r"^\.([A-Z])[ \t\r]*$(.*?)(?=^\.[A-Z][ \t\r]*$|\Z)", re.DOTALL | re.MULTILINE)
_SECTIONS = {"W": "text", "T": "title", "A": "author", "N": "note", "B": "source"}
"""The sections of SMART's format, which CACM, CISI, Cranfield and Medline have."""


def form_of_lines(text: str) -> LineForm | None:
    """Return the form that every line that is not blank has; ``None`` for TSV and other files."""
    lines = [line.rstrip("\r") for line in text.split("\n", _LINES_CHECKED)[:_LINES_CHECKED]]
    lines = [line for line in lines if line.strip()]
    if lines and re.fullmatch(r"\.I\s+\S+\s*", lines[0]):
        return "smart"
    for form, row in _PATTERNS.items():
        found = [match for line in lines if (match := row.fullmatch(line))]
        ids = [match[1].lower() for match in found]
        if len(ids) < len(lines) or len(set(ids)) < len(ids) or _NOT_IDS.intersection(ids):
            continue
        if form not in ("priority", "colon", "labelled") and not _are_numbered(found):
            continue
        if len(ids) > (form == "labelled"):  # one line can be an id and a text with a tab
            return form
    return None


def _are_numbered(found: list[re.Match[str]]) -> bool:
    """Return true for several lines whose ids differ only in numbers, and texts of several words.

    Other lines may be texts without ids, or rows of another kind of file.
    """
    shapes = {re.sub(r"\d+", "#", match[1]) for match in found}
    return len(found) > 1 and len(shapes) == 1 and any(" " in match[2].strip() for match in found)


def describe_lines(form: LineForm, n: int) -> str:
    """Describe how lines were read."""
    return f"read as {NAMES[form]}: {plural(n, 'topic')}"


def split_blank(line: str) -> tuple[str, str] | None:
    """Return id and text of a line of the form ``blank``; ``None`` for another line."""
    match = _PATTERNS["blank"].fullmatch(line)
    return (match[1], match[2].strip()) if match else None


def find_line_records(text: str, form: LineForm, report: Report) -> Records:
    """Find the records of lines of one form; report the other lines."""
    if form == "smart":
        return _find_smart_records(text, report)
    fullmatch = _PATTERNS[form].fullmatch
    found: list[Record] = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.rstrip("\r")
        if not line.strip():
            continue
        match = fullmatch(line)
        if match is None:
            what = f"expected {NAMES[form].removeprefix('lines ')}, as on the first line"
            report(TopicProblem("T101", number, what, remedy="write id TAB text"))
            continue
        if not found:
            report(_other_form(form, number))
        value = match[2].strip()
        if form not in ("priority", "colon") and value[:1] == value[-1:] == '"' and len(value) > 1:
            value = value[1:-1].replace('""', '"')
        fields = {"text": Scalar(number, match.start(2) + 1, value)}
        found.append(Record(number, fields, match[1].strip()))
    return Records(found, NAMES[form], place="the lines", noun="lines")


def _find_smart_records(text: str, report: Report) -> Records:
    """Find the records of SMART's format: ``.I 1``, then sections such as ``.W`` with a text."""
    found: list[Record] = []
    line, counted_to = 1, 0
    for block in _SMART.finditer(text):
        line += text.count("\n", counted_to, block.start())
        counted_to = block.start()
        if not found:
            report(_other_form("smart", line))
        fields: dict[str, Scalar] = {}
        for section in _SECTION.finditer(block[2]):
            at = line + text.count("\n", block.start(), block.start(2) + section.start())
            value = " ".join(section[2].split())
            fields.setdefault(_SECTIONS.get(section[1], section[1]), Scalar(at, 1, value))
        found.append(Record(line, fields, block[1]))
    return Records(found, NAMES["smart"], place="the lines", noun="records")


def _other_form(form: LineForm, line: int) -> TopicProblem:
    what = f"{NAMES[form]}, not id TAB text; trectools-plus reads them, other tools do not"
    return TopicProblem("T101", line, what, remedy="write id TAB text", is_warning=True)
