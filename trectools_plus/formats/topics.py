"""Topics, the queries of a collection, in the formats of TREC and others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

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
from trectools_plus.formats.interchange.table_files import BLANKS, Header, find_header
from trectools_plus.formats.nodes import (
    Node,
    TreeError,
    parse_json,
    parse_yaml,
    text_node,
)
from trectools_plus.formats.tables import Topics
from trectools_plus.formats.topic_records import (
    SAMPLED,
    Problems,
    Topic,
    find_topics,
    is_header,
    iter_lines,
    read_id,
    read_json_lines,
    read_markup,
    read_table,
    read_text,
)
from trectools_plus.formats.writing import id_problem, refuse_unwritable, write_rows
from trectools_plus.text import listed, plural, shortened, visible

Form = Literal["lines", "jsonl", "markup", "yaml", "json", "table"]
LINE_FORMS = ("lines", "jsonl", "table")
"""Forms in which each line is a topic."""
MAX_FIELDS = 1000
"""The greatest number of different fields in a file; each becomes a column."""
_BARE_CR = re.compile(r"\r(?!\n|\Z)")
"""CR alone, which some tools read as a line end and others as white space."""
_YAML_START = re.compile(
    r"(?:[^\S\n]*(?:#.*)?\n)*(?:---|(?:queries|test_cases|metadata)\s*:|- +\w+\s*:)"
)
_SUFFIX = re.compile(r"\.(ya?ml|jsonl|ndjson|json|tsv)(?:\.\w+)?$", re.IGNORECASE)
_FORMS: dict[str, Form] = {"yml": "yaml", "yaml": "yaml", "ndjson": "jsonl", "jsonl": "jsonl"}
"""The forms of files with these suffixes, whatever is in them."""
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


@dataclass(slots=True)
class TopicTable:
    """The topics of a file in any form, also those of a test set, which can lack an id or a text.

    Attributes:
        topics: The topics.
        problems: The problems that were found.
        read_as: A description of the fields, if they are not the usual ones.
        other: The document, if it is a test set that should not be read, or has no topics.
    """

    topics: list[Topic] = field(default_factory=list)
    problems: Problems = field(default_factory=Problems)
    read_as: str | None = None
    other: Node | None = None


def read_any(text: str, form: Form, options: TopicOptions, *, test_sets: bool = True) -> TopicTable:
    """Read topics.

    Args:
        text: The file, without byte order mark.
        form: Its form.
        options: The fields with id and text.
        test_sets: Read the texts of test sets too.
    """
    table = TopicTable()
    topics: list[Topic] | None = None
    try:
        if form == "lines":
            table.topics += iter_lines(text, table.problems)
            return table
        if form == "markup":
            topics = read_markup(text, table.problems)
        elif form == "table":
            header = _header_of(text)
            topics = [] if header is None else read_table(text, header, table.problems)
        elif form == "jsonl":
            topics = read_json_lines(text, table.problems)
        elif form == "yaml" or text.strip():
            root = (parse_yaml if form == "yaml" else parse_json)(text, table.problems.add)
            topics = find_topics(root, test_sets=test_sets) if root else None
            table.other = root if topics is None else None
    except TreeError as error:
        table.problems.add("T104", error.line, str(error))
    _fill(topics or [], options, table)
    return table


def _fill(topics: list[Topic], options: TopicOptions, table: TopicTable) -> None:
    """Add topics to a table, with the ids and texts in their fields."""
    names = dict.fromkeys(name for topic in topics for name in topic.fields)
    by_name = {normalize(name): name for name in reversed(names)} | {name: name for name in names}
    wanted = (*options.text_fields, *filter(None, [options.id_field]))
    named = {name: by_name.get(name) or by_name.get(normalize(name)) for name in wanted}
    if topics and None in named.values():
        absent, known = [name for name in named if named[name] is None], [*filter(None, names)]
        table.problems.add(
            "T105",
            topics[0].line,
            f"no topic has a field {listed(absent)} (fields: {listed([*map(visible, known)])})",
        )
        return
    texts = [name for name in map(named.get, options.text_fields) if name] or _choose_texts(topics)
    id_field = named.get(options.id_field or "")
    if id_field is None and any(topic.query_id is None for topic in topics):
        others = [name for name in names if name not in texts]
        id_field = next(iter(_ranked(others, TOPIC_IDS)), None)
    used = {"", "query_id", "text", id_field, *(texts if len(texts) == 1 else ())}
    for topic in topics:
        fields = topic.fields
        if id_field in fields:
            topic.query_id = read_id(fields[id_field], "id", None, table.problems)
        elif topic.query_id is None:
            _report_missing(topic, "id", table.problems)
        nodes = [fields[name] for name in texts if name in fields]
        own = [fields[""]] if "" in fields else nodes[:1]
        filled = [node for node in nodes if node.text.strip()] or own
        if not filled:
            _report_missing(topic, "text", table.problems)
        elif len(filled) == 1:
            read_text(filled[0], topic, table.problems)
        else:
            topic.text, topic.text_line = " ".join(node.text for node in filled), filled[0].line
        topic.fields = {
            name: node
            for name, node in fields.items()
            if name not in used and node.is_scalar and node.data is not None and node.text
        }
    table.topics = topics
    is_usual = id_field in (*ID_KEYS, "number", "num") and len(texts) == 1 and texts[0] in TEXT_KEYS
    if topics and (wanted or not is_usual):
        table.read_as = (
            f"{plural(len(topics), 'topic')}: id from {visible(id_field or 'its place')}, text "
            f"from {', '.join(map(visible, texts)) or 'the element'}"
        )


def _report_missing(topic: Topic, what: str, problems: Problems) -> None:
    seen = f" (fields: {listed([visible(name) for name in topic.fields if name])})"
    problems.add(
        "T105",
        topic.line,
        f"the {what} is missing in this topic{seen if topic.fields else ''}",
        remedy="Give every topic an id and a text, or name the field: "
        "--id-field, --text-fields NAME",
    )


def form_of(path: str, text: str) -> Form:
    """Return the format of a file, from the suffix of its name or else its first characters.

    Args:
        path: The name of the file.
        text: Its text, without byte order mark.
    """
    named = "".join(_SUFFIX.findall(path)).lower()
    first, _, rest = text.lstrip(" \t\r\n").partition("\n")
    if named in _FORMS:
        return _FORMS[named]
    if named == "json" or first.startswith("{") or (first.startswith("[") and named != "tsv"):
        is_object = first.rstrip().endswith("}") and rest.lstrip().startswith("{")
        return "jsonl" if is_object else "json"
    if re.match(r"<|\.I[ \t]", first):
        return "markup"
    if _header_of(text) is not None:
        return "table"
    is_tsv = named == "tsv" or "\t" in first
    return "yaml" if not is_tsv and _YAML_START.match(text) else "lines"


def _header_of(text: str) -> Header | None:
    """Return the header of a table, except two columns with a tab."""
    header = find_header(text, is_header)
    least = 0 if header is None else {BLANKS: 1 << 30, "\t": 3}.get(header.separator, 2)
    return header if header is not None and len(header.names) >= least else None


def _choose_texts(topics: Sequence[Topic]) -> list[str]:
    """Return the fields with the text, in order, by the names in the first topics."""
    items = [item for topic in topics[:SAMPLED] for item in topic.fields.items()]
    are_texts = {name for name, node in items if node.meaning == "text" and node.text.strip()}
    names = [*dict.fromkeys(name for name, _ in items)]
    filled = [name for name in names if name in are_texts]
    main = _ranked(filled, TOPIC_TEXTS) or _ranked(names, TOPIC_TEXTS)
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
    table = read_any(text, form_of(source.path, text), options)
    if table.other is not None and not table.other.is_empty:
        table.problems.add(
            "T105",
            table.other.line,
            "expected a list of objects with an id and a text, or {id: text}",
        )
    return Topics(
        _collect(table, source.path), source.path, table.read_as and f"read as {table.read_as}"
    )


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
    known: dict[str, Topic] = {}
    for topic in table.topics:
        query_id = topic.query_id or ""
        if query_id and (problem := id_problem(query_id, "query")):
            table.problems.add("T113", topic.line, problem, remedy="Change the id")
        report_empty_text(topic, table.problems)
        first = known.setdefault(query_id, topic)
        if first.text != topic.text:
            table.problems.add(
                "T112",
                topic.line,
                f"topic {shortened(query_id)} has another text on line {first.line}",
                remedy="Keep one of them",
            )
    table.problems.refuse(path)
    if not known:
        raise FormatError("no topics", path=path, remedy="check that the file is complete")
    names = dict.fromkeys(name for topic in known.values() for name in topic.fields)
    if len(names) > MAX_FIELDS:
        raise FormatError(
            f"more than {MAX_FIELDS:,} different fields in {len(known):,} topics",
            path=path,
            remedy="use the same few fields in every topic",
        )
    columns = {"query_id": [*known], "text": [topic.text or "" for topic in known.values()]} | {
        name: [topic.fields.get(name, text_node(0, "")).text or None for topic in known.values()]
        for name in names
    }
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


def report_empty_text(topic: Topic, problems: Problems) -> None:
    """Report a text without visible characters (T121)."""
    if topic.text is not None and not topic.text.strip():
        query_id = topic.query_id
        problems.add(
            "T121",
            topic.text_line or topic.line,
            "no text" if query_id is None else f"topic {visible(query_id)} has no text",
            query_id=query_id,
        )
