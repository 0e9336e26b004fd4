"""The base class of views of runs and qrels, with access to the lines of the file.

A view is made from a lexed file or from a table in memory. Both have the same interface, but a
table has no line numbers. Work that several rules share (numbering the queries, sorting, parsing
numbers) is done once, on first use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from trectools_plus.formats.columns.columns import NO_ODD_LINES, Columns, OddLines
from trectools_plus.formats.columns.decimals import DECIMAL, INTEGER
from trectools_plus.formats.columns.ids import Rows
from trectools_plus.formats.columns.rows import QRELS_FIELDS, RUN_FIELDS, QrelsRows, RunRows
from trectools_plus.formats.files.content import FileContent
from trectools_plus.formats.interchange.names import KINDS
from trectools_plus.validation.views.places import (
    NO_PAIRS,
    Found,
    LineNumber,
    Lines,
    Pairs,
    Places,
    Value,
    find_repeats,
)

if TYPE_CHECKING:
    import polars as pl


SNIFFED_BYTES = 4096
NOT_FINITE = r"(?i)^[+-]?(?:nan|inf|infinity)$"


_SEPARATORS = {",": "comma-separated", ";": "semicolon-separated", "|": "pipe-separated"}


_WORD = re.compile(r"(?!(?i:nan|inf|infinity)$)[A-Za-z_][A-Za-z_.#-]*")
"""A name of a column in place of a number."""
_GRADE_NAME = re.compile(
    r"(?i)(?:[a-z_]+[_-])?(?:q?rel|relevanc[ey]|label|grade|judge?ment|rating)"
)


def with_shape(columns: Columns, kind: str) -> Columns:
    """Return a file that should be a run, or qrels, with its shape."""
    rows, others = columns.lines[:1].tolist(), columns.misshapen.line[:1].tolist()
    starts = filter(None, (*rows, *others, columns.stopped_at))
    columns = replace(columns, first_line=min(starts, default=None))
    if has_wide_encoding(columns) or has_only_bare_cr(columns):
        return replace(columns, verdict="not-text", header=None)
    if columns.origin is not None:
        first_line = columns.first_line and (columns.first_line if columns.header else 1)
        return replace(columns, verdict="arranged", first_line=first_line)
    other = other_format(columns.source.head, columns.n_rows)
    if other is not None and (kind == "run" or other == "JSON"):
        return replace(columns, verdict="other-format", format=other)
    lines, other_kind = columns.misshapen, "qrels" if kind == "run" else "run"
    if not columns.n_rows and len(lines) and all(is_row(text, other_kind) for text in lines.text):
        return replace(columns, verdict="wrong-kind")
    return _with_header(columns, kind)


def is_row(text: str, kind: str) -> bool:
    """Return whether a line is a row of a run, with Q0 or 0 in column 2, or of qrels."""
    fields = fields_of(text)
    if kind == "run":
        is_result = len(fields) == RUN_FIELDS and fields[1].upper() in ("Q0", "0")
        return is_result and re.match(DECIMAL, fields[4]) is not None
    return len(fields) == QRELS_FIELDS and re.match(INTEGER, fields[3]) is not None


def other_format(data: bytes, n_rows: int) -> str | None:
    """Return the name of a file's format, if its first 4 KiB are clearly not columns.

    Args:
        data: The content of the file, or its beginning.
        n_rows: Number of rows with the right number of columns. If there are any, ids may start
            with a bracket.
    """
    head = data[:SNIFFED_BYTES].decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    lines = [line for line in head.splitlines() if line.strip()][:20]
    if not lines:
        return None
    if head.startswith('{"') or (not n_rows and re.match(r'[{\[]\s*(?:["\[{}\]]|-?\d|$)', head)):
        return "JSON"
    if not n_rows and re.match(r"<[!?a-zA-Z]", head):
        return "HTML or XML"
    if all(len(field) > 1 and field[0] == field[-1] == '"' for field in lines[0].split()):
        return "quoted fields"
    for separator, name in _SEPARATORS.items():
        rows = [line.split(separator) for line in lines[:-1] or lines]
        if all(len(row) > 2 and all(len(part.split()) == 1 for part in row) for row in rows):
            return name
    return None


def has_wide_encoding(file: Columns) -> bool:
    """Return whether the bytes seem to be UTF-16 or UTF-32."""
    return (file.encoding_guess or "").startswith("utf-")


def has_only_bare_cr(file: Columns) -> bool:
    """Return whether all line ends are CR, as in old Macintosh files."""
    return len(file.bare_cr) > 0 and file.n_lf + file.n_crlf == 0


def fields_of(text: str) -> list[str]:
    """Split a line at ASCII white space only, unlike ``str.split()``."""
    return re.findall(r"[^ \t\x0b\x0c\r]+", text)


def _with_header(columns: Columns, kind: str) -> Columns:
    """Return a file of the right kind with its header line, if there is one.

    The first line is a header if it has words in place of numbers, and a valid row follows. The
    header of qrels may repeat the constant of column 2, as in ``qid Q0 docid rel``.
    """
    first_line = columns.first_line
    in_rows = columns.n_rows > 0 and bool(columns.lines[0] == first_line)
    if first_line is None or columns.n_rows < 1 + in_rows:
        return columns
    text = columns.line_text(first_line)
    fields = fields_of(text)
    names = [field for field in fields if field.upper() != "Q0"]
    if in_rows and kind == "run":
        names = [fields[0], *fields[3:5]]
    elif in_rows:
        is_constant = _GRADE_NAME.fullmatch(fields[-1]) and fields[1].upper() in ("Q0", "0")
        names = [fields[0], *fields[2 if is_constant else 1 :]]
    last_number = 5 if kind == "run" else 4
    following = columns.field_of_line(int(columns.lines[int(in_rows)]), last_number)
    if not all(map(_WORD.fullmatch, names)) or re.match(DECIMAL, following) is None:
        return columns
    return replace(columns, header=(first_line, text), header_in_rows=in_rows)


Numbers = npt.NDArray[np.float64]
_NO_FILE = Columns(FileContent("", b""), 0)


class TableView:
    """The base class of views.

    Args:
        path: The file as the user named it, or a name for the table.
        rows: The data rows of a run or qrels, without a header line.
        columns: The lexed file; ``None`` for a table.

    Attributes:
        kind: ``run``, ``qrels``, ``topics`` or ``testset``.
        file: The lexed file; one without lines for a table.
        origin: The layout of a file in another form; ``None`` for a table and a file in TREC form.
        systems: The column of a table that may name several systems or types of judgment.
        blocks: The rows, as blocks of adjacent rows with the same query.
        doc_ids: The document of each row.
        query_ids: The distinct query ids, in the order of their first rows.
        n_rows, n_queries: The number of rows, and of distinct query ids.
        frame: One row per data row: ``query_id``, ``doc_id`` and further columns of the kind.
        every_line: True if findings contain the lines of all places, not only the first few.
        optional_rules: True if rules that are off by default are run too.
        is_line_based: True if each line is a record, so blank and very long lines are reported.
        has_comments: True if a line that begins with '#' is a comment, which is reported.
        answers: If the file was read in chunks: the places that break the rules, by code and
            number of the case. Of the rows, only the queries are then known.
        read_as: The fields of topics that were read, if they are not the usual ones.
        other_query_ids: Query ids of the file that this one is scored with, if known. A line with
            one of them is not a header.
    """

    kind: str
    frame: pl.DataFrame
    every_line: bool = False
    optional_rules: bool = False
    is_line_based: bool = True
    has_comments: bool = True
    answers: Mapping[tuple[str, int], Places] | None = None
    read_as: str | None = None
    other_query_ids: frozenset[str] = frozenset()

    def __init__(
        self,
        path: str,
        rows: RunRows | QrelsRows,
        columns: Columns | None = None,
    ) -> None:
        self.path, self.columns, self.rows = path, columns, rows
        self.blocks, self.doc_ids = rows, rows.doc_ids
        self.query_ids, self.n_rows = rows.query_ids, rows.n_rows
        self.n_queries = len(self.query_ids)
        self.file = _NO_FILE if columns is None else columns
        self.origin = self.file.origin
        self.systems = self.origin.systems if self.origin else None

    @classmethod
    def of_file(cls, columns: Columns, *, is_start: bool = True) -> Self:
        """Return the view of a lexed run, or of lexed qrels, valid or not.

        Args:
            columns: The file, or a chunk of one.
            is_start: Whether ``columns`` have the start of the file, which shows its shape.
        """
        rows, file = ROWS[cls.kind], with_shape(columns, cls.kind) if is_start else columns
        return cls(file.source.path, rows.of(file) if file.has_rows else rows.none(), file)

    @property
    def layout(self) -> str:
        """The names of the values that each row must have, for messages."""
        return " ".join(self.origin.required if self.origin else KINDS[self.kind].columns)

    @property
    def form_notes(self) -> str:
        """The notes on the reading of a file in another form, for messages."""
        return "; ".join(["", *self.origin.notes]) if self.origin else ""

    @property
    def name(self) -> str:
        """The file's name without its folders, for messages."""
        return Path(self.path).name or self.path

    @property
    def conversion(self) -> str:
        """The command that converts the file, for messages."""
        return f"trectools-plus {self.kind.rstrip('s')}s convert {quote(self.path)}"

    @property
    def named(self) -> Mapping[str, str]:
        """The column of each field, as ``--columns`` names it, for messages."""
        fields = KINDS[self.kind].columns
        names = self.origin.columns if self.origin else dict(zip(fields, "123456", strict=False))
        return {field: quote(names.get(field, field)) for field in fields}

    @property
    def misshapen(self) -> OddLines:
        """Rows with a wrong number of columns; empty if the shape of the file explains them."""
        if not self.file.has_rows:
            return NO_ODD_LINES
        lines, header = self.file.misshapen, self.file.header
        return lines if header is None else lines.filter(lines.line != header[0])

    @cached_property
    def commented_out_rows(self) -> OddLines:
        """Comment lines that would be rows if '#' did not begin a comment."""
        comments = self.file.comments
        if self.kind == "testset":
            return NO_ODD_LINES
        if self.origin:
            return comments.filter(comments.n_fields > 0)
        if self.kind == "topics":
            return comments.filter(["\t" in text for text in comments.text])
        return comments.filter([is_row(text.lstrip("#"), self.kind) for text in comments.text])

    @cached_property
    def repeats(self) -> Pairs:
        """Rows whose (query, document) occurred before, and its first row, if ids are known."""
        # Bytes that are not UTF-8 are read as U+FFFD, which makes ids equal.
        if self.file.bad_utf8 is not None:
            return NO_PAIRS
        return find_repeats(self.blocks.query, self.doc_ids)

    @cached_property
    def line_numbers(self) -> npt.NDArray[np.uint32] | None:
        """The line number in the file of each row; ``None`` for a table or if it is unknown."""
        if self.columns is None or (self.origin and not self.origin.has_lines):
            return None
        return self.columns.lines[int(self.file.header_in_rows) :]

    def places(self, found: Found, column: int | None = None) -> Places:
        """Return what a test found as places.

        Args:
            found: The result of the test.
            column: The field (from 1) whose column is reported.
        """
        if isinstance(found, Places):
            return found
        if isinstance(found, int | np.integer):
            return Places(int(found))
        if not len(found):
            return Places()
        if isinstance(found, OddLines):
            shown: dict[str, Value] = {"n_fields": int(found.n_fields[0]), "text": found.text[0]}
            has_lines = self.origin is None or self.origin.has_lines
            return Places(len(found), found.line if has_lines else (), first=shown)
        if not isinstance(found, np.ndarray | Pairs):
            first = found.row(0, named=True)
            shown = {name: "" if value is None else value for name, value in first.items()}
            ids = first.get("query_id"), first.get("doc_id")
            return Places(len(found), found["line"].to_list(), None, *ids, shown)
        rows = found.rows if isinstance(found, Pairs) else found
        if rows.dtype == np.bool_:
            return self.places(np.flatnonzero(rows), column)
        at = int(rows.argmin())
        row, numbers, place = int(rows[at]), self.line_numbers, None
        if column and self.columns and numbers is not None:
            place = self.columns.column_of_field(int(numbers[row]), column)
        shown = self.fields_of(row)
        if isinstance(found, Pairs):
            other = self.fields_of(int(found.others[at]))
            shown |= {f"other_{name}": value for name, value in other.items()}
        return Places(
            len(rows),
            self.lines(np.sort(rows)),
            place,
            None if column in _OF_ALL_QUERIES else self.blocks.query_id(row),
            self.doc_ids.text(row) if column in _OF_DOCUMENTS else None,
            shown,
        )

    def lines(self, rows: Rows | Sequence[int]) -> Lines:
        """Return the line numbers of some rows; none for a table."""
        return () if self.line_numbers is None else self.line_numbers[rows]

    def lines_of_queries(self, query_ids: Sequence[str]) -> Lines:
        """Return the first line of each of some queries."""
        return self.lines(self.blocks.first_rows[self.numbers_of(query_ids)])

    def numbers_of(self, query_ids: Iterable[str]) -> Rows:
        """Return the numbers of queries of a file; -1 for those that it does not have."""
        return np.array([self._numbers.get(query_id, -1) for query_id in query_ids], np.int64)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {query_id: number for number, query_id in enumerate(self.query_ids)}

    def fields_of(self, row: int) -> dict[str, Value]:
        """Return the fields of a row by name, and its place."""
        ids = {"query_id": self.blocks.query_id(row), "doc_id": self.doc_ids.text(row)}
        values: dict[str, Value] = {**ids, "place": f"row {row + 1}"}
        if self.line_numbers is not None:
            values["place"] = LineNumber(self.line_numbers[row])
        if self.columns is None:
            return values | self.values_of(row)
        for field, name in enumerate(KINDS[self.kind].columns, 1):
            values[name] = self.texts(field, np.array([row]))[0]
        return values

    def values_of(self, row: int) -> dict[str, Value]:
        """Return the further fields of a row of a table."""
        raise NotImplementedError

    def texts(self, field: int, rows: Rows) -> list[str]:
        """Return a field (from 1) of some rows of a file as strings."""
        if len(rows) > _FEW_ROWS or self.origin or self.line_numbers is None:
            return self.file.texts(field, rows + int(self.file.header_in_rows))
        return [self.file.field_of_line(int(line), field) for line in self.line_numbers[rows]]


ROWS: dict[str, type[RunRows | QrelsRows]] = {"run": RunRows, "qrels": QrelsRows}
"""The types of rows, by kind."""
_FEW_ROWS = 1000
_OF_ALL_QUERIES, _OF_DOCUMENTS = (2, 6), (3, 4, 5)
"""Columns whose problems do not concern a query, and those that concern a document."""
