"""Choose the fields with id and text and the language of records, and make topics of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
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

_LONG = {
    "eng": "en", "zho": "zh", "chi": "zh", "cmn": "zh", "fas": "fa", "per": "fa", "rus": "ru",
    "deu": "de", "ger": "de", "fra": "fr", "fre": "fr", "spa": "es", "ita": "it", "por": "pt",
    "nld": "nl", "dut": "nl", "jpn": "ja", "kor": "ko", "ara": "ar", "hin": "hi", "swe": "sv",
    "fin": "fi", "pol": "pl", "tur": "tr", "ces": "cs", "cze": "cs", "hun": "hu", "ukr": "uk",
    "ben": "bn", "mar": "mr", "english": "en", "german": "de", "french": "fr", "spanish": "es",
    "chinese": "zh", "persian": "fa", "russian": "ru", "italian": "it", "dutch": "nl",
    "czech": "cs", "cz": "cs",
}  # fmt: skip


def is_language(name: str) -> bool:
    """Return true for a code of a language, or its English name: ``en``, ``eng``, ``english``."""
    return same_language(name) in _LONG.values()


def same_language(code: str) -> str:
    """Return the code of two letters of a language: ``en`` for ``en``, ``eng`` and ``en-GB``."""
    plain = code.strip().lower()
    base = plain.replace("_", "-").partition("-")[0]
    return _LONG.get(base, base)


def choose_language(available: Sequence[str], wanted: str | None) -> str | None:
    """Return the wanted language as the file spells it; without a wish, English or the first.

    ``None`` if the wanted language is not available.
    """
    goal = same_language(wanted or "en")
    found = next((code for code in available if same_language(code) == goal), None)
    if found is None and wanted is None and available:
        return available[0]
    return found


_TIP_OF_THE_TONGUE = frozenset({"redditid", "tomturl", "positivequeries"})
_FORMATS: tuple[tuple[str, frozenset[str]], ...] = (
    ("tip-of-the-tongue", frozenset({"redditid"})),
    ("tip-of-the-tongue", frozenset({"tomturl"})),
    ("TREC Precision Medicine", frozenset({"disease", "gene"})),
    ("TREC Precision Medicine", frozenset({"disease", "demographic"})),
    ("TREC Clinical Decision Support", frozenset({"summary", "description"})),
    ("TREC Microblog", frozenset({"querytweettime"})),
    ("TREC iKAT", frozenset({"ptkb"})),
    ("TREC CAsT", frozenset({"rawutterance"})),
    ("TREC CAsT", frozenset({"utterance"})),
    ("HC4/NeuCLIR", frozenset({"topictitle", "topicdescription"})),
    ("CODEC", frozenset({"query", "guidelines"})),
    ("TREC-COVID", frozenset({"query", "question", "narrative"})),
)
"""Names of formats, and the fields that identify them."""

_PREFIX = re.compile(r"^([a-z]{1,3})-(?=title$|desc$|narr$|num$)")
_BLANK = re.compile(r"\s")


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


def is_text_name(name: str) -> bool:
    """Return true if a field with this name can be the text of a topic, or a part of it."""
    return normalize(_without_language(name)) in (*TOPIC_TEXTS, *JOINED_TEXTS)


def format_of(names: Iterable[str]) -> str:
    """Return the name of the format that the fields identify; else an empty text."""
    known = {normalize(name) for name in names}
    if "title" in known or "query" in known:  # CLEF and others have both, beside a title
        known.discard("summary")
    return next((name for name, wanted in _FORMATS if wanted <= known), "")


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
    names = list(dict.fromkeys(name for record in records for name in record.fields))
    texts = _named(names, options.text_fields) or _text_fields(names, records, is_markup)
    id_field = None
    if options.id_field is not None:
        id_field = _find(names, options.id_field) or options.id_field
    elif any(record.query_id is None for record in records):
        id_field = _id_field([name for name in names if name not in texts], records, is_markup)
        if id_field is None and not options.text_fields:
            id_field, texts = _only_weak(names, records, texts)
    usual_texts = XML_TEXT_KEYS if is_markup else TEXT_KEYS
    usual_ids = XML_ID_KEYS if is_markup else LINE_ID_KEYS
    is_usual = (
        not options.names_fields
        and len(texts) == 1
        and (texts[0] in usual_texts or (is_markup and not texts[0]))
        and id_field in usual_ids
    )
    return Choice(id_field, texts, is_usual)


def text_of_one(record: Record, is_markup: bool, has_chosen: bool) -> tuple[str, ...]:
    """Choose the fields with the text of one record in which those of the others are empty.

    Args:
        record: The record.
        is_markup: See :func:`choose_fields`.
        has_chosen: True if it has the fields of the others; parts of a text cannot replace them.
    """
    found = _text_fields(list(record.fields), [record], is_markup)
    return () if has_chosen and any(normalize(name) in JOINED_TEXTS for name in found) else found


def missing_names(records: Sequence[Record], names: Sequence[str]) -> list[str]:
    """Return the names that no record has."""
    known = list(dict.fromkeys(name for record in records for name in record.fields))
    return [name for name in names if _find(known, name) is None]


def _named(names: Sequence[str], wanted: Sequence[str]) -> tuple[str, ...]:
    return tuple(_find(names, name) or name for name in wanted)


def _find(names: Sequence[str], wanted: str) -> str | None:
    if wanted in names:
        return wanted
    return next((name for name in names if normalize(name) == normalize(wanted)), None)


def _id_field(names: Sequence[str], records: Sequence[Record], is_markup: bool) -> str | None:
    exact = XML_ID_KEYS if is_markup else LINE_ID_KEYS
    found = next((name for name in exact if name in names), None) or _first(names, TOPIC_IDS)
    return found or next(
        (name for name in _all(names, WEAK_TOPIC_IDS) if _looks_like_ids(name, records)), None
    )


def _only_weak(
    names: Sequence[str], records: Sequence[Record], texts: tuple[str, ...]
) -> tuple[str | None, tuple[str, ...]]:
    """Use the text as the id if it looks like one and there is another text."""
    others = [name for name in names if name not in texts]
    text = _text_fields(others, records, False)
    is_weak = len(texts) == 1 and text and normalize(texts[0]) in WEAK_TOPIC_IDS
    if is_weak and _looks_like_ids(texts[0], records):
        return texts[0], text
    return None, texts


def _looks_like_ids(name: str, records: Sequence[Record]) -> bool:
    values = [record.fields[name].text for record in records if name in record.fields]
    return (
        len(values) == len(records)
        and len(set(values)) == len(values)
        and not any(not value or _BLANK.search(value) for value in values)
    )


def _text_fields(
    names: Sequence[str], records: Sequence[Record], is_markup: bool
) -> tuple[str, ...]:
    filled = [name for name in names if any(_has_text(record, name) for record in records)]
    if {normalize(name) for name in filled} & _TIP_OF_THE_TONGUE:
        joined = _all(filled, ("title", "description"))
        if joined:
            return tuple(joined)
    if "currentquery" in filled:  # of a session, after the earlier queries
        return ("currentquery",)
    exact = XML_TEXT_KEYS if is_markup else TEXT_KEYS
    for known in (filled, names):
        found = next((name for name in exact if name in known), None) or _first(known, TOPIC_TEXTS)
        if found is not None:
            return (found,)
    joined = [name for name in filled if normalize(_without_language(name)) in JOINED_TEXTS]
    short = [name for name in joined if normalize(name) not in LONG_TEXTS]
    if short or joined:
        return tuple(short or joined)
    return ("",) if is_markup and "" in names else ()


def _without_language(name: str) -> str:
    return _PREFIX.sub("", name)


def _has_text(record: Record, name: str) -> bool:
    node = record.fields.get(name)
    return node is not None and node.meaning == "text" and node.text.strip() != ""


def _first(names: Sequence[str], ranked: Sequence[str]) -> str | None:
    return next(iter(_all(names, ranked)), None)


def _all(names: Sequence[str], ranked: Sequence[str]) -> list[str]:
    by_name: dict[str, str] = {}
    for name in names:
        by_name.setdefault(normalize(_without_language(name)), name)
    return [by_name[name] for name in ranked if name in by_name]


def names_of(records: Sequence[Record]) -> list[str]:
    """Return the names of the fields of records, in order."""
    return list(dict.fromkeys(name for record in records for name in record.fields))


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
            report(_without_wanted_language(records, options, 1))
        return []
    choice = choose_fields(records.found[:SAMPLED], options, is_markup=is_markup)
    first = records.found[0].line
    if records.languages and not records.language:
        report(_without_wanted_language(records, options, first))
        return []
    wanted = [*options.text_fields, *([options.id_field] if options.id_field else [])]
    absent = missing_names(records.found, wanted)
    if absent:
        what = f"no record has a field {listed([visible(name) for name in absent])}"
        known = listed([visible(name) for name in names_of(records.found) if name])
        remedy = "Name one of these fields"
        report(TopicProblem("T105", first, f"{what} (fields: {known})", remedy=remedy))
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
            self._report(TopicProblem("T105", nodes[0].line, "text is null", nodes[0].column))
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
            self._report(TopicProblem("T105", node.line, f"id is {state}", node.column))
            return None
        is_read_as_other = node.value is not None and node.value != node.text
        if node.meaning in ("boolean", "number") or (node.meaning != "text" and is_read_as_other):
            what = f"expected an id (text or an integer) but got {visible(node.text)}"
            self._report(TopicProblem("T114", node.line, what, node.column, fix="no"))
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

    def _missing(self, record: Record, which: int) -> TopicProblem:
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
        return TopicProblem("T105", record.line, message, remedy=remedy)


def _without_wanted_language(records: Records, options: TopicOptions, line: int) -> TopicProblem:
    what = f"no text in the language {options.language or 'en'}"
    known = f"languages: {listed([visible(code) for code in records.languages])}"
    return TopicProblem("T105", line, f"{what} ({known})", remedy="Choose one with --language")


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
