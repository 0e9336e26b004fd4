"""Detect the form of a file of topics or of a test set, and read its topics."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from trectools_plus.formats.interchange.table_files import SEPARATORS
from trectools_plus.formats.nodes.model import TreeError
from trectools_plus.formats.nodes.parsing import Syntax, parse_document
from trectools_plus.formats.topic_records.documents import (
    find_json_lines,
    find_records,
    find_table_records,
    find_topics_header,
    has_judgments,
)
from trectools_plus.formats.topic_records.lines import (
    NAMES,
    LineForm,
    find_line_records,
    form_of_lines,
    iter_tsv,
    other_form,
)
from trectools_plus.formats.topic_records.making import make_topics
from trectools_plus.formats.topic_records.markup import find_sgml_records, find_xml_records
from trectools_plus.formats.topic_records.model import (
    Note,
    Records,
    Report,
    Topic,
    TopicOptions,
    TopicProblem,
    report_tree,
    syntax_problem,
)
from trectools_plus.formats.topic_records.schema import ID_KEYS, TEXT_KEYS
from trectools_plus.text import listed, visible

Form = Literal["tsv", "jsonl", "sgml", "xml", "yaml", "json", "csv"] | LineForm

LINE_FORMS = ("tsv", "jsonl", "csv", *NAMES)
"""Forms in which each line is a topic."""

_SNIFFED = 4096
_TSV_COLUMNS = 2
_YAML_START = re.compile(
    r"(?:[^\S\n]*(?:#.*)?\n)*(?:---|(?:queries|test_cases|metadata)\s*:|- +\w+\s*:)"
)
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
    is_tsv = named == "tsv" or "\t" in start.split("\n", 1)[0]
    if not is_tsv and _YAML_START.match(text):
        return "yaml"
    return form_of_lines(text) or "tsv"


def _is_table(start: str) -> bool:
    """Return true for a table with a header, except two columns with a tab between them."""
    header = find_topics_header(start)
    if header is None or header.separator not in SEPARATORS:
        return False
    is_wide = len(header.names) > _TSV_COLUMNS
    return header.separator != "\t" or is_wide or has_judgments(header.names)


def _form_of_json(named: str, text: str) -> Form:
    first, _, rest = text.lstrip(" \t\r\n").partition("\n")
    if first.startswith("["):
        return "tsv" if named == "tsv" else "json"
    has_two_objects = first.rstrip().endswith("}") and rest.lstrip().startswith("{")
    if has_two_objects or (named != "json" and _TOPIC_KEY.match(first) and "}" in first):
        return "jsonl"
    return "json"


def read_text(
    text: str, form: Form, options: TopicOptions, report: Report, note: Note
) -> Iterable[Topic]:
    """Return the topics of a file in any form; also those of a test set.

    They may lack an id or a text.

    Args:
        text: The file, without byte order mark.
        form: Its form.
        options: The fields with id and text.
        report: Takes the problems.
        note: Takes a description of the format and the fields, if they are not the usual ones.
    """
    if form == "tsv":
        return iter_tsv(text, report, note)
    try:
        records = _find_records(text, form, options, report)
    except TreeError as error:
        report(syntax_problem(error))
        return []
    return [] if records is None else make_topics(records, options, report, note)


_READERS: Mapping[Form, Callable[[str, Report], Records | None]] = {
    "jsonl": find_json_lines,
    "sgml": find_sgml_records,
    "xml": find_xml_records,
}


def _find_records(text: str, form: Form, options: TopicOptions, report: Report) -> Records | None:
    if read := _READERS.get(form):
        return read(text, report)
    if form in NAMES:
        return find_line_records(text, form, report)
    header = find_topics_header(text) if form == "csv" else None
    if header is not None:
        records = find_table_records(text, header)
        what = f"{records.format_name}, not id TAB text; other tools do not read it"
        report(other_form(header.line, what))
        if not records.found:
            remedy = "Check that the file is complete"
            report(TopicProblem("T105", header.line, "no rows below the header", remedy=remedy))
        return records
    syntax: Syntax = "json" if form == "json" else "yaml"
    tree = parse_document(text, syntax)
    found = find_records(tree, syntax.upper(), options, test_sets=True)
    report_tree(tree, report)
    if found is None and tree.root is not None:
        keys = listed([visible(key) for key in tree.root.fields])
        shown = f"a mapping with the keys {keys}" if keys else tree.root.describe()
        remedy = "Give a list of objects with an id and a text, or {id: text}"
        what = f"expected records with an id and a text but got {shown}"
        report(TopicProblem("T105", tree.root.line, what, remedy=remedy))
    return found
