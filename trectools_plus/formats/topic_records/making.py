"""Choose the fields with id and text of records, and make topics of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

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
    LONG_TEXTS,
    TOPIC_IDS,
    TOPIC_TEXTS,
    USUAL_IDS,
    USUAL_TEXTS,
)
from trectools_plus.text import listed, plural, visible

SAMPLED = 1000
"""The number of records whose fields decide which of them are id and text."""
_TIP_OF_THE_TONGUE = frozenset({"redditid", "tomturl", "positivequeries"})
_LANGUAGE = re.compile(r"^([a-z]{1,3})-(?=title$|desc$|narr$|num$)")


def choose_fields(
    records: Sequence[Record], options: TopicOptions
) -> tuple[str | None, tuple[str, ...]]:
    """Choose the fields with id and text, by the names in the first records.

    Args:
        records: The records of a file.
        options: The fields that the user names.

    Returns:
        The field with the id, ``None`` without one or if the place of a record is its id; and the
        fields with the text, in order.
    """
    first = records[:SAMPLED]
    names = _names_of(first)
    texts = tuple(_find(names, name) or name for name in options.text_fields)
    texts = texts or _text_fields(names, first)
    id_field = options.id_field and (_find(names, options.id_field) or options.id_field)
    if id_field is None and any(record.query_id is None for record in first):
        others = [name for name in names if name not in texts]
        id_field = next(iter(_ranked(others, TOPIC_IDS)), None)
    return id_field, texts


def _names_of(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(name for record in records for name in record.fields))


def _find(names: Sequence[str], wanted: str) -> str | None:
    near = [name for name in names if normalize(name) == normalize(wanted)]
    return wanted if wanted in names else next(iter(near), None)


def _text_fields(names: Sequence[str], records: Sequence[Record]) -> tuple[str, ...]:
    found = [item for record in records for item in record.fields.items()]
    texts = {name for name, node in found if node.meaning == "text" and node.text.strip()}
    filled = [name for name in names if name in texts]
    if {normalize(name) for name in filled} & _TIP_OF_THE_TONGUE:
        return tuple(_ranked(filled, ("title", "description")))
    if ranked := _ranked(filled, TOPIC_TEXTS) or _ranked(names, TOPIC_TEXTS):
        return (ranked[0],)
    joined = [name for name in filled if _plain(name) in JOINED_TEXTS]
    short = [name for name in joined if normalize(name) not in LONG_TEXTS]
    return tuple(short or joined) or (("",) if "" in names else ())


def _plain(name: str) -> str:
    """Return a normalised name without a language, as in ``en-title``."""
    return normalize(_LANGUAGE.sub("", name))


def _ranked(names: Sequence[str], ranked: Sequence[str]) -> list[str]:
    """Return the names that are among the ranked ones, in the order of these."""
    by_name = {_plain(name): name for name in reversed(names)}
    return [by_name[name] for name in ranked if name in by_name]


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
    names = _names_of(records.found)
    wanted = [*options.text_fields, *([options.id_field] if options.id_field else [])]
    absent = [visible(name) for name in wanted if _find(names, name) is None]
    if absent:
        known = listed([visible(name) for name in names if name])
        what = f"no record has a field {listed(absent)} (fields: {known})"
        remedy = "Name one of these fields"
        report(TopicProblem("T105", records.found[0].line, what, remedy=remedy))
        return
    id_field, texts = choose_fields(records.found, options)
    is_typed = records.is_typed and len(texts) < 2
    for record in records.found:
        topic = Topic(record.line, _id_of(record, id_field, report, is_typed=is_typed))
        _add_texts(topic, record, texts, report, is_typed=is_typed)
        used = {"query_id", "text", id_field, *record.hidden, *(texts if len(texts) == 1 else ())}
        topic.other_fields = {
            name: node.text
            for name, node in record.fields.items()
            if name not in used and node.data is not None and node.text
        }
        yield topic
    is_usual = id_field in USUAL_IDS and len(texts) == 1 and texts[0] in USUAL_TEXTS
    if wanted or not (records.is_plain and is_usual):
        shown = ", ".join(visible(name) if name else "the element" for name in texts)
        fields = f"id from {visible(id_field or 'its place')}, text from {shown}"
        note(f"read as {records.format_name}: {plural(len(records.found), 'topic')}; {fields}")


def _add_texts(
    topic: Topic, record: Record, texts: Sequence[str], report: Report, *, is_typed: bool
) -> None:
    """Read the text of a record, or else the element's own text."""
    nodes = [record.fields[name] for name in texts if name in record.fields]
    if not any(node.text.strip() for node in nodes) and "" in record.fields:
        nodes = [record.fields[""]]
    if not nodes:
        _report_missing(record, "text", "--text-fields", report)
    elif is_typed or all(node.data is None for node in nodes):
        read_text(nodes[0], topic, report)
    else:
        topic.text = " ".join(node.text for node in nodes if node.text.strip())
        topic.text_line = nodes[0].line


def _id_of(record: Record, id_field: str | None, report: Report, *, is_typed: bool) -> str | None:
    node = record.fields.get(id_field or "")
    if node is None or id_field is None:
        if record.query_id is None:
            _report_missing(record, "id", "--id-field", report)
        return record.query_id

    def report_error(problem: TopicProblem) -> None:
        if problem.severity != "warning" or is_typed:  # otherwise, a whole number is an id
            report(problem)

    return read_id(node, "id", None, report_error)


def _report_missing(record: Record, what: str, option: str, report: Report) -> None:
    names = [visible(name) for name in record.fields if name]
    seen = f" (fields: {listed(names)})" if names else ""
    remedy = f"Give every topic an id and a text, or name the field with the {what}: {option} NAME"
    message = f"the {what} is missing in this topic{seen}"
    report(TopicProblem("T105", record.line, message, remedy=remedy))
