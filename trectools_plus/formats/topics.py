"""Topics, the queries of a collection, in the formats of TREC and others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.files.content import read_file
from trectools_plus.formats.ir_datasets import is_catalogue_name, open_catalogue
from trectools_plus.formats.tables import Topics
from trectools_plus.formats.topic_records.forms import form_of, read_text
from trectools_plus.formats.topic_records.model import (
    DEFAULTS,
    Report,
    Topic,
    TopicOptions,
    TopicProblem,
    refuse,
    report_empty_text,
)
from trectools_plus.formats.writing import id_problem, refuse_unwritable, write_rows
from trectools_plus.text import shortened

MAX_FIELDS = 1000
"""The greatest number of different fields in a file; each becomes a column."""
_BARE_CR = re.compile(r"\r(?!\n|\Z)")
"""CR alone, which some tools read as a line end and others as white space."""


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
        return open_catalogue(str(path)).read_topics()
    source = read_file(path)
    text, notes, report = source.text, list[str](), refuse(source.path)
    if bare := _BARE_CR.search(text):
        raise FormatError(
            "CR without LF (F105)",
            path=source.path,
            line=text.count("\n", 0, bare.start()) + 1,
            column=bare.start() - text.rfind("\n", 0, bare.start()),
            remedy="convert the line ends to LF: topics validate FILE --fix OUT",
        )
    form = form_of(source.path, text)
    table = _collect(read_text(text, form, options, report, notes.append), source.path, report)
    return Topics(table, source.path, notes[0] if notes else None)


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


def _collect(topics: Iterable[Topic], path: str, report: Report) -> pl.DataFrame:
    known: dict[str, Topic] = {}
    for topic in topics:
        query_id = topic.query_id or ""
        if problem := id_problem(query_id, "query"):
            code = "T113" if query_id.strip(" ") else "T105"
            remedy = "Change the id: a run cannot contain it"
            report(TopicProblem(code, topic.line, problem, remedy=remedy))
        report_empty_text(topic, report)
        first = known.setdefault(query_id, topic)
        if first.text != topic.text:
            what = f"topic {shortened(query_id)} has another text on line {first.line}"
            report(TopicProblem("T112", topic.line, what, remedy="Keep one of them"))
    if not known:
        remedy = "check that the program that wrote the file finished"
        raise FormatError("no topics", path=path, remedy=remedy)
    names = dict.fromkeys(name for topic in known.values() for name in topic.other_fields)
    if len(names) > MAX_FIELDS:
        what = f"more than {MAX_FIELDS:,} different fields in {len(known):,} topics"
        raise FormatError(what, path=path, remedy="use the same few fields in every topic")
    columns = {"query_id": list(known), "text": [topic.text or "" for topic in known.values()]} | {
        name: [topic.other_fields.get(name) for topic in known.values()] for name in names
    }
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
