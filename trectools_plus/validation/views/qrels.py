"""The view of qrels."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import polars as pl

from trectools_plus.formats.columns.columns import Columns
from trectools_plus.formats.columns.numbers import INTEGER, INTEGRAL
from trectools_plus.formats.tables import Qrels
from trectools_plus.validation.views.shape import Shape, shape_of_qrels
from trectools_plus.validation.views.tables import NO_REPEATS, Numbers, TableView, texts_of


class QrelsView(TableView):
    """Qrels in the form that the rules check.

    Attributes:
        grade: Grade of each row (float64); NaN if it is not a whole number (``1.0`` is one).
            Numbers of more than 53 bits are rounded, which does not affect the rules.
    """

    kind = "qrels"

    def __init__(
        self, path: str, columns: Columns | None, shape: Shape, frame: pl.DataFrame
    ) -> None:
        super().__init__(path, columns, shape)
        self.frame = frame
        self.grade: Numbers = frame["relevance"].cast(pl.Float64).to_numpy()

    @classmethod
    def of_file(cls, columns: Columns) -> QrelsView:
        """Return the view of a lexed file, valid or not."""
        shape = shape_of_qrels(columns)
        frame = None if shape.header_in_rows else columns.typed(_QRELS_TYPES)
        if frame is None:
            frame = _parse_qrels(texts_of(columns, _QRELS_TYPES)[int(shape.header_in_rows) :])
        if not shape.has_rows:
            frame = frame.clear()
        return cls(columns.source.path, columns, shape, frame)

    @classmethod
    def of_table(cls, qrels: Qrels) -> QrelsView:
        """Return the view of qrels in memory."""
        return cls(qrels.path or "qrels", None, Shape(), qrels.frame)

    @property
    def grades_are_integers(self) -> bool:
        """Return whether all grades are written as integers that fit in 64 bits."""
        return self.frame["relevance"].dtype.is_integer()

    @cached_property
    def documents_in_column_2(self) -> bool:
        """Return whether columns 2 and 3 are swapped: one value in column 3, ids in column 2."""
        if self.columns is None or self.n_rows < 2:
            return False
        second, third = self.frame["iteration"], self.frame["doc_id"]
        if third[0] != third[1] or bool((third != third[0]).any()) or second.n_unique() == 1:
            return False
        if third[0].upper() in ("0", "Q0"):
            return True
        # One document judged for several subtopics looks similar, but subtopics are numbers.
        pairs = self.frame.select("query_id", "iteration")
        are_names = not bool(second.str.contains(r"^[0-9]{1,3}$").all())
        return are_names and pairs.height > pairs["query_id"].n_unique()

    @cached_property
    def repeats(self) -> pl.DataFrame:
        """As in the base class, but empty if columns 2 and 3 are swapped."""
        return NO_REPEATS if self.documents_in_column_2 else self.find_repeats()

    @cached_property
    def highest(self) -> Numbers:
        """Highest grade of each query, by query number; NaN if one of its grades is NaN."""
        highest = np.full(self.blocks.query_ids.len(), -np.inf)
        with np.errstate(invalid="ignore"):
            np.maximum.at(highest, self.blocks.query, self.grade)
        return highest


_QRELS_TYPES: dict[str, type[pl.DataType]] = {
    "query_id": pl.String,
    "iteration": pl.String,
    "doc_id": pl.String,
    "relevance": pl.Int64,
}


def _parse_qrels(strings: pl.DataFrame) -> pl.DataFrame:
    """Convert columns of strings; a grade that is not a whole number becomes NaN.

    ``1.0`` is read as 1: no information is lost.
    """
    grade = strings["relevance"].cast(pl.Float64, strict=False)
    whole = strings["relevance"].str.contains(INTEGER) | strings["relevance"].str.contains(INTEGRAL)
    return pl.DataFrame(
        {
            "query_id": strings["query_id"],
            "iteration": strings["iteration"],
            "doc_id": strings["doc_id"],
            "relevance": grade.set(~whole, None).fill_null(np.nan),
        }
    )
