"""Find the records of topics in lines: ``id:text``, ``query TAB id TAB text``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from trectools_plus.formats.nodes.model import Scalar
from trectools_plus.formats.topic_records.model import Record, Records, Report, TopicProblem

_COLON = re.compile(r" *([^\s:#{}\[\]\"'<>,;|]+): *([^\s][^\t]*)")
_LABELLED = re.compile(r"query\t([^\t]+)\t(.*)", re.IGNORECASE)
_LINES_CHECKED = 200
_NOT_IDS = frozenset({"id", "qid", "text", "query", "title", "topic", "number", "http", "https"})

PATTERNS: dict[Literal["colon", "labelled"], re.Pattern[str]] = {
    "colon": _COLON,
    "labelled": _LABELLED,
}
NAMES: dict[str, str] = {"colon": "lines id:text", "labelled": "lines query TAB id TAB text"}


def form_of_lines(text: str) -> Literal["colon", "labelled"] | None:
    """Return ``colon`` or ``labelled`` if every line that is not blank has this form."""
    lines = [line.rstrip("\r") for line in text.split("\n", _LINES_CHECKED)[:_LINES_CHECKED]]
    lines = [line for line in lines if line.strip()]
    for form, row in PATTERNS.items():
        found = [row.fullmatch(line) for line in lines]
        ids = [match[1].lower() for match in found if match]
        if len(ids) < len(lines) or len(set(ids)) < len(ids) or _NOT_IDS.intersection(ids):
            continue
        if len(ids) > (form == "labelled"):  # one line can be an id and a text with a tab
            return form
    return None


def find_line_records(text: str, form: Literal["colon", "labelled"], report: Report) -> Records:
    """Find the records of lines of one form; report the other lines."""
    fullmatch: Callable[[str], re.Match[str] | None] = PATTERNS[form].fullmatch
    found = []
    warned = False
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.rstrip("\r")
        if not line.strip():
            continue
        match = fullmatch(line)
        if match is None:
            what = f"expected {NAMES[form].removeprefix('lines ')}, as on the first line"
            report(TopicProblem("T101", number, what, remedy="write id TAB text"))
            continue
        if not warned:
            what = f"{NAMES[form]}, not id TAB text; trectools-plus reads them, other tools do not"
            report(TopicProblem("T101", number, what, remedy="write id TAB text", is_warning=True))
            warned = True
        at = match.start(2) + 1
        fields = {"text": Scalar(number, at, match[2].strip())}
        found.append(Record(number, fields, match[1].strip()))
    return Records(found, NAMES[form], place="the lines", noun="lines")
