"""Choose the fields with id and text of records, and make topics of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from trectools_plus.formats.interchange.names import normalize
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
)
from trectools_plus.formats.topic_records.schema import (
    JOINED_TEXTS,
    LINE_ID_KEYS,
    LONG_TEXTS,
    MAIN_TEXTS,
    TEXT_KEYS,
    TOPIC_IDS,
    TOPIC_TEXTS,
    WEAK_TOPIC_IDS,
    XML_ID_KEYS,
    XML_TEXT_KEYS,
)
from trectools_plus.text import listed, plural, visible

_TIP_OF_THE_TONGUE = frozenset({"redditid", "tomturl", "positivequeries"})
_PREFIX = re.compile(r"^([a-z]{1,3})-(?=title$|desc$|narr$|num$)")


@dataclass(frozen=True, slots=True)
class Choice:
    """The fields of id and text.

    Attributes:
        id_field: The field with the id; ``None`` if the place of a record is its id.
        text_fields: The fields with the text, in order.
        is_usual: True if the fields need no note: the first names of each list.
    """

    id_field: str | None
    text_fields: tuple[str, ...]
    is_usual: bool


def is_main_text(name: str) -> bool:
    """Return true if a field with this name is usually the text of a topic."""
    return name in TEXT_KEYS or normalize(name) in MAIN_TEXTS


def names_of(records: Sequence[Record]) -> list[str]:
    """Return the names of the fields of records, in order."""
    return list(dict.fromkeys(name for record in records for name in record.fields))


def choose_fields(
    records: Sequence[Record], options: TopicOptions, *, is_markup: bool = False
) -> Choice:
    """Choose the fields with id and text.

    Args:
        records: The first records of a file.
        options: The fields that the user names.
        is_markup: True for SGML and XML, whose names have another order of preference.

    Returns:
        The choice. Without a field for the text, ``text_fields`` is empty; without one for the id,
        ``id_field`` is ``None`` although records need it.
    """
    names = names_of(records)
    texts = tuple(_find(names, name) or name for name in options.text_fields)
    texts = texts or _text_fields(names, records, is_markup)
    id_field = None
    if options.id_field is not None:
        id_field = _find(names, options.id_field) or options.id_field
    elif any(record.query_id is None for record in records):
        id_field = _id_field([name for name in names if name not in texts], is_markup=is_markup)
    usual_texts = (*XML_TEXT_KEYS, "") if is_markup else TEXT_KEYS
    usual_ids = XML_ID_KEYS if is_markup else LINE_ID_KEYS
    is_usual = len(texts) == 1 and texts[0] in usual_texts and id_field in usual_ids
    return Choice(id_field, texts, is_usual and not options.names_fields)


def _find(names: Sequence[str], wanted: str) -> str | None:
    if wanted in names:
        return wanted
    return next((name for name in names if normalize(name) == normalize(wanted)), None)


def _id_field(names: Sequence[str], *, is_markup: bool) -> str | None:
    exact = XML_ID_KEYS if is_markup else LINE_ID_KEYS
    named = next((name for name in exact if name in names), None)
    return named or next(iter(_ranked(names, (*TOPIC_IDS, *WEAK_TOPIC_IDS))), None)


def _text_fields(
    names: Sequence[str], records: Sequence[Record], is_markup: bool
) -> tuple[str, ...]:
    filled = [name for name in names if any(_has_text(record, name) for record in records)]
    if {normalize(name) for name in filled} & _TIP_OF_THE_TONGUE:
        return tuple(_ranked(filled, ("title", "description")))
    exact = XML_TEXT_KEYS if is_markup else TEXT_KEYS
    for known in (filled, names):
        texts = [name for name in exact if name in known] or _ranked(known, TOPIC_TEXTS)
        if texts:
            return (texts[0],)
    joined = [name for name in filled if _plain(name) in JOINED_TEXTS]
    short = [name for name in joined if normalize(name) not in LONG_TEXTS]
    return tuple(short or joined) or (("",) if is_markup and "" in names else ())


def _has_text(record: Record, name: str) -> bool:
    node = record.fields.get(name)
    return node is not None and node.meaning == "text" and node.text.strip() != ""


def _plain(name: str) -> str:
    """Return a normalised name without a language, as in ``en-title``."""
    return normalize(_PREFIX.sub("", name))


def _ranked(names: Sequence[str], ranked: Sequence[str]) -> list[str]:
    """Return the names that are among the ranked ones, in the order of these."""
    by_name = {_plain(name): name for name in reversed(names)}
    return [by_name[name] for name in ranked if name in by_name]


SAMPLED = 1000
"""The number of records whose fields decide which of them are id and text."""


def make_topics(
    records: Records, options: TopicOptions, report: Report, note: Note, *, is_markup: bool = False
) -> list[Topic]:
    """Return the topics of records.

    Args:
        records: The records of a file.
        options: The fields.
        report: Takes the problems.
        note: Takes a description of the format and the fields, if they are not the usual ones.
        is_markup: True for SGML and XML.
    """
    if not records.found:
        return []
    choice = choose_fields(records.found[:SAMPLED], options, is_markup=is_markup)
    names = names_of(records.found)
    wanted = [*options.text_fields, *([options.id_field] if options.id_field else [])]
    absent = [visible(name) for name in wanted if _find(names, name) is None]
    if absent:
        known = listed([visible(name) for name in names if name])
        what = f"no record has a field {listed(absent)} (fields: {known})"
        remedy = "Name one of these fields"
        report(TopicProblem("T105", records.found[0].line, what, remedy=remedy))
        return []
    maker = TopicMaker(choice, report, is_markup=is_markup)
    topics = [topic for record in records.found if (topic := maker.make(record)) is not None]
    if topics and not (records.is_plain and choice.is_usual and not records.n_nested):
        nested = (
            f"; {plural(records.n_nested, 'nested topic')} not read" if records.n_nested else ""
        )
        note(describe(records.format_name, choice, len(topics)) + nested)
    return topics


class TopicMaker:
    """Makes topics of records.

    Args:
        choice: The fields with id and text.
        report: Takes the problems.
        is_markup: True for SGML and XML.
        is_typed: True for JSON Lines, in which an id and a text must be texts.
    """

    def __init__(
        self, choice: Choice, report: Report, *, is_markup: bool = False, is_typed: bool = False
    ) -> None:
        self._choice = choice
        self._report = report
        self._is_markup = is_markup
        self._is_typed = is_typed and len(choice.text_fields) < 2

    def make(self, record: Record) -> Topic | None:
        """Make the topic of a record; ``None`` if id or text is missing, which is reported.

        JSON Lines can be topics without id or text.
        """
        is_typed = self._is_typed and record.query_id is None
        topic = Topic(record.line, self._id_of(record), other_fields=self._others(record))
        if topic.query_id is None and not is_typed:
            return None
        nodes = [record.fields[name] for name in self._text_names(record)]
        if not nodes:
            self._report_missing(record, "text", "--text-fields")
        elif is_typed or all(node.data is None for node in nodes):
            read_text(nodes[0], topic, self._report)
        else:
            topic.text = " ".join(node.text for node in nodes if node.text.strip())
            topic.text_line = nodes[0].line
        return topic if is_typed or topic.text is not None else None

    def _others(self, record: Record) -> dict[str, str]:
        used = {"query_id", "text", self._choice.id_field, *record.hidden}
        if len(self._choice.text_fields) == 1:
            used.update(self._choice.text_fields)
        return {
            name: node.text
            for name, node in record.fields.items()
            if name not in used and node.data is not None and node.text
        }

    def _id_of(self, record: Record) -> str | None:
        name = self._choice.id_field
        node = None if name is None else record.fields.get(name)
        if node is None and record.query_id is not None:
            return record.query_id
        if node is None and self._is_markup:
            others = [name for name in record.fields if name not in self._choice.text_fields]
            name = _id_field(others, is_markup=True)
            node = None if name is None else record.fields[name]
        if node is None or (self._is_markup and not node.text.strip()):
            self._report_missing(record, "id", "--id-field")
            return None
        query_id = read_id(node, "id", None, self._report if self._is_typed else self._report_error)
        return query_id.strip() if query_id and self._is_markup else query_id

    def _report_error(self, problem: TopicProblem) -> None:
        """Report an id that is not text, unless it is a whole number."""
        if problem.severity != "warning":
            self._report(problem)

    def _text_names(self, record: Record) -> list[str]:
        """Return the text fields of a record, or else the element's own text."""
        names = [name for name in self._choice.text_fields if name in record.fields]
        is_empty = not any(record.fields[name].text.strip() for name in names)
        if is_empty and "" in record.fields and record.fields[""].text:
            return [""]
        # An element without text has an empty text of its own, which is not a field.
        return [name for name in names if name or not is_empty]

    def _report_missing(self, record: Record, what: str, option: str) -> None:
        names = [visible(name) for name in record.fields if name]
        message = f"the {what} is missing in this topic"
        remedy = (
            f"Give every topic an id and a text, or name the field with the {what}: {option} NAME"
        )
        seen = f" (fields: {listed(names)})" if names else ""
        self._report(TopicProblem("T105", record.line, message + seen, remedy=remedy))


def describe(format_name: str, choice: Choice, n_topics: int) -> str:
    """Describe how topics were read, in one line."""
    texts = [visible(name) if name else "the element" for name in choice.text_fields]
    fields = f"id from {visible(choice.id_field or 'its place')}, text from {', '.join(texts)}"
    return f"read as {format_name}: {plural(n_topics, 'topic')}; {fields}"
