"""Read topics and test sets for the rules: TSV, JSON Lines, TREC's SGML and XML, YAML and JSON.

TSV is read as a whole, JSON Lines line by line, SGML and XML topic by topic, so that an invalid
topic does not hide the next one. Readers collect problems for the rules and raise no errors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import chain
from typing import Any, Literal, NoReturn

import polars as pl

from trectools_plus.formats.columns.columns import scan_columns
from trectools_plus.formats.columns.numbers import DECIMAL
from trectools_plus.formats.files.limits import Overlong
from trectools_plus.formats.files.source import Source
from trectools_plus.formats.interchange.delimited import Header
from trectools_plus.formats.interchange.tree import (
    find_topics_header,
    has_judgments,
    parse_cases,
)
from trectools_plus.formats.nodes.documents import Syntax, parse_document
from trectools_plus.formats.nodes.json import parse_json
from trectools_plus.formats.nodes.model import Mapping, TreeError
from trectools_plus.formats.nodes.model import describe as describe_node
from trectools_plus.formats.topic_records.fields import Choice, choose_fields
from trectools_plus.formats.topic_records.forms import LINE_FORMS, Form, form_of
from trectools_plus.formats.topic_records.lines import describe_lines, split_blank
from trectools_plus.formats.topic_records.model import (
    DEFAULTS,
    Report,
    Topic,
    TopicOptions,
    TopicProblem,
)
from trectools_plus.formats.topic_records.reading import (
    describe,
    find_topics,
    make_line_topics,
    make_topics,
    records_of_tree,
)
from trectools_plus.formats.topic_records.trees import plain_choice, records_of_line
from trectools_plus.formats.topic_schema import LINE_ID_KEYS, TEXT_KEYS, is_header
from trectools_plus.text import listed, quoted, visible
from trectools_plus.validation.registry import FixName, SeverityName
from trectools_plus.validation.topics.cases import read_test_set
from trectools_plus.validation.topics.fields import (
    Entry,
    no_text,
    read_id,
    read_text,
    report_constants,
    report_repeated_keys,
)
from trectools_plus.validation.topics.view import (
    ENTRIES_SCHEMA,
    Content,
    Problem,
    Problems,
    TopicsView,
)
from trectools_plus.validation.views.shape import Shape, has_only_bare_cr, wide_encoding

_N_FIELDS = 2
"""Id and text."""
_ANYTHING = re.compile(r"[^\s]")
_CONTENT: dict[Form, re.Pattern[str]] = {
    "tsv": re.compile(r"^(?!#[^\t\n]*$)[ \t\r\v\f]*[^\s]", re.MULTILINE),
    "yaml": re.compile(r"^[ \t\r]*[^#\s]", re.MULTILINE),
}
_ID_AND_TEXT = re.compile(r"""[ ]*([^\s,;:"'{}\[\]<>|]+)[ ]+([^ ].*)""")


# Separated only by blanks or only by tabs, because a query can be three words and a number.
_OTHER_KINDS = {
    kind: re.compile("|".join(pattern.replace(" ", blank) for blank in (" +", "\t+")))
    for kind, pattern in (
        ("a run", rf"\S+ (?:[Qq]?0) \S+ -?[0-9]+ {DECIMAL[1:-1]} \S+"),
        ("qrels", r"\S+ [0-9]+ \S+ -?[0-9]+"),
    )
}
_LINES_CHECKED = 100
"""Number of lines that are checked to recognise runs and qrels."""


def read_view(
    source: Source, form: Form | None = None, options: TopicOptions = DEFAULTS
) -> TopicsView:
    """Read topics or a test set from a file with any content.

    Args:
        source: The file.
        form: Its form, if known.
        options: The fields with id and text, and the language.
    """
    columns = scan_columns(source, _N_FIELDS)
    text = source.data.decode("utf-8", "replace").removeprefix("\ufeff")
    start = text if source.overlong is None else text + _head(source.overlong)
    form = form or form_of(source.path, start)
    by_blank = form == "blank"
    form = "tsv" if by_blank else form  # blanks for tabs are a finding, with a fix
    if wide_encoding(columns) is not None or has_only_bare_cr(columns):
        # A finding about the encoding or line ends explains all other problems.
        return TopicsView(columns, form, Content.empty(), Shape("not-text", first_line=1))
    if source.overlong is not None and form not in LINE_FORMS:
        return TopicsView(columns, form, Content.empty(), Shape(first_line=source.overlong.line))
    # F106 reports NUL bytes, so they must not stop the parser.
    text = text.replace("\0", "\ufffd")
    content = read_tsv(text, by_blank=True) if by_blank else _read(text, form, options)
    shape = Shape(first_line=_first_line(text, form, content))
    return TopicsView(columns, form, content, shape)


def _head(overlong: Overlong) -> str:
    return overlong.head.decode("utf-8", "replace")


def _read(text: str, form: Form, options: TopicOptions) -> Content:
    if form == "tsv":
        return read_tsv(text)
    if form == "jsonl":
        return JsonLines(options=options).read(text)
    if form == "json" or form == "yaml":
        return _read_tree(text, form, options)
    if form == "csv":
        header = find_topics_header(text)
        if header is not None and has_judgments(header.names):
            return _read_cases(text, header)
    return read_found(text, form, options)


def _read_cases(text: str, header: Header) -> Content:
    """Read a table of test cases."""
    try:
        return read_test_set(parse_cases(text, header))
    except TreeError as error:
        problems = Problems()
        remedy = _capitalised(error.remedy)
        problems.add("T104", Problem(error.line, error.what, error.column, remedy=remedy))
        return Content.empty(problems, "testset")


def _read_tree(text: str, form: Literal["json", "yaml"], options: TopicOptions) -> Content:
    problems = Problems()
    syntax: Syntax = form
    try:
        tree = parse_document(text, syntax)
    except TreeError as error:
        problems.add("T104", Problem(error.line, error.what, error.column))
        return Content.empty(problems, "testset")
    report = recorder(problems)
    records = records_of_tree(tree, syntax.upper(), options, report)
    if records is None:
        return read_test_set(tree)
    report_repeated_keys(tree, problems)
    report_constants(tree, problems)
    topics, read_as = make_topics(records, options, report)
    return content_of(topics, problems, read_as)


def _first_line(text: str, form: Form, content: Content) -> int | None:
    """Return the line on which the data begins; ``None`` for an empty file."""
    if content.entries.is_empty() and not content.problems:
        return None
    match = _CONTENT.get(form, _ANYTHING).search(text)
    return text.count("\n", 0, match.end()) + 1 if match else 1


def read_tsv(text: str, *, by_blank: bool = False) -> Content:
    """Read topics from TSV, without blank lines and comments.

    Args:
        text: The file, without byte order mark.
        by_blank: Whether blanks separate id and text, so that readers can split the lines.
    """
    problems = Problems()
    rows = _rows(text)
    kind = _other_kind(text)
    if kind is not None:
        what = f"the lines are not 'id TAB text'; this looks like {kind}"
        remedy = f"Use '{kind.split()[-1].removesuffix('s')}s validate' for it"
        problems.add("T101", Problem(rows["line"][0], what, remedy=remedy, fix="no"))
        return Content.empty(problems)
    rows = rows.filter(~_header(rows, problems))
    without_tab = rows.filter(pl.col("rest").is_null())
    parts = []
    for line, start in without_tab.select("line", "query_id").iter_rows():
        fix: FixName | None = None if with_tab(start) else "no"
        what = f"no tab between id and text in {quoted(start)}"
        split = split_blank(start) if by_blank else None
        if split is None:
            problems.add("T101", Problem(line, what, fix=fix))
        else:
            remedy = "trectools-plus reads it; for other tools, write id, tab, text on each line"
            problem = Problem(line, what, remedy=remedy, fix=fix, blocks_scoring=False)
            problems.add("T101", problem)
            parts.append((line, *split))
    if parts:
        rows = pl.DataFrame(parts, schema=rows.schema, orient="row")
    rows = rows.filter(pl.col("rest").is_not_null())
    extra = rows.filter(pl.col("rest").str.contains("\t", literal=True))
    for line, query_id, rest in extra.select("line", "query_id", "rest").iter_rows():
        what = "tab inside the text, read as a blank"
        column = len(query_id) + 2 + rest.index("\t")
        problems.add("T102", Problem(line, what, column, query_id))
    entries = rows.select(
        "line",
        "query_id",
        text=pl.col("rest").str.replace_all("\t", " ", literal=True).str.strip_chars(" "),
        text_line="line",
    )
    is_missing = pl.col("query_id").str.strip_chars(" ") == ""
    without_id = entries.filter(is_missing)
    for line, topic in without_id.select("line", "text").iter_rows():
        problems.add("T105", Problem(line, f"no id before {quoted(topic)}", 1))
    without_text = entries.filter(pl.col("text").str.strip_chars() == "")
    for line, query_id in without_text.select("line", "query_id").iter_rows():
        problems.add("T121", Problem(line, no_text(query_id), query_id=query_id))
    ids = pl.when(~is_missing).then("query_id").alias("query_id")
    read_as = describe_lines("blank", len(parts)) if parts else None
    entries = entries.with_columns(ids).cast(ENTRIES_SCHEMA)  # type: ignore[arg-type]
    return Content(entries, problems, read_as=read_as)


def _other_kind(text: str) -> str | None:
    """Return ``a run`` or ``qrels`` if every line is a row of such a file."""
    lines = [line.rstrip(" \t\r") for line in text.split("\n", _LINES_CHECKED)[:_LINES_CHECKED]]
    lines = [line for line in lines if line and not line.startswith("#")]
    for kind, row in _OTHER_KINDS.items():
        if lines and all(row.fullmatch(line) for line in lines):
            return kind
    return None


def with_tab(line: str) -> str | None:
    """Replace the first blanks of a line by a tab; ``None`` if the first word cannot be an id.

    Commas, semicolons and quotes in the first word indicate another separator.
    """
    match = _ID_AND_TEXT.fullmatch(line)
    return f"{match[1]}\t{match[2]}" if match else None


def _rows(text: str) -> pl.DataFrame:
    """Split lines at the first tab: ``line, query_id, rest``; ``rest`` is null without a tab."""
    lines = pl.Series("line_text", [text]).str.split("\n").explode().str.strip_suffix("\r")
    numbers = pl.int_range(1, lines.len() + 1, dtype=pl.UInt32, eager=True).alias("line")
    # Rules on files report blank lines and comments. A line with '#' and a tab is a topic whose
    # id cannot be written to a run.
    is_comment = lines.str.starts_with("#") & ~lines.str.contains("\t", literal=True)
    kept = lines.str.contains(r"[^ \t\x0b\x0c]") & ~is_comment
    frame = pl.DataFrame({"line": numbers, "line_text": lines}).filter(kept)
    parts = frame["line_text"].str.splitn("\t", 2).struct.unnest()
    return pl.DataFrame(
        {"line": frame["line"], "query_id": parts["field_0"], "rest": parts["field_1"]}
    )


def _header(rows: pl.DataFrame, problems: Problems) -> pl.Series:
    """Flag the header, and report it."""
    flags = pl.repeat(False, rows.height, eager=True)
    if rows.is_empty():
        return flags
    line, query_id, rest = rows.row(0)
    if rest is None or not is_header(query_id, rest):
        return flags
    shown = visible(f"{query_id} {rest}".replace("\t", " "))
    problems.add("T103", Problem(line, f"header line '{shown}'", 1))
    return pl.int_range(rows.height, eager=True) == 0


class _IrregularLineError(ValueError):
    """The fast parser cannot read a line completely."""


class _Integer(str):
    """An integer as it is written."""

    __slots__ = ()


class JsonLines:
    """Reads JSON Lines; the first line determines the names of the fields.

    The fast parser of the standard library reads regular lines. Other lines are parsed again, into
    a tree with the positions of values.

    Args:
        problems: Collects the problems; a new collection if not given.
        options: The fields with id and text, and the language.
    """

    def __init__(self, problems: Problems | None = None, options: TopicOptions = DEFAULTS) -> None:
        self._problems = Problems() if problems is None else problems
        self._options = options
        self._entries: list[tuple[int, str | None, str | None, int]] = []
        self._id_key = self._text_key = ""

    def read(self, text: str) -> Content:
        """Read topics.

        Args:
            text: The file, without byte order mark.
        """
        lines = (
            (number, line.removesuffix("\r"))
            for number, line in enumerate(text.split("\n"), 1)
            if line.strip(" \t\r\v\f")  # F108 reports blank lines
        )
        read_as = None
        for first in lines:
            choice = self._choose(first[1])
            if choice is not None and not choice.text_fields:
                found = make_line_topics(chain([first], lines), self._options, self._report())
                return content_of(found[0], self._problems, found[1])
            if choice is not None:
                self._id_key, self._text_key = choice.id_field or "", choice.text_fields[0]
                read_as = None if choice.is_usual else choice
            for number, line in chain([first], lines):
                self._read_line(number, line)
        entries = pl.DataFrame(self._entries, schema=ENTRIES_SCHEMA, orient="row")
        note = None if read_as is None else describe("JSON Lines", read_as, len(self._entries))
        return Content(entries, self._problems, read_as=note)

    def _report(self) -> Report:
        return recorder(self._problems)

    def _choose(self, line: str) -> Choice | None:
        """Return the fields of the first line: no text if its records are nested or joined.

        ``None`` if it has no known field for id or text.
        """
        try:
            tree = parse_json(line)
        except TreeError:
            return None
        if not isinstance(tree.root, Mapping):
            return None
        choice = plain_choice(tree.root, tree.n_values, self._options)
        if choice is not None:
            return choice
        records, _, _ = records_of_line(tree.root, tree.n_values, self._options)
        found = choose_fields(records, self._options)
        has_id = found.id_field is not None or any(one.query_id is not None for one in records)
        return Choice(None, (), is_usual=False) if found.text_fields and has_id else None

    def _read_line(self, number: int, line: str) -> None:
        try:
            record = _DECODER.decode(line)
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict) and self._id_key and self._text_key:
            query_id, text = record.get(self._id_key), record.get(self._text_key)
            # The slow parser reads surrogates and integers (of type _Integer).
            if type(query_id) is not str or type(text) is not str or "\\u" in line:
                self._read_slowly(number, line)
                return
            if query_id and text.strip():
                self._entries.append((number, query_id, text, number))
                return
        self._read_slowly(number, line)

    def _read_slowly(self, number: int, line: str) -> None:
        try:
            tree = parse_json(line, number)
        except TreeError as error:
            remedy = "Write one JSON object per line"
            self._problems.add("T104", Problem(error.line, error.what, error.column, remedy=remedy))
            return
        report_repeated_keys(tree, self._problems)
        report_constants(tree, self._problems)
        if not isinstance(tree.root, Mapping):
            what = f"expected a JSON object but got {describe_node(tree.root) if tree.root else ''}"
            self._problems.add("T104", Problem(number, what))
            return
        self._add(number, tree.root)

    def _add(self, number: int, record: Mapping) -> None:
        fields = {key.text: value for key, value in record.pairs.values()}
        if not self._id_key:
            self._id_key = next((key for key in LINE_ID_KEYS if key in fields), "")
        if not self._text_key:
            self._text_key = next((key for key in TEXT_KEYS if key in fields), "")
        entry = Entry(number)
        if self._id_key and self._id_key in fields:
            entry.query_id = read_id(fields[self._id_key], "id", entry, self._problems)
        else:
            self._missing(number, self._id_key, LINE_ID_KEYS, "id", fields)
        if self._text_key and self._text_key in fields:
            entry.text = read_text(fields[self._text_key], entry, self._problems)
        else:
            self._missing(number, self._text_key, TEXT_KEYS, "text", fields)
        self._entries.append(entry.as_row())

    def _missing(
        self, number: int, key: str, keys: tuple[str, ...], what: str, fields: dict[str, Any]
    ) -> None:
        seen = f" (fields: {listed(list(fields))})" if fields else ""
        wanted = quoted(key) if key else f"for the {what} ({', '.join(keys)})"
        remedy = "Give every line the same fields as the first" if key else None
        problem = Problem(number, f"field {wanted} is missing{seen}", remedy=remedy)
        self._problems.add("T105", problem)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise _IrregularLineError
    return record


def _reject_constant(_: str) -> NoReturn:
    raise _IrregularLineError


# Integers are not converted, because long ones are slow or exceed a limit of Python.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_constant=_reject_constant, parse_int=_Integer
)


def read_found(text: str, form: Form, options: TopicOptions = DEFAULTS) -> Content:
    """Read topics in markup, or in lines other than TSV and JSON Lines.

    Args:
        text: The file, without byte order mark.
        form: Its form.
        options: The fields with id and text, and the language.
    """
    problems = Problems()
    topics, read_as = find_topics(text, form, options, recorder(problems))
    return content_of(topics, problems, read_as)


def recorder(problems: Problems) -> Report:
    """Return a function that records the problems that the reader of topics reports."""

    def report(found: TopicProblem) -> None:
        severity: SeverityName | None = "warning" if found.is_warning else None
        remedy = _capitalised(found.remedy)
        problems.add(
            found.code,
            Problem(
                found.line,
                found.what,
                found.column,
                found.query_id,
                severity=severity,
                remedy=remedy,
                fix="no",
            ),
        )

    return report


def content_of(topics: Sequence[Topic], problems: Problems, read_as: str | None) -> Content:
    """Return the content of topics that were read; reports empty texts."""
    entries = []
    for topic in topics:
        text_line = topic.text_line or topic.line
        if not topic.text.strip():
            what = no_text(topic.query_id)
            problems.add("T121", Problem(text_line, what, query_id=topic.query_id))
        entries.append((topic.line, topic.query_id, topic.text, text_line))
    frame = pl.DataFrame(entries, schema=ENTRIES_SCHEMA, orient="row")
    return Content(frame, problems, read_as=read_as)


def _capitalised(text: str | None) -> str | None:
    return text and text[:1].upper() + text[1:]
