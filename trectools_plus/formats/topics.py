"""Topics, the queries of a collection, in the formats of TREC and others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

import polars as pl

from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.files.content import decode_lines, decode_text, iter_lines
from trectools_plus.formats.files.source import Source, read_source
from trectools_plus.formats.ir_datasets import is_catalogue_name, open_catalogue
from trectools_plus.formats.jsonl import as_field_text, get_id, get_text, iter_objects
from trectools_plus.formats.nodes.json import parse_json
from trectools_plus.formats.nodes.model import Mapping, TreeError
from trectools_plus.formats.tables import TOPICS_SCHEMA, Topics
from trectools_plus.formats.topic_records.fields import Choice
from trectools_plus.formats.topic_records.forms import Form, form_of
from trectools_plus.formats.topic_records.model import (
    DEFAULTS,
    Topic,
    TopicOptions,
    refuse,
)
from trectools_plus.formats.topic_records.reading import (
    describe,
    find_topics,
    make_line_topics,
)
from trectools_plus.formats.topic_records.trees import plain_choice
from trectools_plus.formats.topic_schema import LINE_ID_KEYS, TEXT_KEYS, is_header
from trectools_plus.formats.writing import id_problem, refuse_unwritable, write_rows
from trectools_plus.text import plural, shortened

MAX_FIELDS = 1000
"""The greatest number of different fields in a file; each becomes a column."""
_LINES_READ_AHEAD = 200
_STREAMED: tuple[Form, ...] = ("tsv", "jsonl")
Note = Callable[[str], None]


def read_topics(path: str | Path, options: TopicOptions = DEFAULTS) -> Topics:
    """Read topics; the content of the file determines the format.

    - TSV: ``id TAB text``; tabs within the text become spaces. Lines that start with ``#`` and
      have no tab are comments, and a header line is skipped. Repeated identical topics are read
      once.
    - JSON Lines, JSON and YAML: records with an id and a text, or ``{id: text}``. Each turn of a
      conversation is one topic with the id ``topic_turn``.
    - TREC SGML (``<top>``) and XML (``<topic number="1">`` or other elements with an id).
    - ``id:text`` and ``query TAB id TAB text``.

    The names of the fields decide which of them are id and text (``query_id``, ``qid``, ``number``
    …; ``text``, ``query``, ``title`` …). Parts of a query like ``disease`` and ``gene`` are joined.
    Other texts, numbers and booleans become columns of text. The result's ``read_as`` describes
    formats and fields other than the usual ones.

    Args:
        path: The file; ``-`` for standard input; or ``irds:<id>`` for a dataset of ``ir_datasets``.
        options: The fields with id and text, and the language.

    Raises:
        InputError: If the file cannot be read.
        FormatError: If a topic is malformed or lacks its id or text, an id occurs with two texts
            or cannot be written to a run, the file is not UTF-8 or has CRs without LF, or there
            are no topics. The message contains the code of the rule of ``topics validate``.
    """
    if is_catalogue_name(path):
        return open_catalogue(str(path)).read_topics()
    source = read_source(path)
    _refuse_bare_cr(source)
    notes: list[str] = []
    found = _collect(_iter_topics(source, options, notes.append), source.path)
    return Topics(found, source.path, notes[0] if notes else None)


def iter_topics(
    path: str | Path, options: TopicOptions = DEFAULTS, note: Note | None = None
) -> Iterator[Topic]:
    """Yield the topics of a file one at a time, with the checks of :func:`read_topics`.

    TSV and JSON Lines are read line by line, other formats at once. Repeated topics are yielded
    each time.

    Args:
        path: The file, or ``-`` for standard input.
        options: The fields with id and text, and the language.
        note: Takes a description of formats and fields other than the usual ones, at the end.

    Raises:
        InputError, FormatError: See :func:`read_topics`; repeated topics are not an error.
    """
    shown = str(path)
    if is_catalogue_name(shown):
        queries = open_catalogue(shown).iter_queries()
        yield from (Topic(0, query_id, text) for query_id, text in queries)
        return
    lines = iter_lines(path)
    head = _up_to_first_text(lines)
    head += islice(lines, _LINES_READ_AHEAD)
    start = b"\n".join(head).decode("utf-8", "ignore").removeprefix("\ufeff")
    form = form_of(shown, start)
    note = note or _ignore
    if form not in _STREAMED:
        found = _iter_topics(read_source(path), options, note)
    else:
        checked = _without_bare_cr(chain(head, lines), shown)
        if form == "jsonl":
            found = _iter_jsonl(checked, shown, options, note)
        else:
            found = _iter_tsv(checked, shown, note)
    topic = None
    for topic in found:
        _refuse_unusable(topic, shown)
        yield topic
    if topic is None:
        raise _no_topics(shown)


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
        what = f"topic {shortened(empty['query_id'][0])} has no text"
        raise InputError(what, where="topics", remedy="write the text, or remove the topic")
    write_rows([rows], path, separator="\t")


def _refuse_bare_cr(source: Source) -> None:
    """Refuse CRs without LF, which some tools read as line ends and others as white space."""
    if source.data.count(b"\r") == source.data.count(b"\r\n"):
        return
    at = next(match.start() for match in re.finditer(rb"\r(?!\n)", source.data))
    line_start = source.data.rfind(b"\n", 0, at) + 1
    raise _bare_cr(source.path, source.data.count(b"\n", 0, at) + 1, source.data[line_start:at])


def _bare_cr(path: str, line: int, before: bytes) -> FormatError:
    return FormatError(
        "CR without LF (F105)",
        path=path,
        line=line,
        column=len(before.decode("utf-8", "replace")) + 1,
        remedy="convert the line ends to LF: topics validate FILE --fix OUT",
    )


def _iter_topics(source: Source, options: TopicOptions, note: Note) -> Iterator[Topic]:
    head = source.data[: 1 << 16].decode("utf-8", "ignore").removeprefix("\ufeff")
    form, text = form_of(source.path, head), ""
    if form not in _STREAMED:
        text = decode_text(source.data, source.path).removeprefix("\ufeff")
        form = form_of(source.path, text)
    if form == "jsonl":
        yield from _iter_jsonl(source.lines(), source.path, options, note)
    elif form == "tsv":
        yield from _iter_tsv(source.lines(), source.path, note)
    else:
        found, read_as = find_topics(text, form, options, refuse(source.path))
        if read_as is not None:
            note(read_as)
        yield from found


def _ignore(_: str) -> None:
    """Ignore a note."""


def _up_to_first_text(lines: Iterator[bytes]) -> list[bytes]:
    """Return the lines up to the first that is not blank."""
    head = []
    for line in lines:
        head.append(line)
        if line.decode("utf-8", "ignore").strip("\ufeff \t\r\n"):
            break
    return head


def _without_bare_cr(lines: Iterable[bytes], path: str) -> Iterator[bytes]:
    for number, line in enumerate(lines, 1):
        at = line.find(b"\r", 0, -1)
        if at >= 0:
            raise _bare_cr(path, number, line[:at])
        yield line


def _iter_tsv(lines: Iterable[bytes], path: str, note: Note) -> Iterator[Topic]:
    is_first = True
    has_header = False
    count = 0
    for line, text in decode_lines(lines, path):
        query_id, tab, rest = text.partition("\t")
        if not tab and text.startswith("#"):
            continue  # a comment
        if not tab:
            what = "no tab between id and text (T101)"
            raise FormatError(what, path=path, line=line, remedy="write id TAB text")
        if is_first and is_header(query_id, rest):
            is_first, has_header = False, True
            continue
        is_first = False
        count += 1
        yield Topic(line, query_id, rest.replace("\t", " ").strip(" "))
    if has_header and count:
        note(f"read as TSV with a header: {plural(count, 'topic')}")


def _iter_jsonl(
    lines: Iterable[bytes], path: str, options: TopicOptions, note: Note
) -> Iterator[Topic]:
    lines = iter(lines)
    head = _up_to_first_text(lines)
    choice = _plain_choice(head, options)
    lines = chain(head, lines)
    if choice is None:
        yield from _iter_records(lines, path, options, note)
        return
    # The first line determines the names, so that a field has one meaning on all lines.
    id_key, text_key = choice.id_field or "", choice.text_fields[0]
    count = 0
    for line, record in iter_objects(lines, path):
        query_id, text = get_id(record, id_key, path, line), get_text(record, text_key, path, line)
        other_fields = {
            key: field
            for key, value in record.items()
            if key not in (id_key, text_key, *TOPICS_SCHEMA)
            and (field := as_field_text(value)) is not None
        }
        count += 1
        yield Topic(line, query_id, text, other_fields)
    if not choice.is_usual:
        note(describe("JSON Lines", choice, count))


def _plain_choice(head: list[bytes], options: TopicOptions) -> Choice | None:
    """Return the fields of the first line; the usual ones if it cannot be parsed."""
    text = head[-1].decode("utf-8", "replace").lstrip("\ufeff") if head else ""
    try:
        tree = parse_json(text)
    except TreeError:
        return Choice(LINE_ID_KEYS[0], TEXT_KEYS[:1], is_usual=True)
    if not isinstance(tree.root, Mapping):
        return Choice(LINE_ID_KEYS[0], TEXT_KEYS[:1], is_usual=True)
    return plain_choice(tree.root, tree.n_values, options)


def _iter_records(
    lines: Iterable[bytes], path: str, options: TopicOptions, note: Note
) -> Iterator[Topic]:
    """Read JSON Lines whose records contain several languages, turns, or parts of a text."""
    report = refuse(path)
    texts = decode_lines(lines, path)
    found, read_as = make_line_topics(texts, options, report)
    if read_as is not None:
        note(read_as)
    yield from found


def _refuse_unusable(topic: Topic, path: str) -> None:
    problem = id_problem(topic.query_id, "query")
    if problem:
        code = "T113" if topic.query_id.strip(" ") else "T105"
        remedy = "change the id: a run cannot contain it"
        raise FormatError(f"{problem} ({code})", path=path, line=topic.line, remedy=remedy)
    if not topic.text.strip():
        what = f"topic {shortened(topic.query_id)} has no text (T121)"
        remedy = "write the text, or remove the topic"
        line = topic.text_line or topic.line
        raise FormatError(what, path=path, line=line, remedy=remedy)


def _collect(topics: Iterable[Topic], path: str) -> pl.DataFrame:
    known: dict[str, Topic] = {}
    found: list[Topic] = []
    for topic in topics:
        _refuse_unusable(topic, path)
        first = known.setdefault(topic.query_id, topic)
        if first is topic:
            found.append(topic)
        elif first.text != topic.text:
            what = f"topic {shortened(topic.query_id)} has another text on line {first.line} (T112)"
            raise FormatError(what, path=path, line=topic.line, remedy="keep one of them")
    if not found:
        raise _no_topics(path)
    names = dict.fromkeys(name for topic in found for name in topic.other_fields)
    if len(names) > MAX_FIELDS:
        what = f"more than {MAX_FIELDS:,} different fields in {len(found):,} topics"
        raise FormatError(what, path=path, remedy="use the same few fields in every topic")
    columns = {
        "query_id": [topic.query_id for topic in found],
        "text": [topic.text for topic in found],
        **{name: [topic.other_fields.get(name) for topic in found] for name in names},
    }
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


def _no_topics(path: str) -> FormatError:
    remedy = "check that the program that wrote the file finished"
    return FormatError("no topics", path=path, remedy=remedy)
