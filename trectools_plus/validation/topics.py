"""Read topics and test sets, with their problems collected, and run the rules over them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from trectools_plus.errors import FormatError
from trectools_plus.formats.collection import CatalogueDataset, is_catalogue_name
from trectools_plus.formats.columns.columns import scan_columns
from trectools_plus.formats.files.content import FileContent, read_file
from trectools_plus.formats.topic_formats import TopicFormat, format_of
from trectools_plus.formats.topics import DEFAULTS, TopicOptions
from trectools_plus.text import plural
from trectools_plus.validation.engine import damaged_report, report_on, run_rules
from trectools_plus.validation.findings import FileReport, Finding, Fix
from trectools_plus.validation.registry import in_order
from trectools_plus.validation.rules.topics import CATALOGUE
from trectools_plus.validation.views.places import LINES_KEPT
from trectools_plus.validation.views.tables import has_only_bare_cr, has_wide_encoding
from trectools_plus.validation.views.topics import TopicsView, judgments_of


def read_view(
    source: FileContent, form: TopicFormat | None = None, options: TopicOptions = DEFAULTS
) -> TopicsView:
    """Read topics or a test set from a file with any content.

    Args:
        source: The file.
        form: Its format, if known.
        options: The fields with id and text.
    """
    columns = scan_columns(source, 2)  # id and text
    text = source.data.decode("utf-8", "replace").removeprefix("\ufeff")
    head = b"" if source.overlong is None else source.overlong.head
    form = form or format_of(source.path, text + head.decode("utf-8", "replace"))
    view = TopicsView(columns, form)
    if has_wide_encoding(columns) or has_only_bare_cr(columns):
        # A finding about the encoding or line ends explains all other problems.
        view.file = replace(columns, verdict="not-text", first_line=1)
    elif source.overlong is not None and not form.has_lines:
        view.file = replace(columns, first_line=source.overlong.line)
    else:
        # F106 reports NUL bytes, so they must not stop the parser.
        view.read(text.replace("\0", "\ufffd"), form, options)
    return view


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
        n_topics = len(CatalogueDataset(str(path)).read_topics())
        return FileReport(str(path), "topics", n_topics, n_topics, ())
    try:
        source = read_file(path, partial=True)
    except FormatError as error:
        return damaged_report(error, "topics")
    topics = read_view(source, options=options)
    topics.every_line = every_line
    return report_on(topics, check_topics(topics))


def check_topics(topics: TopicsView) -> list[Finding]:
    """Run the rules for topics, and the rules for qrels on the judgments of a test set."""
    recorded = _recorded(topics)
    findings = run_rules(topics, ("file", "topics"), topics, rules=CATALOGUE) + recorded
    if len(topics.judged):
        judgments = judgments_of(topics)
        # Test sets usually contain only relevant documents.
        known = {"Q134", *(finding.code for finding in recorded)}
        rules = [rule for rule in CATALOGUE if rule.code not in known]
        findings += run_rules(judgments, ("qrels",), judgments, rules=rules)
    findings.sort(key=lambda finding: (finding.code[0] == "Q", in_order(finding)))
    return [replace(finding, path=topics.path, fix=Fix.NO) for finding in findings]


def _recorded(topics: TopicsView) -> list[Finding]:
    """Return the findings on the problems that the reader found, the worst of each rule."""
    groups = sorted(topics.problems.groups.items(), key=lambda group: group[0][1] is None)
    return [
        CATALOGUE[code].finding(
            topics.path,
            first.message + f" (on {plural(len(places), 'place')})" * (len(places) > 1),
            first.severity,
            first.remedy,
            blocks=first.blocks_scoring,
            lines=tuple(sorted(places)[: None if topics.every_line else LINES_KEPT]),
            query_id=first.query_id,
            doc_id=first.doc_id,
            count=len(places),
        )
        for code, (first, places) in {code: group for (code, _), group in groups}.items()
    ]
