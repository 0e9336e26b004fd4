"""Column files as tables: the rows as strings, all other lines, and facts about the file.

Readers and validators both use this module, so it refuses no file: any bytes can be split into
columns. Only LF ends a line; a CR before it belongs to the line end. As in trec_eval in the C
locale, fields are separated by spaces, tabs, form feeds and vertical tabs; the last two are
reported as facts. These four characters are called blanks. Every other character is part of a
field, including NUL, bare CR, U+0085, U+00A0 and U+2028.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trectools_plus.formats.columns.facts import FileFacts
from trectools_plus.formats.columns.fields import Fields, iter_fields
from trectools_plus.formats.columns.lexer import CHUNK_BYTES, Lexer
from trectools_plus.formats.columns.odd_lines import OddLines
from trectools_plus.formats.columns.words import Ids, Rows
from trectools_plus.formats.files.content import BOM
from trectools_plus.formats.files.source import Source

if TYPE_CHECKING:
    import polars as pl

    from trectools_plus.formats.interchange.systems import Systems


@dataclass(frozen=True, slots=True)
class Origin:
    """The layout of a file whose values were arranged as the columns of a run or of qrels.

    Attributes:
        format: The name of the format, for example "CSV".
        header: Line number and text of the header line, if there is one.
        required: The names of the values that each row must have, as in the file.
        notes: What the arrangement added, one clause each.
        left_out: The names of the columns that are not used.
        places: The position in the file, from 0, of a field (from 1).
        split: Splits a line of the file into its values; ``None`` if rows are not lines.
        column_of: Returns the column in characters, from 1, of a position in a line.
        has_lines: False if the lines of the rows are unknown.
        systems: The column that names the system of each row, or in qrels the type of judgment, if
            there are several.
    """

    format: str
    header: tuple[int, str] | None = None
    required: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    places: Mapping[int, int] = field(default_factory=dict)
    split: Callable[[str], list[str]] | None = None
    column_of: Callable[[str, int], int] | None = None
    has_lines: bool = True
    systems: Systems | None = None

    @property
    def n_values(self) -> int:
        """The number of values that each row must have."""
        return len(self.required)


@dataclass(frozen=True, eq=False)
class Columns:
    """A file split into columns by :func:`scan_columns`, which accepts any bytes.

    Every line has exactly one kind: a row (``n_fields`` fields), misshapen (another number of
    fields), a comment (its first byte is ``#``; an indented ``#`` is data), or blank. Line numbers
    count all lines of the file from 1, including comments and blank lines.

    Attributes:
        source: The content of the file.
        n_fields: The number of fields of a row.
        n_rows: The number of rows.
        misshapen: Lines with another number of fields.
        comments: Lines that begin with ``#``.
        facts: Line ends, encoding, spacing.
        origin: The layout of a file in another form; ``None`` for a file in TREC form.
        systems: The rows of each system, if a column names several; empty for a single run.
    """

    source: Source
    n_fields: int
    n_rows: int
    misshapen: OddLines
    comments: OddLines
    facts: FileFacts
    _body: bytes = field(repr=False)
    _separator: bytes = field(repr=False)
    _row_lines: npt.NDArray[np.uint32] | None = field(repr=False)
    origin: Origin | None = None
    systems: Mapping[str, Columns] = field(default_factory=dict)

    def without_rows(self, *, keep_content: bool) -> Columns:
        """Return the same without the fields of the rows and, unless kept, without the content."""
        source = self.source if keep_content else replace(self.source, data=b"")
        return replace(self, source=source, _body=b"")

    @classmethod
    def joined(cls, parts: Sequence[Columns]) -> Columns:
        """Return the columns of some parts of a file, :meth:`without_rows`.

        The content is that of the first part, with which the file begins.
        """
        facts = FileFacts.joined([part.facts for part in parts])
        n_lines = (part.facts.n_lines for part in parts[:-1])
        lines_before = list(accumulate(n_lines, initial=0))
        n_rows = sum(part.n_rows for part in parts)
        row_lines = None
        if n_rows < facts.n_lines:
            moved = zip(parts, lines_before, strict=True)
            row_lines = np.concatenate([part.lines + np.uint32(before) for part, before in moved])
        return replace(
            parts[0],
            n_rows=n_rows,
            misshapen=OddLines.joined([part.misshapen for part in parts], lines_before),
            comments=OddLines.joined([part.comments for part in parts], lines_before),
            facts=facts,
            _row_lines=row_lines,
        )

    @cached_property
    def lines(self) -> npt.NDArray[np.uint32]:
        """The line number of each row."""
        numbers = self._row_lines
        return np.arange(1, self.n_rows + 1, dtype=np.uint32) if numbers is None else numbers

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The rows in file order: ``line`` (UInt32), then Strings ``c1`` … ``c<n_fields>``.

        No field is empty or null. U+FFFD replaces bytes that are not UTF-8.
        """
        import polars as pl

        parts = list(self.fields())
        texts = {
            f"c{number}": Ids.joined([part.ids(number) for part in parts]).series()
            for number in range(1, self.n_fields + 1)
        }
        return pl.DataFrame({"line": self.lines, **texts})

    def texts(self, number: int, rows: Rows) -> list[str]:
        """Return one field (from 1) of some rows, in any order."""
        order = np.argsort(rows, kind="stable")
        texts, done, n_before = [""] * len(rows), 0, 0
        for part in self.fields():
            end = int(np.searchsorted(rows, n_before + part.n_rows, sorter=order))
            found = part.texts(number, rows[order[done:end]] - n_before)
            for at, text in zip(order[done:end].tolist(), found, strict=True):
                texts[at] = text
            done, n_before = end, n_before + part.n_rows
        return texts

    def fields(self) -> Iterator[Fields]:
        """Yield the places of the fields of all rows, some rows at a time."""
        return iter_fields(self._body, self.n_fields, self._separator)

    def line_text(self, line: int) -> str:
        """Return the text of a line (from 1) without its end; U+FFFD replaces invalid bytes.

        The search begins at the start of the file: use it for messages, not in loops.
        """
        data = self.source.data
        start = len(BOM) if self.facts.has_bom else 0
        n_to_skip = line - 1
        while (n_lines := data.count(b"\n", start, start + CHUNK_BYTES)) < n_to_skip:
            start += CHUNK_BYTES
            n_to_skip -= n_lines
        for _ in range(n_to_skip):
            start = data.index(b"\n", start) + 1
        end = data.find(b"\n", start)
        text = data[start:] if end < 0 else data[start:end].removesuffix(b"\r")
        return text.decode("utf-8", "replace")

    def field_column(self, line: int, number: int) -> int:
        """Return the column in characters, from 1, at which a field of a line starts."""
        text = self.line_text(line)
        if self.origin is not None:
            return self.column_in(text, number) or 1
        blank = " \t\v\f"
        starts = [
            at
            for at, character in enumerate(text)
            if character not in blank and (at == 0 or text[at - 1] in blank)
        ]
        return starts[number - 1] + 1

    def column_in(self, text: str, number: int) -> int | None:
        """Return the column of a field in a line of a file in another form, if it is known."""
        assert self.origin is not None
        place = self.origin.places.get(number)
        if place is None or self.origin.column_of is None:
            return None
        return self.origin.column_of(text, place)


def scan_columns(source: Source, n_fields: int) -> Columns:
    """Split a file into rows of ``n_fields`` fields (at least 2) and all other lines."""
    lexer = Lexer(source.data, n_fields, source.overlong)
    return Columns(
        source=source,
        n_fields=n_fields,
        n_rows=lexer.n_rows,
        misshapen=lexer.misshapen.finish(),
        comments=lexer.comments.finish(),
        facts=lexer.facts,
        _body=lexer.body,
        _separator=lexer.separator,
        _row_lines=lexer.row_lines,
    )
