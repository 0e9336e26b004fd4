"""Read topics in lines: TSV, ``id:text``, SMART's ``.I 1``, and others.

The topics of the Million Query track have a priority: ``20001:1:text``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
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

LineForm = Literal["priority", "colon", "labelled", "smart"]

_LINES_CHECKED = 200
BLANKS = " \t\v\f"
"""The characters of lines that count as blank."""
_NOT_IDS = frozenset({"id", "qid", "text", "query", "title", "topic", "number", "http", "https"})

_PATTERNS: dict[LineForm, re.Pattern[str]] = {
    "priority": re.compile(r" *([0-9]+):[0-9]{1,2}: *([^\s][^\t]*)"),
    "colon": re.compile(r" *([^\s:#{}\[\]\"'<>,;|]+): *([^\s][^\t]*)"),
    "labelled": re.compile(r"query\t([^\t]+)\t(.*)", re.IGNORECASE),
}
NAMES: dict[LineForm, str] = {
    "priority": "lines id:priority:text",
    "colon": "lines id:text",
    "labelled": "lines query TAB id TAB text",
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
        ids = [match[1].lower() for line in lines if (match := row.fullmatch(line))]
        is_regular = len(ids) == len(lines) and len(set(ids)) == len(ids)
        # One line can be an id and a text with a tab.
        if is_regular and not _NOT_IDS.intersection(ids) and len(ids) > (form == "labelled"):
            return form
    return None


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
            what, remedy = f"no tab between id and text in {quoted(line)}", "Write id, tab, text"
            report(TopicProblem("T101", number, what, remedy=f"{remedy} on each line"))
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


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line."""
    return ((number, line.removesuffix("\r")) for number, line in enumerate(text.split("\n"), 1))


def is_skipped(line: str) -> bool:
    """Return true for a blank line of TSV, and for a comment.

    A line with ``#`` and a tab is a topic, whose id cannot be written to a run.
    """
    return not line.strip(BLANKS) or (line.startswith("#") and "\t" not in line)


def find_line_records(text: str, form: LineForm, report: Report) -> Records:
    """Find the records of lines of one form; report the other lines."""
    records = _smart_records(text) if form == "smart" else _pattern_records(text, form, report)
    if records:
        what = f"{NAMES[form]}, not id TAB text; trectools-plus reads them, other tools do not"
        report(other_form(records[0].line, what))
    return Records(records, NAMES[form])


def other_form(line: int, what: str) -> TopicProblem:
    """Return the warning that a file is not TSV (T101)."""
    return TopicProblem("T101", line, what, remedy="Write id TAB text", severity="warning")


def _pattern_records(text: str, form: LineForm, report: Report) -> list[Record]:
    records = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.rstrip("\r")
        match = _PATTERNS[form].fullmatch(line)
        if match is not None:
            value = Scalar.of_text(number, match[2].strip())
            records.append(Record(number, {"text": value}, match[1].strip()))
        elif line.strip():
            what = f"expected {NAMES[form].removeprefix('lines ')}, as on the first line"
            report(TopicProblem("T101", number, what, remedy="Write id TAB text"))
    return records


def _smart_records(text: str) -> list[Record]:
    """Return the records of ``.I 1``, then sections such as ``.W`` with a text."""
    records = []
    for block in _SMART.finditer(text):
        fields: dict[str, Scalar] = {}
        for section in _SECTION.finditer(block[2]):
            at = text.count("\n", 0, block.start(2) + section.start()) + 1
            value = Scalar.of_text(at, " ".join(section[2].split()))
            fields.setdefault(_SECTIONS.get(section[1], section[1]), value)
        records.append(Record(text.count("\n", 0, block.start()) + 1, fields, block[1]))
    return records
