"""Column files as tables: the rows as strings, the lines that are no rows, facts on all the rest.

Runs and qrels are read from here, and the validator reports from here, so nothing in this
module judges: any bytes have columns. Only LF ends a line (a CR before it belongs to the line's
end). Blanks separate fields as they do for trec_eval in the C locale: space and tab and, rare
enough to be a fact of its own, form feed and vertical tab. Every other character, NUL, bare CR,
U+0085, U+00A0 or U+2028 among them, is part of a field.
"""

from __future__ import annotations

import random
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.formats.columns.facts import FileFacts
from trectools_plus.formats.columns.lexer import BOM, CHUNK_BYTES, Lexer, OddLines
from trectools_plus.formats.files.source import Source

# One of these stands in for a bare CR while Polars, which trims CRs, splits the rows.
_STAND_INS = tuple(bytes((byte,)) for byte in (*range(1, 9), *range(14, 32)))


@dataclass(frozen=True, eq=False)
class Columns:
    """A lexed file. Made by :func:`scan_columns`, which never raises, whatever the bytes are.

    Every line is exactly one of: a row (``n_fields`` fields), misshapen (another number of
    fields), a comment (``#`` is its first byte; an indented ``#`` is data), blank (nothing but
    blanks). Line numbers are the file's own, from 1, with comments and blank lines counted.

    Attributes:
        source: What was lexed.
        n_fields: How many fields a row has.
        n_rows: How many rows there are.
        misshapen: ``line`` (UInt32), ``n_fields`` (UInt32: how many there are), ``text``
            (String: the line without its end), in file order.
        comments: ``line`` (UInt32), ``text`` (String: the line from its ``#`` on, without its
            end), in file order.
        facts: Line ends, encoding, spacing.
        repeated: Fields, by position from 0, that are known to be the same word in every row.
    """

    source: Source
    n_fields: int
    n_rows: int
    misshapen: pl.DataFrame
    comments: pl.DataFrame
    facts: FileFacts
    repeated: Mapping[int, str]
    _body: bytes = field(repr=False)
    _separator: bytes = field(repr=False)
    _row_lines: npt.NDArray[np.uint32] | None = field(repr=False)
    _texts: dict[int, pl.Series] = field(repr=False, default_factory=dict)

    @cached_property
    def lines(self) -> pl.Series:
        """The line number of each row: ``line`` (UInt32)."""
        numbers = self._row_lines
        if numbers is None:
            numbers = np.arange(1, self.n_rows + 1, dtype=np.uint32)
        return pl.Series("line", numbers)

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The rows in file order: ``line`` (UInt32), then Strings ``c1`` … ``c<n_fields>``.

        No field is empty or null. Where the file is not UTF-8, U+FFFD stands for what is not.
        Made on first use and kept; ask :meth:`typed` first where types will do.
        """
        schema = {f"c{n}": pl.String for n in range(1, self.n_fields + 1)}
        if b"\r" not in self._body:
            strings = self._split(self._body, schema)
        else:
            strings = self._split_around_cr(schema)
        return strings.insert_column(0, self.lines)

    def texts(self, number: int) -> pl.Series:
        """One field (from 1) of every row, as in :attr:`rows` but without the other fields."""
        if "rows" in self.__dict__ or b"\r" in self._body:
            return self.rows[f"c{number}"]
        if number not in self._texts:
            names = {f"c{n}": pl.String for n in range(1, self.n_fields + 1)}
            self._texts[number] = self._split(self._body, names, [f"c{number}"]).to_series()
        return self._texts[number]

    def typed(
        self,
        schema: Mapping[str, type[pl.DataType]],
        keep: Sequence[str] | None = None,
        *,
        compact: Container[str] = (),
    ) -> pl.DataFrame | None:
        """Parse the rows straight to types, in file order, without going through ``rows``.

        Faster and smaller. What Polars takes for a float is a little more than a run may hold
        (infinities, NaN), so look at the values.

        Args:
            schema: A name and a type for each of the ``n_fields`` fields.
            keep: Which of them to parse, in which order; all if not given.
            compact: Text columns to make an Enum of a single word if all rows are known to have
                the same. It costs no time, and a sixteenth of the memory.

        Returns:
            A frame with these columns; ``None`` when some field is not of its type (or
            holds a bare CR): then ``rows`` has the texts to find out which.
        """
        if b"\r" in self._body:
            return None
        names = list(schema if keep is None else keep)
        words = {
            name: self.repeated[at]
            for at, name in enumerate(schema)
            if name in compact and name in names and at in self.repeated and self.n_rows
        }
        parsed = [name for name in names if name not in words]
        try:
            frame = self._split(self._body, schema, parsed)
        except pl.exceptions.ComputeError:
            return None
        columns = {
            name: pl.repeat(word, self.n_rows, dtype=pl.Enum([word]), eager=True)
            for name, word in words.items()
        }
        return frame.with_columns(**columns).select(names) if columns else frame

    def first_row(self) -> list[str]:
        """The fields of the first row, of which there must be one."""
        return self._body[: self._body.index(b"\n")].decode().split(self._separator.decode())

    def line_text(self, line: int) -> str:
        """The text of one line (from 1), without its end; U+FFFD for what is not UTF-8.

        Looks for it from the start of the file: meant for messages, not for loops.
        """
        data = self.source.data
        start = len(BOM) if self.facts.has_bom else 0
        to_pass = line - 1
        while (passed := data.count(b"\n", start, start + CHUNK_BYTES)) < to_pass:
            start += CHUNK_BYTES
            to_pass -= passed
        for _ in range(to_pass):
            start = data.index(b"\n", start) + 1
        end = data.find(b"\n", start)
        text = data[start:] if end < 0 else data[start:end].removesuffix(b"\r")
        return text.decode("utf-8", "replace")

    def field_column(self, line: int, number: int) -> int:
        """The character column, from 1, at which a line's field starts; fields count from 1."""
        text = self.line_text(line)
        blank = " \t\v\f"
        starts = [
            at
            for at, character in enumerate(text)
            if character not in blank and (at == 0 or text[at - 1] in blank)
        ]
        return starts[number - 1] + 1

    def _split(
        self,
        body: bytes,
        schema: Mapping[str, type[pl.DataType]],
        keep: Sequence[str] | None = None,
    ) -> pl.DataFrame:
        names = list(schema if keep is None else keep)
        if not self.n_rows:
            return pl.DataFrame(schema={name: schema[name] for name in names})
        shield = _needs_shield(body)
        if shield:
            body = self._separator.join([b"0"] * self.n_fields) + b"\n" + body
        frame = pl.read_csv(
            body,
            has_header=False,
            separator=self._separator.decode(),
            quote_char=None,
            schema=dict(schema),
            columns=[at for at, name in enumerate(schema) if name in names],
        ).select(names)
        return frame.slice(1) if shield else frame

    def _split_around_cr(self, schema: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
        stand_in = next((byte for byte in _STAND_INS if byte not in self._body), b"")
        while not stand_in or stand_in in self._body:
            # Eight bytes in any order, each once: then no two of them can overlap.
            stand_in = b"".join(random.sample(_STAND_INS, 8))
        frame = self._split(self._body.replace(b"\r", stand_in), schema)
        return frame.with_columns(pl.all().str.replace_all(stand_in.decode(), "\r", literal=True))


def scan_columns(source: Source, n_fields: int) -> Columns:
    """Lex a file into rows of ``n_fields`` fields (at least 2) and everything that is none."""
    lexer = Lexer(source.data, n_fields, source.overlong)
    misshapen = _frame_of(lexer.misshapen)
    return Columns(
        source=source,
        n_fields=n_fields,
        n_rows=lexer.n_rows,
        misshapen=misshapen,
        comments=_frame_of(lexer.comments).drop("n_fields"),
        facts=lexer.facts,
        repeated=lexer.repeated,
        _body=lexer.body,
        _separator=lexer.separator,
        _row_lines=lexer.row_lines,
    )


def _frame_of(odd: OddLines) -> pl.DataFrame:
    empty = np.zeros(0, np.uint32)
    return pl.DataFrame(
        {
            "line": np.concatenate([empty, *odd.lines]),
            "n_fields": np.concatenate([empty, *odd.n_fields]),
            "text": pl.concat([pl.Series(dtype=pl.String), *odd.texts]),
        }
    )


def _needs_shield(body: bytes) -> bool:
    """Whether Polars might take the first bytes for a byte order mark or a compressed stream."""
    return not body[:2].isascii() or body[0] < 32 or body[1] in range(1, 9)
