"""A file while it is being fixed: its text, where each line came from, and what a validator sees.

Each step of a fix takes a draft and returns the next one. A step looks at its draft through the
same views as the rules do, so it decides on what a validator would see in a file of that text;
therefore a file that went through all steps gives none of them anything to do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO

import numpy as np
import polars as pl

from trectools_plus.formats.columns import scan_columns
from trectools_plus.formats.qrels import N_FIELDS as QRELS_FIELDS
from trectools_plus.formats.run import N_FIELDS as RUN_FIELDS
from trectools_plus.formats.source import Source
from trectools_plus.validation.fixes.changes import LineNumbers
from trectools_plus.validation.mendable import drops_header, ends_in_stray, strays
from trectools_plus.validation.order import Rows
from trectools_plus.validation.qrels_view import QrelsView
from trectools_plus.validation.run_view import RunView


@dataclass(frozen=True, eq=False)
class Draft:
    """A column file between two steps.

    Attributes:
        path: The file as the user named it.
        kind: ``run`` or ``qrels``.
        data: Its text.
        max_depth: Results allowed per query, for the view.
        origin: For each line of ``data``, its line in the input; ``None`` for 1, 2, 3, …
    """

    path: str
    kind: str
    data: bytes = field(repr=False)
    max_depth: int | None = None
    origin: LineNumbers | None = field(default=None, repr=False)

    @cached_property
    def view(self) -> RunView | QrelsView:
        """What a validator sees of this text."""
        source = Source(self.path, self.data)
        if self.kind == "run":
            return RunView.of_file(scan_columns(source, RUN_FIELDS), self.max_depth)
        return QrelsView.of_file(scan_columns(source, QRELS_FIELDS))

    @property
    def run(self) -> RunView:
        """The view of a run."""
        assert isinstance(self.view, RunView)
        return self.view

    @property
    def qrels(self) -> QrelsView:
        """The view of qrels."""
        assert isinstance(self.view, QrelsView)
        return self.view

    @cached_property
    def strays(self) -> pl.DataFrame:
        """``line, text`` of lines that are no rows and that no fix may drop."""
        return strays(self.view)

    @property
    def drops_header(self) -> bool:
        """Whether there is a header with a row below it: then it is a header, and goes."""
        return drops_header(self.view)

    @property
    def ends_in_stray(self) -> bool:
        """Whether the last line is a stray without line end: the file was cut off there."""
        return ends_in_stray(self.view, self.strays)

    @cached_property
    def separator(self) -> str:
        """What the output has between columns: tabs if the rows have nothing else."""
        columns = self.view.columns
        assert columns is not None
        return "\t" if columns.facts.tabbed_rows and not columns.facts.spaced_rows else " "

    @cached_property
    def fields(self) -> pl.DataFrame:
        """The rows as texts, ``c1`` …, without a header line."""
        columns, shape = self.view.columns, self.view.shape
        assert columns is not None
        rows = columns.rows.drop("line")
        # A file that is no run or qrels at all has no rows to a view.
        return rows.slice(int(shape.header_in_rows)) if self.view.n_rows else rows.clear()

    def with_fields(self, **columns: pl.Series) -> Draft:
        """The draft with other texts in some of its columns ``c1`` …."""
        return self.rewritten(self.fields.with_columns(**columns))

    def with_rows(self, rows: Rows) -> Draft:
        """The draft with these of its rows, in this order."""
        return self.rewritten(self.fields[rows], rows)

    def without_rows(self, dropped: Rows) -> Draft:
        """The draft without some of its rows."""
        kept = np.ones(self.view.n_rows, np.bool_)
        kept[dropped] = False
        return self.with_rows(np.flatnonzero(kept))

    def rewritten(
        self,
        fields: pl.DataFrame,
        rows: Rows | None = None,
        mended: pl.DataFrame | None = None,
    ) -> Draft:
        """The draft written anew: one blank between columns, LF, no comments, no blank lines.

        Args:
            fields: The rows as texts, one column each.
            rows: The row of this draft that each of them comes from; ``None`` for all in order.
            mended: ``line, text`` of strays, of this draft, that have become another text.
        """
        lines = self.view.line_numbers
        assert lines is not None
        lines = lines if rows is None else lines[rows]
        strays = self.strays
        if mended is not None:
            strays = strays.update(mended, on="line")
        if strays.is_empty():
            return self.replaced(_as_csv(fields, self.separator), lines)
        texts = fields.select(
            line=pl.Series(lines), text=pl.concat_str(fields.columns, separator=self.separator)
        )
        texts = pl.concat([texts, strays]).sort("line", maintain_order=True)
        data = _as_csv(texts.select("text"), self.separator)
        # The end of a file that was cut off in mid-line is not made to look whole.
        data = data.removesuffix(b"\n") if self.ends_in_stray else data
        return self.replaced(data, texts["line"].to_numpy())

    def replaced(self, data: bytes, lines: LineNumbers | None) -> Draft:
        """The draft with another text, whose lines come from these lines of this draft."""
        origin = self.origin
        if lines is not None:
            origin = lines if origin is None else origin[lines - np.uint32(1)]
        return Draft(self.path, self.kind, data, self.max_depth, origin)


def _as_csv(fields: pl.DataFrame, separator: str) -> bytes:
    # Fields hold neither blanks nor line ends, so nothing ever needs a quote.
    stream = BytesIO()
    fields.write_csv(stream, include_header=False, separator=separator, quote_style="never")
    return stream.getvalue()
