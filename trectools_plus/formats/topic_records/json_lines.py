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
from trectools_plus.formats.nodes.model import Mapping, Node, Tree, TreeError
from trectools_plus.formats.nodes.model import describe as describe_node
from trectools_plus.formats.nodes.parsing import parse_json
from trectools_plus.formats.tables import TOPICS_SCHEMA
from trectools_plus.formats.topic_records.lines import BLANKS
from trectools_plus.formats.topic_records.making import (
    SAMPLED,
    Choice,
    choose_fields,
    describe,
    format_of,
    make_topics,
    names_of,
)
from trectools_plus.formats.topic_records.model import (
    Note,
    Records,
    Report,
    Topic,
    TopicOptions,
    TopicProblem,
    read_id,
    read_text,
    report_constants,
    report_repeated_keys,
    syntax_problem,
)
from trectools_plus.formats.topic_records.schema import LINE_ID_KEYS, TEXT_KEYS
from trectools_plus.formats.topic_records.trees import records_of_line
from trectools_plus.text import listed, quoted

_KNOWN = {"id": (LINE_ID_KEYS, "--id-field"), "text": (TEXT_KEYS, "--text-fields")}
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
        options: The fields with id and text, and the language.
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
        tree = parse_json(line)
    except TreeError:
        return None
    if not isinstance(tree.root, Mapping):
        return None
    records, language, languages = records_of_line(tree.root, tree.n_values, options)
    choice = choose_fields(records, options)
    if languages and language is None:
        return Choice(None, (), is_usual=False)
    has_id = choice.id_field is not None or any(one.query_id is not None for one in records)
    if not choice.text_fields or not has_id:
        return None
    is_plain = len(records) == 1 and records[0].query_id is None and language is None
    named = choice.id_field, *choice.text_fields
    if is_plain and len(named) == 2 and all(name in tree.root.pairs for name in named):
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
        if topic is None:
            topic = self._read_tree(number, line)
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
        tree = _parse(number, line, self._report)
        if tree is None:
            return None
        report_repeated_keys(tree, self._report)
        report_constants(tree, self._report)
        if not isinstance(tree.root, Mapping):
            seen = describe_node(tree.root) if tree.root else ""
            what = f"expected a JSON object but got {seen}"
            remedy = "Correct the line; nothing after it could be checked"
            self._report(TopicProblem("T104", number, what, remedy=remedy))
            return None
        fields = {key.text: value for key, value in tree.root.pairs.values()}
        self._id_key = self._id_key or next((key for key in LINE_ID_KEYS if key in fields), "")
        self._text_key = self._text_key or next((key for key in TEXT_KEYS if key in fields), "")
        topic = Topic(number)
        id_node, text_node = fields.get(self._id_key), fields.get(self._text_key)
        if self._id_key and id_node is not None:
            topic.query_id = read_id(id_node, "id", None, self._report)
        else:
            self._report_missing(number, "id", self._id_key, fields)
        if self._text_key and text_node is not None:
            read_text(text_node, topic, self._report)
        else:
            self._report_missing(number, "text", self._text_key, fields)
        return topic

    def _report_missing(self, number: int, what: str, key: str, fields: dict[str, Node]) -> None:
        keys, option = _KNOWN[what]
        wanted = f"for the {what} ({', '.join(keys)})"
        # Findings have the remedy of the rule.
        remedy = f"Name the field with the {what}: {option} NAME" if self._strict else None
        if key:
            wanted, remedy = quoted(key), "Give every line the same fields as the first"
        seen = f" (fields: {listed(list(fields))})" if fields else ""
        self._report(
            TopicProblem("T105", number, f"field {wanted} is missing{seen}", remedy=remedy)
        )


def _parse(number: int, line: str, report: Report) -> Tree | None:
    try:
        return parse_json(line, number)
    except TreeError as error:
        report(syntax_problem(error, "Write one JSON object per line"))
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
    lines: Iterable[tuple[int, str]],
    options: TopicOptions,
    report: Report,
    note: Note,
) -> list[Topic]:
    """Read lines whose records contain several languages, turns, or parts of a text."""
    records = Records([], "", noun="lines of JSON")
    languages: dict[str, None] = {}
    for number, line in lines:
        tree = _parse(number, line, report)
        if tree is None:
            continue
        if not isinstance(tree.root, Mapping):
            report(TopicProblem("T104", number, "expected a JSON object"))
            continue
        found, language, known = records_of_line(tree.root, tree.n_values, options)
        records.found += found
        records.language = records.language or language
        languages.update(dict.fromkeys(known))
    records.languages = tuple(languages)
    sample = records.found[:SAMPLED]
    records.format_name = f"{format_of(names_of(sample))} JSON Lines".strip()
    if sample and sample[0].query_id is not None:
        records.place = "topic and turn"
    return make_topics(records, options, report, note)
