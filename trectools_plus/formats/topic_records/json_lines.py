"""Read topics in JSON Lines; the first line determines the names of the fields.

The fast parser of the standard library reads regular lines. Other lines are parsed again, into a
tree with the positions of values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NoReturn

from trectools_plus.formats.jsonl import as_field_text
from trectools_plus.formats.nodes.model import Mapping, Node, TreeError
from trectools_plus.formats.nodes.model import describe as describe_node
from trectools_plus.formats.nodes.parsing import parse_json
from trectools_plus.formats.tables import TOPICS_SCHEMA
from trectools_plus.formats.topic_records.documents import records_of
from trectools_plus.formats.topic_records.lines import BLANKS
from trectools_plus.formats.topic_records.making import (
    Choice,
    choose_fields,
    describe,
    make_topics,
)
from trectools_plus.formats.topic_records.model import (
    Note,
    Record,
    Records,
    Report,
    Topic,
    TopicOptions,
    TopicProblem,
    read_id,
    read_text,
    report_tree,
    syntax_problem,
)
from trectools_plus.formats.topic_records.schema import LINE_ID_KEYS, TEXT_KEYS
from trectools_plus.text import listed, quoted

_MAX_DIGITS = 4300
"""The greatest number of digits of an integer that Python reads."""
_SURROGATE = re.compile(r"\\u[dD][89A-Fa-f]")
"""An escape that may not be a character."""


def iter_json_lines(
    lines: Iterable[tuple[int, str]],
    options: TopicOptions,
    report: Report,
    note: Note,
    *,
    strict: bool = False,
) -> Iterator[Topic]:
    """Yield the topics of JSON Lines, also those without an id or a text.

    Args:
        lines: Number and text of each line; blank lines are skipped.
        options: The fields with id and text.
        report: Takes the problems.
        note: Takes a description of the format and the fields, if they are not the usual ones.
        strict: True for loaders, which read other fields too, ignore warnings, and refuse integers
            that Python cannot read.
    """
    lines = (pair for pair in lines if pair[1].strip(BLANKS + "\r"))
    first = next(lines, None)
    if first is None:
        return
    lines = chain([first], lines)
    choice = _choose(first[1], options)
    if choice is not None and not choice.text_fields:
        yield from _read_records(lines, options, report, note)
        return
    reader = _LineReader(report, choice, strict)
    count = 0
    for number, line in lines:
        topic = reader.read(number, line)
        if topic is not None:
            count += 1
            yield topic
    if choice is not None and not choice.is_usual:
        note(describe("JSON Lines", choice, count))


def _choose(line: str, options: TopicOptions) -> Choice | None:
    """Return the fields of the first line: no text if its records are nested or joined.

    ``None`` if it has no known field for id or text.
    """
    try:
        root = parse_json(line).root
    except TreeError:
        return None
    if not isinstance(root, Mapping):
        return None
    records = records_of(root)
    choice = choose_fields(records, options)
    has_id = choice.id_field is not None or records[0].query_id is not None
    if not choice.text_fields or not has_id:
        return None
    names = [choice.id_field, *choice.text_fields]
    is_plain = len(records) == 1 and len(names) == 2 and records[0].query_id is None
    if is_plain and all(name in root.pairs for name in names):
        return choice
    return Choice(None, (), is_usual=False)


class _LineReader:
    """Reads the topic of a line whose fields are plain values.

    Args:
        report: Takes the problems.
        choice: The fields with id and text; if not given, the first known names that occur.
        strict: See :func:`iter_json_lines`.
    """

    def __init__(self, report: Report, choice: Choice | None, strict: bool) -> None:
        self._report = report
        self._strict = strict
        self._id_key = self._text_key = ""
        if choice is not None:
            self._id_key, self._text_key = choice.id_field or "", choice.text_fields[0]

    def read(self, number: int, line: str) -> Topic | None:
        """Read a line; ``None`` if it is not a JSON object."""
        record = _decode(line)
        topic = None
        if record is not None and not _SURROGATE.search(line):
            topic = self._read_regular(number, record)
        topic = topic or self._read_tree(number, line)
        if topic is None or not self._strict:
            return topic
        if record is None:
            what = "JSON that is nested too deeply or has too large a number"
            self._report(TopicProblem("T104", number, what))
            return None
        used = (self._id_key, self._text_key, *TOPICS_SCHEMA)
        fields = {key: as_field_text(value) for key, value in record.items() if key not in used}
        topic.other_fields = {key: text for key, text in fields.items() if text is not None}
        return topic

    def _read_regular(self, number: int, record: dict[str, Any]) -> Topic | None:
        """Read a record with id and text; ``None`` if it may have a problem."""
        query_id, text = record.get(self._id_key), record.get(self._text_key)
        if type(text) is not str or not text.strip() or not query_id:
            return None
        if type(query_id) is str or (self._strict and type(query_id) is _Integer):
            return Topic(number, str(query_id), text, text_line=number)
        return None

    def _read_tree(self, number: int, line: str) -> Topic | None:
        """Read a line with all its problems; ``None`` if it is not a JSON object."""
        root = _parse(number, line, self._report)
        if root is None:
            return None
        fields = root.fields
        self._id_key = self._id_key or next((key for key in LINE_ID_KEYS if key in fields), "")
        self._text_key = self._text_key or next((key for key in TEXT_KEYS if key in fields), "")
        topic = Topic(number)
        if self._id_key in fields:
            topic.query_id = read_id(fields[self._id_key], "id", None, self._report)
        else:
            self._report_missing(root, f"id ({', '.join(LINE_ID_KEYS)})", self._id_key, "id-field")
        if self._text_key in fields:
            read_text(fields[self._text_key], topic, self._report)
        else:
            names = f"text ({', '.join(TEXT_KEYS)})"
            self._report_missing(root, names, self._text_key, "text-fields")
        return topic

    def _report_missing(self, root: Mapping, names: str, key: str, option: str) -> None:
        what = f"field {quoted(key)}" if key else f"field for the {names}"
        remedy = f"Name the field with the {names.partition(' ')[0]}: --{option} NAME"
        if key:
            remedy = "Give every line the same fields as the first"
        seen = f" (fields: {listed(list(root.pairs))})" if root.pairs else ""
        self._report(TopicProblem("T105", root.line, f"{what} is missing{seen}", remedy=remedy))


def _parse(number: int, line: str, report: Report) -> Mapping | None:
    """Return the object of a line; report its problems."""
    try:
        tree = parse_json(line, number)
    except TreeError as error:
        report(syntax_problem(error, "Write one JSON object per line"))
        return None
    report_tree(tree, report)
    root: Node | None = tree.root
    if isinstance(root, Mapping):
        return root
    what = f"expected a JSON object but got {describe_node(root) if root else ''}"
    remedy = "Correct the line; nothing after it could be checked"
    report(TopicProblem("T104", number, what, remedy=remedy))
    return None


class _IrregularLineError(ValueError):
    """The fast parser cannot read a line completely."""


class _Integer(str):
    """An integer as it is written."""

    __slots__ = ()


def _decode(line: str) -> dict[str, Any] | None:
    """Decode an object; ``None`` if it is none, or repeats keys, or has NaN or an infinity."""
    try:
        record = _DECODER.decode(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise _IrregularLineError
    return record


def _as_written(text: str) -> _Integer:
    if len(text.lstrip("-")) > _MAX_DIGITS:
        raise _IrregularLineError
    return _Integer("0" if text == "-0" else text)


def _reject_constant(_: str) -> NoReturn:
    raise _IrregularLineError


# Integers are not converted, because long ones are slow or exceed a limit of Python.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_constant=_reject_constant, parse_int=_as_written
)


def _read_records(
    lines: Iterable[tuple[int, str]], options: TopicOptions, report: Report, note: Note
) -> list[Topic]:
    """Read lines whose records contain turns, or parts of a text."""
    records: list[Record] = []
    for number, line in lines:
        root = _parse(number, line, report)
        records += [] if root is None else records_of(root)
    place = "topic and turn" if records and records[0].query_id is not None else ""
    return make_topics(Records(records, "JSON Lines", place=place), options, report, note)
