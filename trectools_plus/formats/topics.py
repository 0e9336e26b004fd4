"""Topics, the queries of a collection, in the formats of TREC and others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import filterfalse
from pathlib import Path

import polars as pl

from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.collection import CatalogueDataset, is_catalogue_name
from trectools_plus.formats.files.content import read_file
from trectools_plus.formats.interchange.names import (
    ID_KEYS,
    JOINED_TEXTS,
    LONG_TEXTS,
    TEXT_KEYS,
    TOPIC_IDS,
    TOPIC_TEXTS,
    normalize,
)
from trectools_plus.formats.nodes import TreeError
from trectools_plus.formats.tables import Topics
from trectools_plus.formats.topic_formats import (
    SAMPLED,
    TSV,
    Problems,
    Topic,
    TopicFormat,
    TopicTable,
    format_of,
    read_id,
    read_text,
)
from trectools_plus.formats.writing import id_problem, refuse_unwritable, write_rows
from trectools_plus.text import listed, plural, shortened, visible

MAX_FIELDS = 1000
"""The greatest number of different fields in a file; each becomes a column."""
_BARE_CR = re.compile(r"\r(?!\n|\Z)")
"""CR alone, which some tools read as a line end and others as white space."""
USUAL_IDS = (*ID_KEYS, "number", "num")
"""Names of the id that are not mentioned."""
_LANGUAGE = re.compile(r"^([a-z]{1,3})-(?=title$|desc$|narr$|num$)")


@dataclass(frozen=True, slots=True)
class TopicOptions:
    """Fields to read; by default, their names decide.

    Attributes:
        id_field: The field with the id.
        text_fields: The fields with the text, joined by blanks.
    """

    id_field: str | None = None
    text_fields: tuple[str, ...] = ()


DEFAULTS = TopicOptions()


def read_any(
    text: str, form: TopicFormat, options: TopicOptions, *, test_sets: bool = True
) -> TopicTable:
    """Read topics.

    Args:
        text: The file, without byte order mark.
        form: Its format.
        options: The fields with id and text.
        test_sets: Read the texts of test sets too.
    """
    table = TopicTable(test_sets)
    try:
        topics = [*form.read(text, table)]
        if form is not TSV and topics:
            _choose_fields(topics, options, table)
        table.topics = topics
    except TreeError as error:
        table.problems.add(error.code, error.line, str(error))
    return table


def _choose_fields(topics: list[Topic], options: TopicOptions, table: TopicTable) -> None:
    """Read the ids and texts of topics from their fields.

    Raises:
        TreeError: If no topic has a field that the user names.
    """
    names = dict.fromkeys(name for topic in topics for name in topic.fields)
    line = topics[0].line
    texts = [_named(name, names, line) for name in options.text_fields]
    texts = texts or _find_texts(topics, names)
    id_field = options.id_field and _named(options.id_field, names, line)
    if id_field is None and any(topic.query_id is None for topic in topics):
        id_field = next(iter(_ranked([*filterfalse(texts.__contains__, names)], TOPIC_IDS)), None)
    for topic in topics:
        _read_fields(topic, id_field, texts, table.problems)
    is_usual = id_field in USUAL_IDS and texts in [[name] for name in TEXT_KEYS]
    if options != DEFAULTS or not is_usual:
        table.read_as = (
            f"read as {plural(len(topics), 'topic')}: id from {visible(id_field or 'its place')}, "
            f"text from {', '.join(map(visible, texts)) or 'the element'}"
        )


def _named(wanted: str, names: Iterable[str], line: int) -> str:
    """Return the field that the user names, as it is written in the file."""
    for name in sorted(names, key=wanted.__ne__):
        if normalize(name) == normalize(wanted):
            return name
    known = listed([visible(name) for name in names if name])
    raise TreeError(f"no topic has a field {wanted} (fields: {known})", line, "T105")


def _read_fields(
    topic: Topic, id_field: str | None, texts: Sequence[str], problems: Problems
) -> None:
    """Read the id and the text of a topic, and leave its other values that have a text."""
    fields = topic.fields
    if id_field in fields:
        topic.query_id = read_id(fields[id_field], "id", None, problems)
    elif topic.query_id is None:
        _report_missing(topic, "id", problems)
    nodes = [fields[name] for name in texts if name in fields]
    own = [fields[""]] if "" in fields else nodes[:1]
    filled = [node for node in nodes if node.text.strip()] or own
    if not filled:
        _report_missing(topic, "text", problems)
    elif len(filled) == 1:
        read_text(filled[0], topic, problems)
    else:
        topic.text, topic.text_line = " ".join(node.text for node in filled), filled[0].line
    used = {"", "query_id", "text", id_field, *(texts if len(texts) == 1 else ())}
    topic.fields = {
        name: node
        for name, node in fields.items()
        if name not in used and node.data is not None and node.text
    }


def _report_missing(topic: Topic, what: str, problems: Problems) -> None:
    fields = listed([visible(name) for name in topic.fields if name])
    problems.add(
        "T105",
        topic.line,
        f"the {what} is missing in this topic (fields: {fields or 'none'})",
        remedy="Give every topic an id and a text, or name the field: "
        "--id-field, --text-fields NAME",
    )


def _find_texts(topics: Sequence[Topic], names: Iterable[str]) -> list[str]:
    """Return the fields with the text, in order, by the names and the values in the first topics.

    Args:
        topics: The topics.
        names: The names of their fields.
    """
    items = [item for topic in topics[:SAMPLED] for item in topic.fields.items()]
    are_texts = {name for name, node in items if node.meaning == "text" and node.text.strip()}
    filled = [name for name in names if name in are_texts]
    main = _ranked(filled, TOPIC_TEXTS) or _ranked([*names], TOPIC_TEXTS)
    tip_of_the_tongue = {"redditid", "tomturl", "positivequeries"}
    if main and tip_of_the_tongue.intersection(map(normalize, filled)):
        return [main[0], "description"]
    joined = [name for name in filled if _plain(name) in JOINED_TEXTS]
    return main[:1] or [name for name in joined if _plain(name) not in LONG_TEXTS] or joined


def _plain(name: str) -> str:
    """Return a normalised name without a language, as in ``en-title``."""
    return normalize(_LANGUAGE.sub("", name))


def _ranked(names: Sequence[str], ranked: Sequence[str]) -> list[str]:
    """Return the names that are among the ranked ones, in the order of these."""
    by_name = {_plain(name): name for name in reversed(names)}
    return [by_name[name] for name in ranked if name in by_name]


def read_topics(path: str | Path, options: TopicOptions = DEFAULTS) -> Topics:
    """Read topics; the content of the file determines the format.

    - TSV: ``id TAB text``; tabs within the text become spaces. Lines that start with ``#`` and
      have no tab are comments, and a header line is skipped. Repeated identical topics are read
      once.
    - JSON Lines, JSON and YAML: records with an id and a text, or ``{id: text}``.
    - TREC SGML (``<top>``) and XML (``<topic number="1">`` or other elements with an id).
    - ``id:text`` and ``query TAB id TAB text``.

    The names of the fields decide which of them are id and text (``query_id``, ``qid``, ``number``
    …; ``text``, ``query``, ``title`` …). Parts of a query like ``disease`` and ``gene`` are joined.
    Other texts, numbers and booleans become columns of text. The result's ``read_as`` describes
    formats and fields other than the usual ones.

    Args:
        path: The file; ``-`` for standard input; or ``irds:<id>`` for a dataset of ``ir_datasets``.
        options: The fields with id and text.

    Raises:
        InputError: If the file cannot be read.
        FormatError: If a topic is malformed or lacks its id or text, an id occurs with two texts
            or cannot be written to a run, the file is not UTF-8 or has CRs without LF, or there
            are no topics. The message contains the code of the rule of ``topics validate``.
    """
    if is_catalogue_name(path):
        return CatalogueDataset(str(path)).read_topics()
    source = read_file(path)
    text = source.text
    if bare := _BARE_CR.search(text):
        raise FormatError(
            "CR without LF (F105)",
            path=source.path,
            line=text.count("\n", 0, bare.start()) + 1,
            column=bare.start() - text.rfind("\n", 0, bare.start()),
            remedy="convert the line ends to LF: trectools-plus topics validate FILE --fix OUT",
        )
    table = read_any(text, format_of(source.path, text), options)
    if table.other is not None and not table.other.is_empty:
        table.problems.add(
            "T105",
            table.other.line,
            "expected a list of objects with an id and a text, or {id: text}",
        )
    return Topics(_collect(table, source.path), source.path, table.read_as)


def write_topics(topics: Topics, path: str | Path) -> None:
    """Write topics as TSV, ``id TAB text``, one per line, without other columns.

    White space in a text, including line ends, becomes one space. The file is written atomically,
    compressed according to its suffix.

    Args:
        topics: The topics.
        path: The file.

    Raises:
        InputError: If there are no topics, an id cannot be written, a text is empty, or the file
            cannot be written.
    """
    refuse_unwritable(topics.frame, ("query_id",), "topics")
    one_line = pl.col("text").str.replace_all(r"[\s\p{Cc}]+", " ").str.strip_chars()
    rows = topics.frame.select("query_id", one_line)
    empty = rows.filter(pl.col("text") == "")
    if empty.height:
        raise InputError(
            f"topic {shortened(empty['query_id'][0])} has no text",
            where="topics",
            remedy="write the text, or remove the topic",
        )
    write_rows([rows], path, separator="\t")


def _collect(table: TopicTable, path: str) -> pl.DataFrame:
    """Return each topic once, with a column for each of the other fields."""
    topics = _without_repeats(table)
    table.problems.refuse(path)
    if not topics:
        raise FormatError("no topics", path=path, remedy="check that the file is complete")
    names = dict.fromkeys(name for topic in topics for name in topic.fields)
    if len(names) > MAX_FIELDS:
        raise FormatError(
            f"more than {MAX_FIELDS:,} different fields in {len(topics):,} topics",
            path=path,
            remedy="use the same few fields in every topic",
        )
    ids, texts = [topic.query_id for topic in topics], [topic.text or "" for topic in topics]
    columns = {"query_id": ids, "text": texts} | {
        name: [(node := topic.fields.get(name)) and node.text for topic in topics] for name in names
    }
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


def _without_repeats(table: TopicTable) -> list[Topic]:
    """Return the first topic of each id; report ids and texts that a run cannot have."""
    known: dict[str, Topic] = {}
    for topic in table.topics:
        query_id = topic.query_id or ""
        if query_id and (problem := id_problem(query_id, "query")):
            table.problems.add("T113", topic.line, problem, remedy="Change the id")
        report_empty_text(topic, table.problems)
        first = known.setdefault(query_id, topic)
        if first.text != topic.text:
            what = f"topic {shortened(query_id)} has another text on line {first.line}"
            table.problems.add("T112", topic.line, what, remedy="Keep one of them")
    return [*known.values()]


def report_empty_text(topic: Topic, problems: Problems) -> None:
    """Report a text without visible characters (T121)."""
    if topic.text is not None and not topic.text.strip():
        what = f"topic {visible(topic.query_id or 'without id')} has no text"
        line = topic.text_line or topic.line
        problems.add("T121", line, what, query_id=topic.query_id)
