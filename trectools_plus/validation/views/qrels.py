"""The view of qrels, and ids that are the same apart from their spelling."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from trectools_plus.formats.columns.ids import Ids, PairTable, Rows
from trectools_plus.formats.columns.rows import QrelsRows
from trectools_plus.text import number
from trectools_plus.validation.views.places import NO_PAIRS, Pairs, Value
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

    def numbers_of(self, query_ids: Iterable[str]) -> Rows:
        """Return the number of each query; -1 if it is not judged."""
        return np.array([self._numbers.get(query_id, -1) for query_id in query_ids], np.int64)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {query_id: number for number, query_id in enumerate(self.query_ids)}

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


INVISIBLE = "[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]"
"""Characters without width, removed before two ids are compared."""

MAX_NORMALISED_LENGTH = 1000
"""Longest id, in characters, to which Unicode normalisation is applied."""

_PLAIN_NUMBER = re.compile(r"[+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?")


def _unify(text: str) -> str:
    """Return an id in one spelling, without leading zeros, and numbers in one form.

    ``q007`` becomes ``q7``, and ``1e1`` becomes ``10``.
    """
    text = unify_spelling(text)
    if _PLAIN_NUMBER.fullmatch(text):
        return f"{Decimal(text).normalize():f}"
    return re.sub(r"(?<![0-9.])0+(?=[0-9])", "", text)


def near_matches(ours: Iterable[str], theirs: Iterable[str]) -> dict[str, str]:
    """Pair ids of two files that are equal apart from their spelling.

    An id in ``ours`` that is in both files is never paired. An id in ``theirs`` that is in both
    files can be paired with another one in ``ours``, for example ``3`` with ``03``.

    Args:
        ours: All ids of one file.
        theirs: All ids of the other file.

    Returns:
        For each id in ``ours`` that is in ``theirs`` only in another spelling: the id in
        ``theirs``, preferably one that is not in ``ours``.
    """
    ours, theirs = dict.fromkeys(ours), dict.fromkeys(theirs)
    by_spelling = {_unify(text): text for text in sorted(theirs, key=lambda text: text not in ours)}
    pairs = {text: by_spelling.get(_unify(text)) for text in ours if text not in theirs}
    return {
        text: other
        for text, other in pairs.items()
        # If both 1.1 and 1.10 are ids, they are section numbers, not decimal numbers.
        if other is not None and not (other in ours and "." in text and "." in other)
    }


def unify_spelling(text: str) -> str:
    """Return an id in lower case and NFC, without invisible characters.

    Very long ids are not normalised, because many combining marks take quadratic time.
    """
    if text.isascii():
        return text.lower()
    plain = re.sub(INVISIBLE, "", text).casefold()
    return plain if len(text) > MAX_NORMALISED_LENGTH else unicodedata.normalize("NFC", plain)


def unify_spellings(doc_ids: Ids) -> Ids:
    """Apply :func:`unify_spelling` to all document ids; return them if it changes none."""
    folds = doc_ids.lower()
    if doc_ids.beyond_ascii().any():
        number, first = doc_ids.numbered()
        folds = Ids.of_texts(map(unify_spelling, doc_ids.texts(first))).take(number)
    return doc_ids if folds.equal(doc_ids).all() else folds
