"""Make topics of the records of a file, and describe how it was read."""

from __future__ import annotations

from trectools_plus.formats.topic_records.fields import (
    Choice,
    choose_fields,
    missing_names,
    text_of_one,
)
from trectools_plus.formats.topic_records.model import (
    Note,
    Problem,
    Record,
    Records,
    Report,
    Topic,
    TopicOptions,
)
from trectools_plus.formats.topic_records.trees import names_of
from trectools_plus.text import listed, plural, visible

SAMPLED = 1000
"""The number of records whose fields decide which of them are id and text."""


def make_topics(
    records: Records, options: TopicOptions, report: Report, note: Note, *, is_markup: bool = False
) -> list[Topic]:
    """Return the topics of records.

    Args:
        records: The records of a file.
        options: The fields and the language.
        report: Takes the problems.
        note: Takes a description of the format and the fields, if they are not the usual ones.
        is_markup: True for SGML and XML.
    """
    if not records.found:
        if records.languages and records.language is None:
            report(_without_language(records, options, 1))
        return []
    choice = choose_fields(records.found[:SAMPLED], options, is_markup=is_markup)
    first = records.found[0].line
    if records.languages and not records.language:
        report(_without_language(records, options, first))
        return []
    wanted = [*options.text_fields, *([options.id_field] if options.id_field else [])]
    absent = missing_names(records.found, wanted)
    if absent:
        what = f"no record has a field {listed([visible(name) for name in absent])}"
        known = listed([visible(name) for name in names_of(records.found) if name])
        remedy = "Name one of these fields"
        report(Problem("T105", first, f"{what} (fields: {known})", remedy=remedy))
        return []
    maker = _Maker(records, choice, report, is_markup)
    topics = [topic for record in records.found if (topic := maker.make(record)) is not None]
    if topics and not (records.is_plain and choice.is_usual and not records.n_nested):
        note(describe(records.format_name, choice, len(topics), records))
    return topics


class _Maker:
    """Makes topics of records.

    Args:
        records: The records.
        choice: The fields with id and text.
        report: Takes the problems.
        is_markup: True for SGML and XML.
    """

    def __init__(self, records: Records, choice: Choice, report: Report, is_markup: bool) -> None:
        self._choice = choice
        self._report = report
        self._is_markup = is_markup
        is_sgml = is_markup and records.noun.startswith("<top>")
        self._labels = ("<num>", "<title>") if is_sgml else ("number", "<query> or <title>")
        self._is_joined = len(choice.text_fields) > 1

    def make(self, record: Record) -> Topic | None:
        """Make the topic of a record; ``None`` if id or text is missing, which is reported."""
        query_id = self._id_of(record)
        if query_id is None:
            return None
        names = self._text_names(record)
        if not names:
            self._report(self._missing(record, 1))
            return None
        nodes = [record.fields[name] for name in names]
        if all(node.meaning == "null" for node in nodes):
            self._report(Problem("T105", nodes[0].line, "text is null", nodes[0].column))
            return None
        used = {"query_id", "text", self._choice.id_field, *record.hidden}
        if not self._is_joined:
            used.update(names)
        others = {
            name: node.text
            for name, node in record.fields.items()
            if name not in used and node.meaning != "null" and node.text
        }
        text = " ".join(node.text for node in nodes if node.text.strip())
        return Topic(record.line, query_id, text, others, nodes[0].line)

    def _id_of(self, record: Record) -> str | None:
        name = self._choice.id_field
        node = record.fields.get(name) if name is not None else None
        if node is None and record.query_id is not None:
            return record.query_id
        if node is None and self._is_markup:
            found = choose_fields([record], TopicOptions(), is_markup=True).id_field
            node = record.fields.get(found) if found is not None else None
        if node is None or (self._is_markup and not node.text.strip()):
            self._report(self._missing(record, 0))
            return None
        if node.meaning == "null" or not node.text.strip():
            state = "null" if node.meaning == "null" else "empty"
            self._report(Problem("T105", node.line, f"id is {state}", node.column))
            return None
        is_read_as_other = node.value is not None and node.value != node.text
        if node.meaning in ("boolean", "number") or (node.meaning != "text" and is_read_as_other):
            what = f"expected an id (text or an integer) but got {visible(node.text)}"
            self._report(Problem("T114", node.line, what, node.column, fix="no"))
            return None
        return node.text.strip() if self._is_markup else node.text

    def _text_names(self, record: Record) -> list[str]:
        """Return the text fields of a record: the chosen ones, or others if it has none of them."""
        names = [name for name in self._choice.text_fields if name in record.fields]
        if any(record.fields[name].text.strip() for name in names):
            return names
        other = text_of_one(record, self._is_markup, bool(names))
        if any(record.fields[name].text.strip() for name in other):
            return list(other)
        # An element without text has an empty text of its own, which is not a field.
        return [name for name in names or other if name and name in record.fields]

    def _missing(self, record: Record, which: int) -> Problem:
        fields = [name for name in record.fields if name]
        option = ("--id-field", "--text-fields")[which]
        what = ("id", "text")[which]
        remedy = "Give every topic a number and a text"
        seen = ""
        if fields:
            seen = f" (fields: {listed([visible(name) for name in fields])})"
            remedy = f"Name the field with the {what}: {option} NAME"
        if self._is_markup:
            message = f"{self._labels[which]} is missing in this topic{seen}"
        else:
            message = f"expected a field for the {what} but found none that is known{seen}"
        return Problem("T105", record.line, message, remedy=remedy)


def _without_language(records: Records, options: TopicOptions, line: int) -> Problem:
    what = f"no text in the language {options.language or 'en'}"
    known = f"languages: {listed([visible(code) for code in records.languages])}"
    return Problem("T105", line, f"{what} ({known})", remedy="Choose one with --language")


def describe(format_name: str, choice: Choice, n: int, records: Records | None = None) -> str:
    """Describe how topics were read, in one line.

    Args:
        format_name: The name of the format.
        choice: The fields.
        n: The number of topics.
        records: The records, if they were found in a document.
    """
    parts = []
    place = records.place if records is not None else ""
    if choice.id_field is not None:
        parts.append(f"id from {visible(choice.id_field)}")
    elif place and place != "the lines":
        parts.append(f"id from {place}")
    if place != "the lines":
        shown = [visible(name) if name else "the element" for name in choice.text_fields]
        parts.append(f"text from {', '.join(shown)}")
    if records is not None and records.language is not None:
        parts.append(f"language {visible(records.language)}")
    details = [plural(n, "topic"), *([", ".join(parts)] if parts else [])]
    if records is not None and records.n_nested:
        details.append(f"{plural(records.n_nested, 'nested topic')} not read")
    return f"read as {format_name}: {'; '.join(details)}"
