"""Read topics in JSON Lines; the first complete record determines the names of the fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from trectools_plus.formats.nodes.model import Mapping, TreeError
from trectools_plus.formats.nodes.model import describe as describe_node
from trectools_plus.formats.nodes.parsing import parse_json
from trectools_plus.formats.topic_records.documents import record_of
from trectools_plus.formats.topic_records.lines import BLANKS
from trectools_plus.formats.topic_records.making import (
    SAMPLED,
    TopicMaker,
    choose_fields,
    describe,
)
from trectools_plus.formats.topic_records.model import (
    Note,
    Record,
    Report,
    Topic,
    TopicOptions,
    TopicProblem,
    report_tree,
    syntax_problem,
)


def iter_json_lines(
    lines: Iterable[tuple[int, str]], options: TopicOptions, report: Report, note: Note
) -> Iterator[Topic]:
    """Yield the topics of JSON Lines, also those without an id or a text.

    Args:
        lines: Number and text of each line; blank lines are skipped.
        options: The fields with id and text.
        report: Takes the problems.
        note: Takes a description of the format and the fields, if they are not the usual ones.
    """
    records = _records(lines, report)
    head: list[Record] = []
    for record in islice(records, SAMPLED):
        head.append(record)
        choice = choose_fields([record], options)
        if choice.text_fields and (choice.id_field or record.query_id is not None):
            break
    if not head:
        return
    maker = TopicMaker(choice, report, is_typed=True)
    count = 0
    for record in chain(head, records):
        topic = maker.make(record)
        if topic is not None:
            count += 1
            yield topic
    if count and not choice.is_usual:
        note(describe("JSON Lines", choice, count))


def _records(lines: Iterable[tuple[int, str]], report: Report) -> Iterator[Record]:
    for number, line in lines:
        if not line.strip(BLANKS + "\r"):
            continue
        try:
            tree = parse_json(line, number)
            report_tree(tree, report)
            if isinstance(tree.root, Mapping):
                yield record_of(tree.root)
            elif tree.root is not None:
                what = f"expected a JSON object but got {describe_node(tree.root)}"
                remedy = "Correct the line; nothing after it could be checked"
                report(TopicProblem("T104", number, what, remedy=remedy))
        except TreeError as error:
            report(syntax_problem(error, error.remedy or "Write one JSON object per line"))
