"""Choose the fields with id and text of records, and make topics of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trectools_plus.formats.interchange.names import normalize
from trectools_plus.formats.nodes.model import Scalar
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


def choose_fields(records: Records, options: TopicOptions) -> Choice:
    """Choose the fields with id and text, by the names in the first records.

    Args:
        records: The records of a file.
        options: The fields that the user names.

    Returns:
        The choice. Without a field for the text, ``text_fields`` is empty; without one for the id,
        ``id_field`` is ``None`` although records need it.
    """
    first = records.found[:SAMPLED]
    names = names_of(first)
    exact_ids, exact_texts = _EXACT[records.is_markup]
    texts = tuple(_find(names, name) or name for name in options.text_fields)
    texts = texts or _text_fields(names, records)
    id_field = options.id_field
    if id_field is not None:
        id_field = _find(names, id_field) or id_field
    elif any(record.query_id is None for record in first):
        others = [name for name in names if name not in texts]
        id_field = next((name for name in exact_ids if name in others), None)
        id_field = id_field or next(iter(_ranked(others, (*TOPIC_IDS, *WEAK_TOPIC_IDS))), None)
    is_usual = len(texts) == 1 and texts[0] in (*exact_texts, "") and id_field in exact_ids
    return Choice(id_field, texts, is_usual and not options.names_fields)


_EXACT = {False: (LINE_ID_KEYS, TEXT_KEYS), True: (XML_ID_KEYS, XML_TEXT_KEYS)}
"""The names of id and text that come before all others; true for SGML and XML."""


def _find(names: Sequence[str], wanted: str) -> str | None:
    if wanted in names:
        return wanted
    return next((name for name in names if normalize(name) == normalize(wanted)), None)


def _text_fields(names: Sequence[str], records: Records) -> tuple[str, ...]:
    first = records.found[:SAMPLED]
    filled = [name for name in names if any(_has_text(record, name) for record in first)]
    if {normalize(name) for name in filled} & _TIP_OF_THE_TONGUE:
        return tuple(_ranked(filled, ("title", "description")))
    for known in (filled, names):
        texts = [name for name in _EXACT[records.is_markup][1] if name in known]
        texts = texts or _ranked(known, TOPIC_TEXTS)
        if texts:
            return (texts[0],)
    joined = [name for name in filled if _plain(name) in JOINED_TEXTS]
    short = [name for name in joined if normalize(name) not in LONG_TEXTS]
    return tuple(short or joined) or (("",) if "" in names else ())


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
    records: Records, options: TopicOptions, report: Report, note: Note
) -> Iterator[Topic]:
    """Yield the topics of records, also those without an id or a text, which are reported.

    Args:
        records: The records of a file.
        options: The fields.
        report: Takes the problems.
        note: Takes a description of the format and the fields, if they are not the usual ones.
    """
    if not records.found:
        return
    choice = choose_fields(records, options)
    names = names_of(records.found)
    wanted = [*options.text_fields, *([options.id_field] if options.id_field else [])]
    absent = [visible(name) for name in wanted if _find(names, name) is None]
    if absent:
        known = listed([visible(name) for name in names if name])
        what = f"no record has a field {listed(absent)} (fields: {known})"
        remedy = "Name one of these fields"
        report(TopicProblem("T105", records.found[0].line, what, remedy=remedy))
        return
    for record in records.found:
        yield _make_topic(record, records, choice, report)
    if not (records.is_plain and choice.is_usual):
        note(_describe(records, choice))


def _make_topic(record: Record, records: Records, choice: Choice, report: Report) -> Topic:
    is_typed = records.is_typed and len(choice.text_fields) < 2
    used = {"query_id", "text", choice.id_field, *record.hidden}
    used |= set(choice.text_fields[:1] if len(choice.text_fields) == 1 else ())
    others = {
        name: node.text
        for name, node in record.fields.items()
        if name not in used and node.data is not None and node.text
    }
    query_id = _id_of(record, records, choice, report)
    topic = Topic(record.line, query_id, other_fields=others)
    nodes = _text_nodes(record, choice)
    if not nodes:
        _report_missing(record, "text", "--text-fields", report)
    elif is_typed or all(node.data is None for node in nodes):
        read_text(nodes[0], topic, report)
    else:
        topic.text = " ".join(node.text for node in nodes if node.text.strip())
        topic.text_line = nodes[0].line
    return topic


def _id_of(record: Record, records: Records, choice: Choice, report: Report) -> str | None:
    names = [choice.id_field, *(XML_ID_KEYS if records.is_markup else ())]
    node = next((record.fields[name] for name in names if name in record.fields), None)
    if node is None and record.query_id is None:
        _report_missing(record, "id", "--id-field", report)
    if node is None:
        return record.query_id

    def report_error(problem: TopicProblem) -> None:
        # A whole number is an id.
        if problem.severity != "warning" or (records.is_typed and len(choice.text_fields) < 2):
            report(problem)

    query_id = read_id(node, "id", None, report_error)
    return query_id.strip() if query_id and records.is_markup else query_id


def _text_nodes(record: Record, choice: Choice) -> list[Scalar]:
    """Return the texts of a record, or else the element's own text."""
    nodes = {name: record.fields[name] for name in choice.text_fields if name in record.fields}
    own = record.fields.get("")
    if any(node.text.strip() for node in nodes.values()) or own is None:
        return list(nodes.values())
    # An element without text has an empty text of its own, which is not a field.
    return [own] if own.text else [node for name, node in nodes.items() if name]


def _report_missing(record: Record, what: str, option: str, report: Report) -> None:
    names = [visible(name) for name in record.fields if name]
    seen = f" (fields: {listed(names)})" if names else ""
    remedy = f"Give every topic an id and a text, or name the field with the {what}: {option} NAME"
    message = f"the {what} is missing in this topic{seen}"
    report(TopicProblem("T105", record.line, message, remedy=remedy))


def _describe(records: Records, choice: Choice) -> str:
    """Describe how topics were read, in one line."""
    texts = [visible(name) if name else "the element" for name in choice.text_fields]
    fields = f"id from {visible(choice.id_field or 'its place')}, text from {', '.join(texts)}"
    return f"read as {records.format_name}: {plural(len(records.found), 'topic')}; {fields}"
