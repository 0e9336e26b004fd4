"""Read topics and test sets with any content; collect their problems."""

from __future__ import annotations

import re
from collections.abc import Iterable

from trectools_plus.formats.columns.decimals import DECIMAL
from trectools_plus.formats.nodes.model import TreeError
from trectools_plus.formats.nodes.parsing import parse_document
from trectools_plus.formats.topic_records.documents import (
    find_records,
    find_topics_header,
    has_judgments,
    parse_cases,
)
from trectools_plus.formats.topic_records.forms import Form, read_text
from trectools_plus.formats.topic_records.lines import is_skipped, numbered_lines
from trectools_plus.formats.topic_records.making import make_topics
from trectools_plus.formats.topic_records.model import (
    Topic,
    TopicOptions,
    TopicProblem,
    report_tree,
    syntax_problem,
)
from trectools_plus.validation.topics.cases import read_test_set
from trectools_plus.validation.views.topics import Problems, TopicsContent

# Each pattern separates fields only by blanks or only by tabs, because a query can be three words
# and a number.
_OTHER_KINDS = {
    kind: re.compile("|".join(pattern.replace(" ", blank) for blank in (" +", "\t+")))
    for kind, pattern in (
        ("a run", rf"\S+ (?:[Qq]?0) \S+ -?[0-9]+ {DECIMAL[1:-1]} \S+"),
        ("qrels", r"\S+ [0-9]+ \S+ -?[0-9]+"),
    )
}
_LINES_CHECKED = 100
"""Number of lines that are checked to recognise runs and qrels."""


def read_content(
    text: str, form: Form, options: TopicOptions, problems: Problems | None = None
) -> TopicsContent:
    """Read topics or a test set.

    Args:
        text: The file, without byte order mark.
        form: Its form.
        options: The fields with id and text.
        problems: Collects the problems; a new collection if not given.
    """
    problems = Problems() if problems is None else problems
    notes: list[str] = []
    topics: Iterable[Topic] = ()
    header = find_topics_header(text) if form == "csv" else None
    try:
        if header is not None and has_judgments(header.names):
            return read_test_set(parse_cases(text, header), problems)
        if form == "json" or form == "yaml":
            tree = parse_document(text, form)
            records = find_records(tree, form.upper(), options)
            if records is None:
                return read_test_set(tree, problems)
            report_tree(tree, problems.add)
            topics = make_topics(records, options, problems.add, notes.append)
            return TopicsContent.of_topics(topics, problems, notes)
    except TreeError as error:
        problems.add(syntax_problem(error))
        return TopicsContent.of_topics([], problems, kind="testset")
    other = _other_kind(text) if form == "tsv" else None
    if other is not None:
        problems.add(other)
    else:
        topics = read_text(text, form, options, problems.add, notes.append)
    # A header of TSV is a finding.
    return TopicsContent.of_topics(topics, problems, [] if form == "tsv" else notes)


def _other_kind(text: str) -> TopicProblem | None:
    """Return the problem of a run or qrels in place of TSV: each line is a row of such a file."""
    lines = [line.rstrip(" \t\r") for line in text.split("\n", _LINES_CHECKED)[:_LINES_CHECKED]]
    lines = [line for line in lines if line and not line.startswith("#")]
    for kind, row in _OTHER_KINDS.items():
        if lines and all(row.fullmatch(line) for line in lines):
            first = next(number for number, line in numbered_lines(text) if not is_skipped(line))
            what = f"the lines are not 'id TAB text'; this looks like {kind}"
            remedy = f"Use '{kind.split()[-1].removesuffix('s')}s validate' for it"
            return TopicProblem("T101", first, what, remedy=remedy)
    return None
