"""Read topics in lines: TSV, ``id:text``, SMART's ``.I 1``, and others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from trectools_plus.formats.interchange.names import normalize
from trectools_plus.formats.nodes.model import text_node
from trectools_plus.formats.topic_records.model import (
    Note,
    Record,
    Records,
    Report,
    Topic,
    TopicProblem,
)
from trectools_plus.formats.topic_records.schema import TSV_HEADER
from trectools_plus.text import plural, quoted, visible

LineForm = Literal["priority", "colon", "labelled", "smart"]

_LINES_CHECKED = 200
_NOT_IDS = frozenset({"id", "qid", "text", "query", "title", "topic", "number", "http", "https"})
_PATTERNS: dict[LineForm, re.Pattern[str]] = {
    # The topics of the Million Query track have a priority.
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
_SMART_TEXT = re.compile(r"^\.W[ \t\r]*$(.*?)(?=^\.[A-Z][ \t\r]*$|\Z)", re.DOTALL | re.MULTILINE)


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


def iter_tsv(text: str, report: Report, note: Note) -> Iterator[Topic]:
    """Yield the topics of lines ``id TAB text``, also those without an id or a text.

    Blank lines, comments and a header are skipped.

    Args:
        text: The file.
        report: Takes the problems.
        note: Takes a description of how the lines were read, if there is a header.
    """
    lines = [line for line in numbered_lines(text) if not is_skipped(line[1])]
    names = list(map(normalize, lines[0][1].partition("\t"))) if lines else ["", "", ""]
    has_header = names[0] in TSV_HEADER[0] and names[2] in TSV_HEADER[1]
    if has_header:
        number, line = lines.pop(0)
        shown = visible(line.replace("\t", " "))
        report(TopicProblem("T103", number, f"header line '{shown}'", 1, blocks_scoring=False))
    for number, line in lines:
        query_id, tab, words = line.partition("\t")
        if not tab:
            what, remedy = f"no tab between id and text in {quoted(line)}", "Write id, tab, text"
            report(TopicProblem("T101", number, what, remedy=f"{remedy} on each line"))
            continue
        if "\t" in words:
            what = "tab inside the text, read as a blank"
            column = len(query_id) + 2 + words.index("\t")
            report(TopicProblem("T102", number, what, column, query_id, severity="warning"))
        topic = Topic(number, query_id, words.replace("\t", " ").strip(" "), text_line=number)
        if not query_id.strip(" "):
            report(TopicProblem("T105", number, f"no id before {quoted(words.strip(' '))}", 1))
            topic.query_id = None
        yield topic
    if has_header and lines:
        note(f"read as TSV with a header: {plural(len(lines), 'topic')}")


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line."""
    return ((number, line.removesuffix("\r")) for number, line in enumerate(text.split("\n"), 1))


def is_skipped(line: str) -> bool:
    """Return true for a blank line of TSV, and for a comment.

    A line with ``#`` and a tab is a topic, whose id cannot be written to a run.
    """
    return not line.strip(" \t\v\f") or (line.startswith("#") and "\t" not in line)


def find_line_records(text: str, form: LineForm, report: Report) -> Records:
    """Find the records of lines of one form; report the other lines."""
    records = _smart_records(text) if form == "smart" else []
    for number, line in numbered_lines(text) if form != "smart" else ():
        if (match := _PATTERNS[form].fullmatch(line)) is not None:
            records.append(Record(number, {"text": text_node(number, match[2].strip())}, match[1]))
        elif line.strip():
            what = f"expected {NAMES[form].removeprefix('lines ')}, as on the first line"
            report(TopicProblem("T101", number, what, remedy="Write id TAB text"))
    if records:
        what = f"{NAMES[form]}, not id TAB text; trectools-plus reads them, other tools do not"
        report(other_form(records[0].line, what))
    return Records(records, NAMES[form])


def _smart_records(text: str) -> list[Record]:
    """Return the records of ``.I 1``, each with the section ``.W`` as its text."""
    records = []
    for block in _SMART.finditer(text):
        words = _SMART_TEXT.search(block[2])
        line = text.count("\n", 0, block.start()) + 1
        fields = {"text": text_node(line, " ".join(words[1].split()))} if words else {}
        records.append(Record(line, fields, block[1]))
    return records


def other_form(line: int, what: str) -> TopicProblem:
    """Return the warning that a file is not TSV (T101)."""
    return TopicProblem("T101", line, what, remedy="Write id TAB text", severity="warning")
