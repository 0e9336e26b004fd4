"""Topics, the queries of a collection: TSV, JSON Lines, TREC's SGML and XML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

from trectools_plus.errors import FormatError
from trectools_plus.formats.ids import id_problem, shortened
from trectools_plus.formats.jsonl import find_key, get_id, get_text, iter_objects
from trectools_plus.formats.lines import decode_lines, decode_text
from trectools_plus.formats.rows import refuse_unwritable, write_rows
from trectools_plus.formats.source import Source, read_source
from trectools_plus.formats.tables import TOPICS_SCHEMA, Topics
from trectools_plus.formats.trec_topics import Topic, iter_sgml, iter_xml

ID_KEYS = ("_id", "query_id", "qid", "id")
TEXT_KEYS = ("text", "query", "title")
MAX_FIELDS = 1000
"""Fields that topics may have all together; each becomes a column."""

# Field names of a header line, compared in lower case without "-", "_" and blanks.
_HEADER_IDS = frozenset({"queryid", "qid", "id", "topicid", "topic", "number"})
_HEADER_TEXTS = frozenset({"text", "query", "title", "topic", "querytext", "question"})


def read_topics(path: str | Path) -> Topics:
    """Read topics; what a file holds is told by its first characters, not by its name.

    - TSV: ``id TAB text``; further tabs belong to the text, as blanks. Lines that start with
      ``#`` and hold no tab are comments.
    - JSON Lines (``{``): an id (``_id``, ``query_id``, ``qid`` or ``id``) and a text (``text``,
      ``query`` or ``title``), the same names on every line; further text fields become columns.
    - TREC SGML (``<top>``): ``<num>`` and ``<title>``; the other fields become columns.
    - TREC XML (``<topic number=…>``): ``<query>`` or ``<title>``, or the element's own text.

    Args:
        path: The file, or ``-`` for standard input.

    Raises:
        InputError: If the file cannot be read.
        FormatError: If an entry is malformed, lacks its id or text, an id occurs twice or could
            not stand in a run, the text is no UTF-8, or there is no topic.
    """
    source = read_source(path)
    return _collect(_iter_topics(source), source.path)


def write_topics(topics: Topics, path: str | Path) -> None:
    """Write topics as TSV, ``id TAB text``, one a line; further columns are left out.

    White space within a text, line ends among it, becomes one blank. The file is there whole or
    not at all, and compressed as its suffix says.

    Raises:
        InputError: If there are no topics, an id could not stand in a run, or the file cannot
            be written.
    """
    refuse_unwritable(topics.frame, ("query_id",), "topics")
    one_line = pl.col("text").str.replace_all(r"[\s\p{Cc}]+", " ").str.strip_chars()
    write_rows(topics.frame.select("query_id", one_line), path, separator="\t")


def is_header(query_id: str, text: str) -> bool:
    """Whether two fields of a TSV row are names of columns rather than an id and a text."""
    return _squeeze(query_id) in _HEADER_IDS and _squeeze(text) in _HEADER_TEXTS


def _iter_topics(source: Source) -> Iterator[Topic]:
    start = source.data[:4096].decode("utf-8", "ignore").lstrip("\ufeff \t\r\n")
    if start.startswith("{"):
        return _iter_jsonl(source)
    if not start.startswith("<"):
        return _iter_tsv(source)
    text = decode_text(source.data, source.path).removeprefix("\ufeff")
    if re.search("<top>", text, re.IGNORECASE):
        return iter_sgml(text, source.path)
    if re.search(r"<topic\b", text, re.IGNORECASE):
        return iter_xml(text.encode(), source.path)
    raise FormatError(
        "expected <top> or <topic> elements but got none",
        path=source.path,
        remedy="give topics as TSV, JSON Lines, TREC SGML or TREC XML",
    )


def _iter_tsv(source: Source) -> Iterator[Topic]:
    path = source.path
    for line, text in decode_lines(source.lines(), path):
        query_id, tab, rest = text.partition("\t")
        if not tab and text.startswith("#"):
            continue  # a comment, as in runs and qrels
        if not tab:
            raise FormatError(
                "no tab between id and text", path=path, line=line, remedy="write id TAB text"
            )
        if line == 1 and is_header(query_id, rest):
            raise FormatError("header line", path=path, line=line, remedy="remove it")
        yield Topic(line, query_id.strip(" "), rest.replace("\t", " ").strip(" "))


def _iter_jsonl(source: Source) -> Iterator[Topic]:
    path = source.path
    id_key = text_key = ""
    for line, record in iter_objects(source.lines(), path):
        # The first line decides, so that no line can slip in another meaning.
        id_key = id_key or find_key(record, ID_KEYS, "query id", path, line)
        text_key = text_key or find_key(record, TEXT_KEYS, "text", path, line)
        query_id, text = get_id(record, id_key, path, line), get_text(record, text_key, path, line)
        further = {
            key: value
            for key, value in record.items()
            if isinstance(value, str) and key not in (id_key, text_key, *TOPICS_SCHEMA)
        }
        yield Topic(line, query_id, text, further)


def _collect(topics: Iterable[Topic], path: str) -> Topics:
    lines: dict[str, int] = {}
    found: list[Topic] = []
    for topic in topics:
        problem = id_problem(topic.query_id, "query")
        if problem:
            remedy = "such an id cannot stand in a run; change it"
            raise FormatError(problem, path=path, line=topic.line, remedy=remedy)
        first = lines.setdefault(topic.query_id, topic.line)
        if first != topic.line:
            what = f"topic {shortened(topic.query_id)} is already on line {first}"
            raise FormatError(what, path=path, line=topic.line, remedy="keep one of them")
        found.append(topic)
    if not found:
        raise FormatError("no topics", path=path, remedy="was the job stopped before writing?")
    names = dict.fromkeys(name for topic in found for name in topic.further)
    if len(names) > MAX_FIELDS:
        what = f"more than {MAX_FIELDS:,} different fields in {len(found):,} topics"
        raise FormatError(what, path=path, remedy="give every topic the same few fields")
    columns = {
        "query_id": [topic.query_id for topic in found],
        "text": [topic.text for topic in found],
        **{name: [topic.further.get(name) for topic in found] for name in names},
    }
    return Topics(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)), path)


def _squeeze(name: str) -> str:
    return re.sub(r"[-_\s]", "", name).lower()
