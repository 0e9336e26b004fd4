"""Detect the format of a file of topics or of a test set."""

from __future__ import annotations

import re
from typing import Literal

from trectools_plus.formats.interchange.table_files import SEPARATORS
from trectools_plus.formats.topic_records.lines import NAMES, LineForm, form_of_lines
from trectools_plus.formats.topic_records.trees import find_topics_header, has_judgments
from trectools_plus.formats.topic_schema import ID_KEYS, TEXT_KEYS

Form = Literal["tsv", "jsonl", "sgml", "xml", "yaml", "json", "csv"] | LineForm

LINE_FORMS = ("tsv", "jsonl", "csv", *NAMES)
"""Forms in which each line is a topic."""

_SNIFFED = 4096
_TSV_COLUMNS = 2
_FIRST_LINE = re.compile(r"^(?![^\S\n]*(?:#|$))", re.MULTILINE)  # neither blank nor a comment
_YAML_START = re.compile(r"---|(?:queries|test_cases|metadata)\s*:|- +\w+\s*:")
_SUFFIX = re.compile(r"\.(ya?ml|jsonl|ndjson|json|tsv|txt)(?:\.\w+)?$", re.IGNORECASE)
_TOPIC_KEY = re.compile(rf'\{{\s*"(?:{"|".join((*ID_KEYS, *TEXT_KEYS))})"\s*:')


def form_of(path: str, text: str) -> Form:
    """Return the format of a file, from the suffix of its name or else its first characters.

    Args:
        path: The name of the file.
        text: Its text, without byte order mark.
    """
    suffix = _SUFFIX.search(path)
    named = suffix[1].lower() if suffix else ""
    start = text[:_SNIFFED].lstrip(" \t\r\n")
    if named in ("yaml", "yml"):
        return "yaml"
    if named in ("jsonl", "ndjson"):
        return "jsonl"
    if start.startswith(("[", "{")):
        return _form_of_json(named, text)
    if named == "json":
        return "json"
    if start.startswith("<"):
        return "sgml" if re.search(r"<top[\s>]", text, re.IGNORECASE) else "xml"
    if _is_table(start):
        return "csv"
    if named != "tsv" and "\t" not in start.split("\n", 1)[0] and _starts_as_yaml(text):
        return "yaml"
    return form_of_lines(text) or "tsv"


def _is_table(start: str) -> bool:
    """Return true for a table with a header, except two columns with a tab between them."""
    header = find_topics_header(start)
    if header is None or header.separator not in SEPARATORS:
        return False
    if header.separator != "\t" or has_judgments(header.names):
        return True
    rows = start.split("\n", header.line + 1)[header.line : header.line + 1]
    return len(header.names) > _TSV_COLUMNS and all(
        row.count("\t") + 1 == len(header.names) for row in rows
    )


def _starts_as_yaml(text: str) -> bool:
    first = _FIRST_LINE.search(text)
    return first is not None and _YAML_START.match(text, first.start()) is not None


def _form_of_json(named: str, text: str) -> Form:
    first, _, rest = text.lstrip(" \t\r\n").partition("\n")
    if first.startswith("["):
        return "tsv" if named == "tsv" else "json"
    has_two_objects = first.rstrip().endswith("}") and rest.lstrip().startswith("{")
    if has_two_objects or (named != "json" and _TOPIC_KEY.match(first) and "}" in first):
        return "jsonl"
    return "json"
