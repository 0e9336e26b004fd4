"""Choose the fields with id and text among the names of the fields of records.

Case, blanks and punctuation in names are ignored. :mod:`trectools_plus.formats.topic_schema` lists
the names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trectools_plus.formats.interchange.names import normalize
from trectools_plus.formats.topic_records.model import Record, TopicOptions
from trectools_plus.formats.topic_schema import (
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
