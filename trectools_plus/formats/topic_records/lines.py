"""Read topics in lines: TSV, ``id:text``, ``id|text``, ``id text``, SMART's ``.I 1``.

The topics of the Million Query track have a priority: ``20001:1:text``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal

from trectools_plus.formats.nodes.model import Scalar
from trectools_plus.formats.topic_records.model import (
    Note,
    Record,
    Records,
    Report,
    Topic,
    TopicProblem,
)
from trectools_plus.formats.topic_records.schema import is_header
from trectools_plus.text import plural, quoted, visible

LineForm = Literal["priority", "colon", "labelled", "comma", "semicolon", "pipe", "blank", "smart"]

_COLON = re.compile(r" *([^\s:#{}\[\]\"'<>,;|]+): *([^\s][^\t]*)")
_LABELLED = re.compile(r"query\t([^\t]+)\t(.*)", re.IGNORECASE)
_NUMBERED = r" *([A-Za-z][A-Za-z_.-]*\d[\w.-]*|\d[\w.-]*)"
_ID_AND_TEXT = re.compile(r"""[ ]*([^\s,;:"'{}\[\]<>|]+)[ ]+([^ ].*)""")
_LINES_CHECKED = 200
BLANKS = " \t\v\f"
"""The characters of lines that count as blank."""
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


def iter_tsv(lines: Iterable[tuple[int, str]], report: Report, note: Note) -> Iterator[Topic]:
    """Yield the topics of lines ``id TAB text``, also those without an id or a text.

    Blank lines, comments and a header are skipped.

    Args:
        lines: Number and text of each line.
        report: Takes the problems.
        note: Takes a description of how the lines were read, if there is a header.
    """
    is_first, has_header, count = True, False, 0
    for number, line in lines:
        if is_skipped(line):
            continue
        query_id, tab, text = line.partition("\t")
        if is_first and tab and is_header(query_id, text):
            is_first, has_header = False, True
            shown = visible(f"{query_id} {text}".replace("\t", " "))
            report(TopicProblem("T103", number, f"header line '{shown}'", 1, blocks_scoring=False))
            continue
        is_first = False
        if not tab:
            report(_without_tab(number, line))
            continue
        if "\t" in text:
            what = "tab inside the text, read as a blank"
            column = len(query_id) + 2 + text.index("\t")
            report(TopicProblem("T102", number, what, column, query_id, severity="warning"))
            text = text.replace("\t", " ")
        topic = Topic(number, query_id, text.strip(" "), text_line=number)
        if not query_id.strip(" "):
            report(TopicProblem("T105", number, f"no id before {quoted(text.strip(' '))}", 1))
            topic.query_id = None
        count += 1
        yield topic
    if has_header and count:
        note(f"read as TSV with a header: {plural(count, 'topic')}")


def is_skipped(line: str) -> bool:
    """Return true for a blank line of TSV, and for a comment.

    A line with ``#`` and a tab is a topic, whose id cannot be written to a run.
    """
    return not line.strip(BLANKS) or (line.startswith("#") and "\t" not in line)


def _without_tab(number: int, line: str) -> TopicProblem:
    what = f"no tab between id and text in {quoted(line)}"
    remedy = "Write id, tab, text on each line"
    return TopicProblem("T101", number, what, remedy=remedy, fix=None if with_tab(line) else "no")


def with_tab(line: str) -> str | None:
    """Replace the first blanks of a line by a tab; ``None`` if the first word cannot be an id.

    Commas, semicolons and quotes in the first word indicate another separator.
    """
    match = _ID_AND_TEXT.fullmatch(line)
    return f"{match[1]}\t{match[2]}" if match else None


def find_line_records(text: str, form: LineForm, report: Report) -> Records:
    """Find the records of lines of one form; report the other lines."""
    if form == "smart":
        return _find_smart_records(text, report)
    fullmatch = _PATTERNS[form].fullmatch
    found: list[Record] = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.rstrip("\r")
        if not line.strip() or (form == "blank" and is_skipped(line)):
            continue
        match = fullmatch(line)
        if match is None or not found or form == "blank":
            report(_problem_of(line, number, form, is_read=match is not None))
        if match is None:
            continue
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


def _problem_of(line: str, number: int, form: LineForm, *, is_read: bool) -> TopicProblem:
    """Return the problem of a line in a file of lines of one form, which are not TSV."""
    if form == "blank" and "\t" not in line:
        problem = _without_tab(number, line)
        if not is_read:
            return problem
        remedy = "trectools-plus reads it; for other tools, write id, tab, text on each line"
        return replace(problem, remedy=remedy, blocks_scoring=False)
    if is_read:
        return _other_form(form, number)
    what = f"expected {NAMES[form].removeprefix('lines ')}, as on the first line"
    return TopicProblem("T101", number, what, remedy="Write id TAB text", fix="no")


def _other_form(form: LineForm, line: int) -> TopicProblem:
    what = f"{NAMES[form]}, not id TAB text; trectools-plus reads them, other tools do not"
    remedy = "Write id TAB text"
    return TopicProblem("T101", line, what, remedy=remedy, severity="warning", fix="no")
