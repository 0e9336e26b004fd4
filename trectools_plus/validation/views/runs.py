"""The view of a run, and the detection of swapped columns."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from trectools_plus.choices import MAX_TAG_LENGTH
from trectools_plus.formats.columns.columns import Columns, scan_columns
from trectools_plus.formats.columns.decimals import parse_decimal
from trectools_plus.formats.columns.facts import OddLines
from trectools_plus.formats.columns.ids import Rows
from trectools_plus.formats.columns.rows import RUN_FIELDS, RunRows
from trectools_plus.formats.files.content import BOM
from trectools_plus.validation.views.order import Ordered, Ranks, places_in_query
from trectools_plus.validation.views.tables import Numbers, Shape, TableView, shape_of_run

if TYPE_CHECKING:
    import polars as pl

    from trectools_plus.formats.tables import Run


@dataclass(frozen=True, slots=True)
class DocumentSwapSigns:
    """Signs that columns 2 and 3 are swapped.

    Attributes:
        third: The values of column 3; two of them if there are more.
        has_other_second: True if column 2 has values other than 'Q0'.
        several_rows: True if a query has several rows.
        repeats_second: True if a query has the same value in column 2 several times.
    """

    third: frozenset[str] = frozenset()
    has_other_second: bool = False
    several_rows: bool = False
    repeats_second: bool = False

    @classmethod
    def of(cls, rows: RunRows) -> DocumentSwapSigns:
        """Return the signs in some rows; if column 3 varies, the other signs are not computed."""
        third, n_rows = rows.doc_ids, rows.blocks.n_rows
        if not n_rows:
            return cls()
        other = 1
        if n_rows == 1 or not third.take(slice(0, 2)).changes()[0]:
            changes = third.changes()
            other = int(changes.argmax()) + 1 if changes.any() else 0
        if other:
            return cls(frozenset((third.text(0), third.text(other))))
        number, _ = rows.second.numbered()
        pairs = np.unique(number + rows.blocks.query.astype(np.int64) * (int(number.max()) + 1))
        _, first = rows.second.numbered()
        return cls(
            frozenset((third.text(0),)),
            any(text.upper() != "Q0" for text in rows.second.texts(first)),
            n_rows > len(rows.blocks.query_ids),
            len(pairs) < n_rows,
        )

    def __add__(self, other: DocumentSwapSigns) -> DocumentSwapSigns:
        """Combine the signs of two sets of rows, which must have different queries."""
        return DocumentSwapSigns(
            frozenset(sorted(self.third | other.third)[:2]),
            self.has_other_second or other.has_other_second,
            self.several_rows or other.several_rows,
            self.repeats_second or other.repeats_second,
        )

    @property
    def are_swapped(self) -> bool:
        """Return whether column 3 is 'Q0', or one other value while column 2 varies."""
        if len(self.third) != 1:
            return False
        if next(iter(self.third)).upper() == "Q0":
            return self.has_other_second
        # A repeated document is another problem, unless column 2 distinguishes the rows.
        return self.several_rows and not self.repeats_second


@dataclass(frozen=True, slots=True)
class ScoreSwapSigns:
    """Signs that columns 4 and 5 are swapped.

    Attributes:
        has_other_rank: True if column 4 has values other than whole numbers.
        several_rows: True if a query has several rows.
        looks_swapped: True if, in each query, column 4 has falling decimal numbers and column 5
            counts up by 1.
    """

    has_other_rank: bool = False
    several_rows: bool = False
    looks_swapped: bool = True

    @classmethod
    def of(cls, run: RunView) -> ScoreSwapSigns:
        """Return the signs in some rows."""
        grouped = run.grouped
        same = grouped.same_query
        has_other_rank, several_rows = bool(np.isnan(grouped.rank).any()), bool(same.any())
        for end in (_FIRST_ROWS, None):  # the scores of most runs show it at once
            score = grouped.score[:end]
            counting = (score[1:] == score[:-1] + 1) | ~same[: len(score) - 1]
            if not counting.all():
                return cls(has_other_rank, several_rows, looks_swapped=False)
        fourth = run.texts(4, grouped.rows(np.arange(run.n_rows)))
        decimals = np.array(list(map(parse_decimal, fourth)), np.float64)
        falling = (decimals[1:] <= decimals[:-1]) | ~same
        looks_swapped = bool(np.isfinite(decimals).all()) and bool(falling.all())
        return cls(has_other_rank, several_rows, looks_swapped)

    def __add__(self, other: ScoreSwapSigns) -> ScoreSwapSigns:
        """Combine the signs of two sets of rows, which must have different queries."""
        return ScoreSwapSigns(
            self.has_other_rank or other.has_other_rank,
            self.several_rows or other.several_rows,
            self.looks_swapped and other.looks_swapped,
        )

    @property
    def are_swapped(self) -> bool:
        """Return whether column 5 contains the ranks."""
        return self.has_other_rank and self.several_rows and self.looks_swapped


class RunView(TableView):
    """A run in the form that the rules check.

    Attributes:
        max_depth: Results allowed per query; ``None`` for no limit.
        max_tag_length: Characters allowed in the run tag.
        words_after_tag: Rows of which the words after the tag are ignored; see
            :meth:`for_scoring`.
    """

    kind = "run"
    max_tag_length: int = MAX_TAG_LENGTH

    def __init__(
        self,
        path: str,
        columns: Columns | None,
        shape: Shape,
        rows: RunRows | None,
        max_depth: int | None,
    ) -> None:
        super().__init__(path, columns, shape)
        if rows is not None:
            self.rows = rows
        self.max_depth = max_depth
        self.words_after_tag = OddLines.of()

    @classmethod
    def of_file(
        cls, columns: Columns, max_depth: int | None = None, shape: Shape | None = None
    ) -> RunView:
        """Return the view of a lexed file, valid or not.

        Args:
            columns: The file, or a chunk of one.
            max_depth: Results allowed per query; ``None`` for no limit.
            shape: The shape of the whole file, if ``columns`` do not determine it.
        """
        shape = shape or shape_of_run(columns)
        return cls(columns.source.path, columns, shape, None, max_depth)

    @classmethod
    def for_scoring(
        cls, columns: Columns, max_depth: int | None = None, shape: Shape | None = None
    ) -> RunView:
        """Return the view of a run that is to be scored.

        If every row with too many columns consists of a valid row and further words, as in
        ``1 Q0 d1 1 9.5 my tag``, these words are ignored. Otherwise an id may contain a blank.

        Args:
            columns: The file, or a chunk of one.
            max_depth: Results allowed per query; ``None`` for no limit.
            shape: The shape of the whole file, if ``columns`` do not determine it.
        """
        view = cls.of_file(columns, max_depth, shape)
        wide = view.misshapen.filter(view.misshapen.n_fields > RUN_FIELDS)
        if view.shape.verdict != "rows" or not len(wide):
            return view
        source = columns.source
        shortened = replace(source, data=_without_words_after_tag(source.data, wide))
        scored = cls.of_file(scan_columns(shortened, RUN_FIELDS), max_depth, shape)
        if not scored.shape.has_rows or (scored.misshapen.n_fields > RUN_FIELDS).any():
            return view
        header = scored.shape.header
        scored.words_after_tag = wide if header is None else wide.without(header[0])
        return scored

    @classmethod
    def of_table(cls, run: Run, max_depth: int | None = None) -> RunView:
        """Return the view of a run in memory."""
        rows = RunRows.of_frame(run.frame)
        view = cls(run.path or run.name, None, Shape(), rows, max_depth)
        view.frame = run.frame
        return view

    @cached_property
    def frame(self) -> pl.DataFrame:  # type: ignore[override]
        """``query_id, q0, doc_id, rank, score, tag`` as a table of Polars.

        Ranks that are not all whole numbers are floats, and what is not a number is NaN.
        """
        import polars as pl

        rows = self.rows
        query_ids = pl.Series(self.query_ids, dtype=pl.String).gather(self.blocks.query)
        return pl.DataFrame(
            {
                "query_id": query_ids,
                "q0": rows.second.series(),
                "doc_id": rows.doc_ids.series(),
                "rank": rows.ranks.values if rows.ranks.are_numbers else rows.ranks.floats,
                "score": self.score,
                "tag": rows.tags.series(),
            }
        )

    def table(self, name: str) -> Run:
        """Return a run without errors as a table; see :attr:`usable_ranks`."""
        import polars as pl

        from trectools_plus.formats.tables import RUN_SCHEMA, Run

        frame = self.frame.with_columns(rank=pl.Series(self.usable_ranks))
        frame = frame.select(pl.col(name).cast(dtype) for name, dtype in RUN_SCHEMA.items())
        return Run(frame, name, self.path)

    @cached_property
    def rank(self) -> Ranks:
        """Rank of each row: int64, or float64 with NaN for what is not a whole number."""
        ranks = self.rows.ranks
        if ranks.are_numbers and np.abs(ranks.values).max(initial=0) <= MAX_EXACT:
            return ranks.values
        return ranks.floats

    @property
    def score(self) -> Numbers:
        """Score of each row (float64); NaN for what is not a number."""
        return self.rows.scores.values

    @cached_property
    def tag(self) -> str:
        """The tag of the first row; empty without rows."""
        return self.rows.tags.text(0) if self.n_rows else ""

    @cached_property
    def last_tag(self) -> str:
        """The tag of the last row; empty without rows."""
        return self.rows.tags.text(-1) if self.n_rows else ""

    @cached_property
    def systems(self) -> dict[str, RunView]:
        """The view of each system, if a column of a table names several; otherwise empty."""
        if self.columns is None:
            return {}
        views = {}
        for name, columns in self.columns.systems.items():
            view = views[name] = RunView.of_file(columns, self.max_depth)
            view.every_line, view.optional_rules = self.every_line, self.optional_rules
            view.max_tag_length = self.max_tag_length
            view.other_query_ids = self.other_query_ids
        return views

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
        if self.grouped.ranks_are_consecutive or bool((self.grouped.rank_steps >= 0).all()):
            return self.grouped
        return self.grouped.sorted_by(self.grouped.rank)

    @cached_property
    def scored(self) -> Ordered:
        """Rows by query and falling score; rows with equal scores are in rank order."""
        ranked = self.ranked
        if ranked.scores_fall:
            return ranked
        falling = (ranked.score[1:] <= ranked.score[:-1]) | ~ranked.same_query
        return ranked if bool(falling.all()) else ranked.sorted_by(-ranked.score)

    @cached_property
    def rows(self) -> RunRows:  # type: ignore[override]
        """The rows, which are read from the file on first use."""
        if self.columns is None or not self.shape.has_rows:
            return RunRows.joined([])
        return RunRows.of(self.columns, has_header=self.shape.header_in_rows)

    @cached_property
    def usable_ranks(self) -> npt.NDArray[np.int64]:
        """The ranks; if one is not a whole number, the positions in the file, from 1."""
        if self.rows.ranks.are_numbers:
            return self.rows.ranks.values
        ranks = np.empty(self.n_rows, np.int64)
        grouped = self.grouped
        ranks[grouped.rows(np.arange(self.n_rows))] = places_in_query(grouped.query) + 1
        return ranks

    def order(self, precision: Literal[32, 64]) -> Rows:
        """Return the rows by query, in the canonical order of trec_eval within each query.

        Args:
            precision: The number of bits in which scores, which must be numbers, are compared.
        """
        scored = self.scored
        order: Rows = scored.rows(np.arange(self.n_rows))
        if scored.scores_fall:
            return order
        score = scored.score32 if precision == 32 else scored.score
        ties = np.flatnonzero((score[1:] == score[:-1]) & scored.same_query) + 1
        if not len(ties):
            return order
        tied = np.union1d(ties, ties - 1)
        group = np.cumsum(np.isin(tied, ties, invert=True))
        # Within a tie, the highest document id comes first.
        keys = [~key for key in self.doc_ids.take(order[tied]).sort_keys()]
        order = order.copy()
        order[tied] = order[tied[np.lexsort((*keys, group))]]
        return order

    def evaluated_ranks(self, rows: Rows, precision: Literal[32, 64] = 32) -> Rows:
        """Return the ranks, from 1, of some rows in the canonical order; see :meth:`order`."""
        grouped = self.grouped
        if grouped.row is None and grouped.scores_fall:
            return rows - self.blocks.starts[self.blocks.query[rows]] + 1
        ranks = np.empty(self.n_rows, np.int64)
        ranks[self.order(precision)] = places_in_query(grouped.query) + 1
        return ranks[rows]

    @cached_property
    def ties32(self) -> Rows:
        """Positions in :attr:`scored` whose score equals the previous one in 32 bits."""
        if self.grouped.scores_fall:
            return np.empty(0, np.int64)
        scored = self.scored
        equal = (scored.score32[1:] == scored.score32[:-1]) & scored.same_query
        return np.flatnonzero(equal) + 1

    @cached_property
    def document_swap_signs(self) -> DocumentSwapSigns:
        """Signs that columns 2 and 3 are swapped."""
        return DocumentSwapSigns.of(self.rows)

    @cached_property
    def documents_in_column_2(self) -> bool:
        """Return whether columns 2 and 3 are swapped: 'Q0', or a single value, in column 3."""
        return self.columns is not None and self.document_swap_signs.are_swapped

    @cached_property
    def swapped_columns(self) -> bool:
        """Return whether columns 4 and 5 (rank and score) are swapped."""
        if self.columns is None or self.n_rows < 2 or self.rank.dtype == np.int64:
            return False
        return bool(np.isnan(self.rank).any()) and self.score_swap_signs.are_swapped

    @property
    def why_not_ordered(self) -> str | None:
        """Reason why the rows cannot be sorted; ``None`` if they can."""
        if len(self.unparsed_lines):
            return "some rows cannot be read, and their places would be lost"
        if self.swapped_columns:
            return "columns 4 and 5 look swapped (R121)"
        if self.has_unreadable_scores:
            return "some scores are not numbers, so their places are unknown"
        return None

    @cached_property
    def has_unreadable_scores(self) -> bool:
        """Return whether a score is not a number."""
        return bool(np.isnan(self.score).any())

    def cannot_be_ordered(self) -> bool:
        """Return whether fixes cannot sort the rows."""
        return self.why_not_ordered is not None

    @cached_property
    def score_swap_signs(self) -> ScoreSwapSigns:
        """Signs that columns 4 and 5 are swapped."""
        return ScoreSwapSigns.of(self)


MAX_EXACT = 1 << 53
_FIRST_ROWS = 100
_BLANK, _WORD = rb"[ \t\f\v]", rb"[^ \t\f\v\r\n]+"
_NUMBER = rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_WORDS_AFTER_TAG = re.compile(
    # Column 4 is an integer, column 5 a score, and column 6 not a number.
    rb"((?:B*WB+){3}[+-]?[0-9]+B+NB+(?!NB)W)B+[^ \t\f\v\r\n][^\r\n]*".replace(b"B", _BLANK)
    .replace(b"W", _WORD)
    .replace(b"N", _NUMBER)
)


def _without_words_after_tag(data: bytes, lines: OddLines) -> bytes:
    """Return a file without the words after the tag on some lines."""
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    parts, done = [], 0
    for line in lines.line.tolist():
        start = int(ends[line - 2]) + 1 if line > 1 else 0
        found = _WORDS_AFTER_TAG.match(
            data, len(BOM) if not start and data.startswith(BOM) else start
        )
        if found is not None:
            parts.append(data[done : found.end(1)])
            done = found.end()
    return b"".join([*parts, data[done:]])
