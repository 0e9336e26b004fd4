"""Read topics and test sets, with their problems collected, and run the rules over them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from trectools_plus.errors import FormatError
from trectools_plus.formats.columns.lexer import scan_columns
from trectools_plus.formats.files.content import FileContent, read_file
from trectools_plus.formats.ir_datasets import is_catalogue_name, open_catalogue
from trectools_plus.formats.topic_records.forms import LINE_FORMS, Form, form_of
from trectools_plus.formats.topic_records.model import DEFAULTS, TopicOptions
from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.engine import damaged_report, run_rules
from trectools_plus.validation.findings import FileReport, Finding, Fix
from trectools_plus.validation.rules.topics.topics import recorded
from trectools_plus.validation.topics.reading import read_content
from trectools_plus.validation.views.tables import Shape, has_only_bare_cr, wide_encoding
from trectools_plus.validation.views.topics import Problems, TopicsContent, TopicsView

_N_FIELDS = 2
"""Id and text."""
_NOT_BLANK = re.compile(r"\S")
_FIRST_DATA: dict[Form, re.Pattern[str]] = {
    "tsv": re.compile(r"^(?!#[^\t\n]*$)[ \t\r\v\f]*[^\s]", re.MULTILINE),
    "yaml": re.compile(r"^[ \t\r]*[^#\s]", re.MULTILINE),
}
"""The start of the data after comments, by form; ``_NOT_BLANK`` for other forms."""


def read_view(
    source: FileContent, form: Form | None = None, options: TopicOptions = DEFAULTS
) -> TopicsView:
    """Read topics or a test set from a file with any content.

    Args:
        source: The file.
        form: Its form, if known.
        options: The fields with id and text.
    """
    columns = scan_columns(source, _N_FIELDS)
    text = source.data.decode("utf-8", "replace").removeprefix("\ufeff")
    start = text
    if source.overlong is not None:
        start += source.overlong.head.decode("utf-8", "replace")
    form = form or form_of(source.path, start)
    content, shape = TopicsContent.of_topics([], Problems()), Shape()
    if wide_encoding(columns) is not None or has_only_bare_cr(columns):
        # A finding about the encoding or line ends explains all other problems.
        shape = Shape("not-text", first_line=1)
    elif source.overlong is not None and form not in LINE_FORMS:
        shape = Shape(first_line=source.overlong.line)
    else:
        # F106 reports NUL bytes, so they must not stop the parser.
        text = text.replace("\0", "\ufffd")
        content = read_content(text, form, options)
        shape = Shape(first_line=_first_line(text, form, content))
    return TopicsView(columns, form, content, shape)


def _first_line(text: str, form: Form, content: TopicsContent) -> int | None:
    """Return the line on which the data begins; ``None`` for an empty file."""
    if content.entries.is_empty() and not content.problems:
        return None
    match = _FIRST_DATA.get(form, _NOT_BLANK).search(text)
    return text.count("\n", 0, match.end()) + 1 if match else 1


_NOT_FOR_TEST_SETS = frozenset({"Q134"})
"""Rules that do not apply to test sets, which usually contain only relevant documents."""


def validate_topics(
    path: str | Path, *, every_line: bool = False, options: TopicOptions = DEFAULTS
) -> FileReport:
    """Check topics in any format of :func:`trectools_plus.load_topics`, or a test set.

    Args:
        path: The file; ``-`` is standard input.
        options: The fields with id and text.
        every_line: Put the line numbers of all places into findings, not only the first few.

    Returns:
        All findings of the file, of kind ``topics`` or ``testset``. A malformed file is a report
        with errors, not an exception.

    Raises:
        InputError: If the file cannot be read at all: missing, a folder, no permission.
    """
    if is_catalogue_name(path):
        topics_table = open_catalogue(str(path)).read_topics()
        return FileReport(str(path), "topics", len(topics_table), len(topics_table), ())
    try:
        source = read_file(path, partial=True)
    except FormatError as error:
        return damaged_report(error, "topics")
    topics = read_view(source, options=options)
    topics.every_line = every_line
    findings = check_topics(topics)
    n_rows, n_queries = topics.n_rows, topics.n_queries
    return FileReport(
        topics.path,
        topics.kind,
        n_rows,
        n_queries,
        tuple(findings),
        read_as=topics.read_as,
    )


def check_topics(topics: TopicsView) -> list[Finding]:
    """Run the rules for topics, and the rules for qrels on the judgments of a test set."""
    findings = run_rules(topics, ("file", "topics"), topics, rules=CATALOGUE)
    findings += _check_judgments(topics)
    return [replace(finding, path=topics.path, fix=Fix.NO) for finding in findings]


def _check_judgments(topics: TopicsView) -> list[Finding]:
    """Run the rules for qrels over a test set's judgments."""
    if topics.judgments is None:
        return []
    findings = []
    for rule in CATALOGUE:
        if rule.on != "qrels" or rule.code in _NOT_FOR_TEST_SETS:
            continue
        finding: Finding | None = None
        if rule.code in topics.problems.codes:
            # The table lacks grades that are not whole numbers; the reader has recorded them.
            cases = recorded(rule.code, rule.severity, "place")
            finding = replace(rule, cases=cases).check(topics)
        elif rule.tables and topics.judgments.n_rows:
            finding = rule.check(topics.judgments)
        if finding is not None:
            findings.append(finding)
    return findings
