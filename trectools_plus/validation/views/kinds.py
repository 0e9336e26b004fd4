"""The views of a run and of qrels, and ids that are the same apart from their spelling."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from trectools_plus.choices import MAX_TAG_LENGTH
from trectools_plus.formats.columns.columns import NO_ODD_LINES, Columns, OddLines, scan_columns
from trectools_plus.formats.columns.decimals import INTEGER, parse_decimal
from trectools_plus.formats.columns.ids import Flags, Ids, PairTable, Rows
from trectools_plus.formats.columns.rows import RUN_FIELDS, QrelsRows, RunRows
from trectools_plus.text import number
from trectools_plus.validation.views.places import (
    NO_PAIRS,
    Ordered,
    PairFacts,
    Pairs,
    Ranks,
    Value,
    find_repeats,
    places_in_query,
)
from trectools_plus.validation.views.tables import Numbers, TableView, with_shape

if TYPE_CHECKING:
    import polars as pl

    from trectools_plus.formats.tables import Qrels, Run


class RunView(TableView):
    """A run in the form that the rules check.

    Attributes:
        rows: The rows.
        max_depth: Results allowed per query; ``None`` for no limit.
        max_tag_length: Characters allowed in the run tag.
        words_after_tag: Rows of which the words after the tag are ignored; see
            :meth:`for_scoring`.
        pair_facts: The facts about its documents and the qrels, if they are known.
    """

    kind = "run"
    rows: RunRows
    max_depth: int | None = None
    max_tag_length: int = MAX_TAG_LENGTH
    words_after_tag: OddLines = NO_ODD_LINES
    pair_facts: PairFacts | None = None

    @classmethod
    def for_scoring(cls, columns: Columns, *, is_start: bool = True) -> RunView:
        """Return the view of a run that is to be scored; see :meth:`of_file`.

        If every row with too many columns consists of a valid row and further words, as in
        ``1 Q0 d1 1 9.5 my tag``, these words are ignored. Otherwise an id may contain a blank.
        """
        file = with_shape(columns, cls.kind) if is_start else columns
        wide = file.misshapen.longer(RUN_FIELDS)
        if file.verdict == "rows" and len(wide):
            data = file.source.data
            bounds = pairwise([0, *file.line_starts[wide.line - 1].tolist(), len(data)])
            parts = (_WORDS_AFTER_TAG.sub(rb"\1", data[begin:end], 1) for begin, end in bounds)
            shortened = replace(file.source, data=b"".join(parts))
            scored = cls.of_file(scan_columns(shortened, RUN_FIELDS), is_start=is_start)
            if scored.file.has_rows and not scored.misshapen.longer(RUN_FIELDS):
                # A header may be too long.
                is_cut = np.isin(wide.line, scored.file.misshapen.line, invert=True)
                scored.words_after_tag = wide.filter(is_cut)
                return scored
        return cls.of_file(file, is_start=False)

    @classmethod
    def of_table(cls, run: Run) -> RunView:
        """Return the view of a run in memory."""
        return cls(run.path or run.name, run.rows)

    def table(self, name: str) -> Run:
        """Return a run without errors as a table; see :attr:`usable_ranks`."""
        import polars as pl

        from trectools_plus.formats.tables import RUN_SCHEMA, Run

        columns = {
            "query_id": self.blocks.series(),
            "doc_id": self.doc_ids.series(),
            "rank": self.usable_ranks,
            "score": self.score,
        }
        return Run(pl.DataFrame(columns, schema_overrides=RUN_SCHEMA), name, self.path)

    @cached_property
    def rank(self) -> Ranks:
        """Rank of each row: int64, or float64 with NaN for what is not a whole number."""
        return self.rows.ranks

    @property
    def score(self) -> Numbers:
        """Score of each row (float64); NaN for what is not a number."""
        return self.rows.scores

    @cached_property
    def tag(self) -> str:
        """The tag of the first row; empty without rows."""
        return self.rows.tags.text(0) if self.n_rows else ""

    @cached_property
    def last_tag(self) -> str:
        """The tag of the last row; empty without rows."""
        return self.rows.tags.text(-1) if self.n_rows else ""

    @cached_property
    def grouped(self) -> Ordered:
        """Rows by query, in the order of the file within each query."""
        if not self.blocks.interleaved:
            return Ordered(None, self.blocks.query, self.rank, self.score)
        order: Rows = np.argsort(self.blocks.query, kind="stable")
        return Ordered(order, self.blocks.query[order], self.rank[order], self.score[order])

    @cached_property
    def ranked(self) -> Ordered:
        """Rows by query and rank; rows without a rank come last in their query."""
        return self.grouped.sorted_by(self.grouped.rank)

    @cached_property
    def scored(self) -> Ordered:
        """Rows by query and falling score; rows with equal scores are in rank order."""
        return self.ranked.sorted_by(-self.ranked.score)

    @cached_property
    def usable_ranks(self) -> npt.NDArray[np.int64]:
        """The ranks; if one is not a whole number, the positions in the file, from 1."""
        if self.rank.dtype == np.int64:
            return self.rank.astype(np.int64, copy=False)
        return self._numbered(self.grouped.all_rows)

    def _numbered(self, order: Rows) -> Rows:
        """Return the place in an order, from 1, of each row within its query."""
        ranks = np.empty(self.n_rows, np.int64)
        ranks[order] = places_in_query(self.grouped.query) + 1
        return ranks

    def order(self, precision: Literal[32, 64]) -> Rows:
        """Return the rows by query, in the canonical order of trec_eval within each query.

        Args:
            precision: The number of bits in which scores, which must be numbers, are compared.
        """
        scored = self.scored
        ties = scored.ties(precision)
        if not len(ties):
            return scored.all_rows
        tied = np.union1d(ties, ties - 1)
        group = np.cumsum(np.isin(tied, ties, invert=True))
        # Within a tie, the highest document id comes first.
        order = scored.all_rows.copy()
        keys = [~key for key in self.doc_ids.take(order[tied]).sort_keys()]
        order[tied] = order[tied[np.lexsort((*keys, group))]]
        return order

    def evaluated_ranks(self, rows: Rows, precision: Literal[32, 64] = 32) -> Rows:
        """Return the ranks, from 1, of some rows in the canonical order; see :meth:`order`."""
        if self.grouped.row is None and self.grouped.scores_fall:
            return rows - self.blocks.starts[self.blocks.query[rows]] + 1
        return self._numbered(self.order(precision))[rows]

    @cached_property
    def ties32(self) -> Pairs:
        """Rows whose score equals the previous one in 32 bits."""
        return self.scored.pairs(self.scored.ties(32))

    @cached_property
    def ties64(self) -> Pairs:
        """Rows with the score of the previous one, in queries of several scores."""
        rows, others = self.ties32.rows, self.ties32.others
        is_tie = self.score[rows] == self.score[others]
        return self.ties32.filter(is_tie & ~self.is_tied_query[self.blocks.query[rows]])

    @cached_property
    def is_tied_query(self) -> Flags:
        """For each query, whether it has two or more documents that all have one score."""
        grouped = self.grouped
        n_equal = np.bincount(grouped.query[grouped.ties(64)], minlength=self.n_queries)
        tied: Flags = (n_equal == self.blocks.sizes - 1) & (self.blocks.sizes >= 2)
        return tied

    @property
    def deepest(self) -> int:
        """The number of documents of the query with most."""
        return int(self.blocks.sizes.max(initial=0))

    @property
    def n_larger(self) -> int:
        """The number of queries of two or more documents."""
        return int(np.count_nonzero(self.blocks.sizes >= 2))

    @cached_property
    def n_reversed(self) -> int:
        """The number of queries whose ranks and scores are almost completely reversed."""
        return int((self.ranked.taus <= REVERSED).sum())

    @cached_property
    def n_copies(self) -> int:
        """The number of :attr:`copies`."""
        return len(self.copies)

    @cached_property
    def copies(self) -> Rows:
        """Rows that equal, in every field, the first row of their document."""
        rows, firsts = self.repeats.rows, self.repeats.others
        # A row without a score may be the header of another file that was appended.
        equal = ~np.isnan(self.score[rows]) & (self.columns is not None)
        for field in range(1, RUN_FIELDS + 1) if len(rows) and self.columns else ():
            equal &= np.array(self.texts(field, rows)) == np.array(self.texts(field, firsts))
        return rows[equal]

    @cached_property
    def documents_in_column_2(self) -> bool:
        """Return whether column 3 is 'Q0', or one other value while column 2 varies."""
        if self.columns is None or not self.n_rows or self.doc_ids.changes().any():
            return False
        second = self.rows.second
        if self.doc_ids.text(0).upper() == "Q0":
            return any(text.upper() != "Q0" for text in second.texts(second.numbered()[1]))
        # A repeated document is another problem, unless column 2 distinguishes the rows.
        return self.n_queries < self.n_rows and not len(find_repeats(self.blocks.query, second))

    @cached_property
    def swapped_columns(self) -> bool:
        """Return whether columns 4 and 5 (rank and score) are swapped.

        In each query, column 4 then has falling decimals, and column 5 counts up.
        """
        grouped = self.grouped
        counting = (grouped.score[1:] == grouped.score[:-1] + 1) | ~grouped.same_query
        is_clear = self.columns is not None and self.n_rows > self.n_queries
        if not is_clear or not np.isnan(self.rank).any() or not counting.all():
            return False
        decimals = np.fromiter(map(parse_decimal, self.texts(4, grouped.all_rows)), np.float64)
        falling = (decimals[1:] <= decimals[:-1]) | ~grouped.same_query
        return bool(np.isfinite(decimals).all() and falling.all())

    def values_of(self, row: int) -> dict[str, Value]:
        """Return the rank and the score of a row of a table."""
        return {"rank": number(self.rank[row]), "score": number(self.score[row])}


REVERSED = -0.9
"""Highest rank correlation (Kendall's tau) of ranks that are almost completely reversed."""
_B, _W = r"[ \t\f\v]", r"[^ \t\f\v\r\n]++"
_N = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
"""A blank, a word and a number."""
_VALUES = rf"[+-]?[0-9]++{_B}++{_N}{_B}++"
"""A rank and a score."""
_WORDS_AFTER_TAG = re.compile(
    # Column 6 is not a number. The words do not end like a row: such a line has two rows.
    rf"(?m)\A({_B}*+(?:{_W}{_B}++){{3}}{_VALUES}(?!{_N}{_B}){_W})"
    rf"(?![^\r\n]*{_B}{_VALUES}{_W}{_B}*+\r?$){_B}++[^\r\n]++".encode()
)

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

        rows = self.rows
        return pl.DataFrame(
            {
                "query_id": self.blocks.series(),
                "iteration": rows.iterations.series(),
                "doc_id": rows.doc_ids.series(),
                "relevance": rows.grades
                if self.grades_are_integers
                else rows.grades.astype(np.float64),
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
        grades = self.rows.grades.astype(np.float64)
        odd = np.flatnonzero(np.isnan(grades))
        if self.columns is not None and len(odd):
            # Integers of more than 64 bits are numbers too.
            texts = (text if re.match(INTEGER, text) else "nan" for text in self.texts(4, odd))
            grades[odd] = list(map(float, texts))
        return grades

    @property
    def grades_are_integers(self) -> bool:
        """Return whether all grades are written as integers that fit in 64 bits."""
        return self.rows.grades.dtype == np.int64 and not self.rows.has_point.any()

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
        return {"relevance": number(self.grade[row]), "iteration": self.rows.iterations.text(row)}


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
