"""Read the topics of a file in any form, and report its problems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trectools_plus.formats.nodes.model import Mapping, Node, Tree, TreeError
from trectools_plus.formats.nodes.model import describe as describe_node
from trectools_plus.formats.nodes.parsing import parse_document
from trectools_plus.formats.topic_records.forms import Form
from trectools_plus.formats.topic_records.json_lines import iter_json_lines
from trectools_plus.formats.topic_records.lines import NAMES, find_line_records, iter_tsv
from trectools_plus.formats.topic_records.making import make_topics
from trectools_plus.formats.topic_records.markup import find_sgml_records, find_xml_records
from trectools_plus.formats.topic_records.model import (
    Note,
    Problem,
    Records,
    Report,
    Topic,
    TopicOptions,
    syntax_problem,
)
from trectools_plus.formats.topic_records.trees import find_records, find_topics_header, parse_table
from trectools_plus.formats.topic_records.values import report_repeated_keys
from trectools_plus.text import listed, visible

STREAMED: tuple[Form, ...] = ("tsv", "jsonl")
"""Forms that are read line by line."""


def read_lines(
    lines: Iterable[tuple[int, str]],
    form: Form,
    options: TopicOptions,
    report: Report,
    note: Note,
    *,
    strict: bool = False,
) -> Iterator[Topic]:
    """Yield the topics of the lines of a file, also those without an id or a text.

    Args:
        lines: Number and text of each line; the first without byte order mark.
        form: The form of the file, one of ``STREAMED``.
        options: The fields with id and text, and the language.
        report: Takes the problems.
        note: Takes a description of the format and the fields, if they are not the usual ones.
        strict: True for loaders, which ignore warnings.
    """
    if form == "jsonl":
        return iter_json_lines(lines, options, report, note, strict=strict)
    return iter_tsv(lines, report, note)


def read_text(
    text: str, form: Form, options: TopicOptions, report: Report, note: Note
) -> list[Topic]:
    """Return the topics of a file in any other form; also those of a test set.

    Args:
        text: The file, without byte order mark.
        form: Its form.
        options: The fields with id and text, and the language.
        report: Takes the problems.
        note: Takes a description of the format and the fields, if they are not the usual ones.
    """
    records = _find(text, form, options, report)
    if records is None:
        return []
    return make_topics(records, options, report, note, is_markup=form in ("sgml", "xml"))


def _find(text: str, form: Form, options: TopicOptions, report: Report) -> Records | None:
    if form == "sgml":
        return find_sgml_records(text, options, report)
    if form == "xml":
        return find_xml_records(text, options, report)
    if form in NAMES:
        return find_line_records(text, form, report)
    assert form in ("json", "yaml", "csv")
    try:
        if form == "csv":
            tree, syntax = _parse_table(text, report)
        else:
            tree = parse_document(text, "json" if form == "json" else "yaml")
            syntax = form.upper()
        records = find_records(tree, syntax, options, report, test_sets=True)
    except TreeError as error:
        report(syntax_problem(error))
        return None
    report_repeated_keys(tree, report)
    if records is None and tree.root is not None:
        what = f"expected records with an id and a text but got {_shown(tree.root)}"
        line, remedy = tree.root.line, "Give a list of objects with an id and a text, or {id: text}"
        if form == "csv":
            line -= 1  # the header
            what, remedy = "no rows below the header", "Check that the file is complete"
        report(Problem("T105", line, what, tree.root.column, remedy=remedy))
    return records


def _parse_table(text: str, report: Report) -> tuple[Tree, str]:
    header = find_topics_header(text)
    assert header is not None
    name = f"{header.format} with a header"
    what = f"{name}, not id TAB text; trectools-plus reads it, other tools do not"
    remedy = "Write id TAB text"
    problem = Problem("T101", header.line, what, remedy=remedy, severity="warning", fix="no")
    report(problem)
    return parse_table(text, header), name


def _shown(root: Node) -> str:
    if isinstance(root, Mapping) and root.pairs:
        return f"a mapping with the keys {listed([visible(key) for key in root.pairs])}"
    return describe_node(root)
