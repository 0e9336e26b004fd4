"""The view of qrels."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from trectools_plus.formats.columns.ids import PairTable
from trectools_plus.formats.columns.rows import QrelsRows
from trectools_plus.text import number
from trectools_plus.validation.views.id_matching import unify_spellings
from trectools_plus.validation.views.order import NO_PAIRS, Pairs
from trectools_plus.validation.views.places import Value
from trectools_plus.validation.views.tables import Numbers, TableView

if TYPE_CHECKING:
    import polars as pl

    from trectools_plus.formats.tables import Qrels

_INTEGER = re.compile("[+-]?[0-9]+")
_SUBTOPIC = re.compile("[0-9]{1,3}")


class QrelsView(TableView):
    """Qrels in the form that the rules check."""

    kind = "qrels"
    rows: QrelsRows

    @classmethod
    def of_table(cls, qrels: Qrels) -> QrelsView:
        """Return the view of qrels in memory."""
        view = cls(qrels.path or "qrels", QrelsRows.of_frame(qrels.frame))
        view.frame = qrels.frame
        return view

    @cached_property
    def frame(self) -> pl.DataFrame:  # type: ignore[override]
        """``query_id, iteration, doc_id, relevance`` as a table of Polars.

        Grades that are not all whole numbers are floats, NaN for what is not a whole number.
        """
        import polars as pl

        rows, grades = self.rows, self.rows.grades
        return pl.DataFrame(
            {
                "query_id": self.blocks.series(),
                "iteration": rows.iterations.series(),
                "doc_id": rows.doc_ids.series(),
                "relevance": grades.values if self.grades_are_integers else grades.floats,
            }
        )

    def table(self, path: str) -> Qrels:
        """Return qrels without errors as a table; of repeated judgments, the first counts."""
        import polars as pl

        from trectools_plus.formats.tables import QRELS_SCHEMA, Qrels

        frame = self.frame.select(pl.col(name).cast(dtype) for name, dtype in QRELS_SCHEMA.items())
        if len(self.repeats):
            frame = frame.unique(["query_id", "doc_id"], keep="first", maintain_order=True)
        return Qrels(frame, path=path)

    @cached_property
    def grade(self) -> Numbers:
        """Grade of each row (float64); NaN if it is not a whole number (``1.0`` is one).

        Numbers of more than 53 bits are rounded, which does not affect the rules.
        """
        grades = self.rows.grades.floats
        if self.columns is not None and not self.rows.grades.are_numbers:
            odd = np.flatnonzero(~self.rows.grades.is_number)
            # Integers of more than 64 bits are numbers too.
            texts = (text if _INTEGER.fullmatch(text) else "nan" for text in self.texts(4, odd))
            grades[odd] = list(map(float, texts))
        return grades

    @property
    def grades_are_integers(self) -> bool:
        """Return whether all grades are written as integers that fit in 64 bits."""
        return self.rows.grades.are_numbers and not self.rows.grades.has_point.any()

    @cached_property
    def documents_in_column_2(self) -> bool:
        """Return whether columns 2 and 3 are swapped: one value in column 3, ids in column 2."""
        _, first = self.rows.iterations.numbered()
        if self.columns is None or len(first) < 2 or self.doc_ids.changes().any():
            return False
        if self.doc_ids.text(0).upper() in ("0", "Q0"):
            return True
        # One document judged for several subtopics looks similar, but subtopics are numbers.
        are_subtopics = all(map(_SUBTOPIC.fullmatch, self.rows.iterations.texts(first)))
        return self.n_rows > len(self.query_ids) and not are_subtopics

    @cached_property
    def repeats(self) -> Pairs:
        """As in the base class, but empty if columns 2 and 3 are swapped."""
        return NO_PAIRS if self.documents_in_column_2 else super().repeats

    @cached_property
    def pairs(self) -> PairTable:
        """The pairs of query number and document."""
        return PairTable(self.doc_ids, self.blocks.query.astype(np.int64))

    @cached_property
    def unified_pairs(self) -> PairTable:
        """The same with ids in one spelling; the same object if this changes no id."""
        folds = unify_spellings(self.doc_ids)
        return self.pairs if folds is self.doc_ids else PairTable(folds, self.pairs.query)

    @cached_property
    def highest(self) -> Numbers:
        """Highest grade of each query, by query number; NaN if one of its grades is NaN."""
        highest = np.full(len(self.query_ids), -np.inf)
        with np.errstate(invalid="ignore"):
            np.maximum.at(highest, self.blocks.query, self.grade)
        return highest

    def values_of(self, row: int) -> dict[str, Value]:
        """Return the grade and the iteration of a row of a table."""
        return {"grade": number(self.grade[row]), "second": self.rows.iterations.text(row)}
