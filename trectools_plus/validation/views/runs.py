"""The view of a run, and the detection of swapped columns."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from trectools_plus.choices import MAX_TAG_LENGTH
from trectools_plus.formats.columns.columns import Columns, scan_columns
from trectools_plus.formats.columns.numbers import parse_ranks
from trectools_plus.formats.run import N_FIELDS
from trectools_plus.formats.tables import Run
from trectools_plus.validation.views.order import Ordered, Ranks, Rows
from trectools_plus.validation.views.shape import Shape, shape_of_run
from trectools_plus.validation.views.tables import (
    MISSHAPEN,
    NO_REPEATS,
    Numbers,
    TableView,
    texts_of,
)


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
    def of(cls, frame: pl.DataFrame) -> DocumentSwapSigns:
        """Return the signs in some rows; if column 3 varies, the other signs are not computed."""
        third = frame["doc_id"]
        if third.is_empty():
            return cls()
        if third[0] == third[min(1, frame.height - 1)]:
            other = (third != third[0]).arg_max() or 0
        else:
            other = 1
        if third[other] != third[0]:
            return cls(frozenset((third[0], third[other])))
        pairs = frame.select("query_id", "q0")
        return cls(
            frozenset((third[0],)),
            bool((frame["q0"].cast(pl.String).str.to_uppercase() != "Q0").any()),
            pairs.height > pairs["query_id"].n_unique(),
            bool(pairs.is_duplicated().any()),
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
    def of(cls, grouped: Ordered, fourth: pl.Series) -> ScoreSwapSigns:
        """Return the signs in some rows.

        Args:
            grouped: The rows by query.
            fourth: Column 4 as strings, in the order of the file.
        """
        same = grouped.same_query
        counting = (grouped.score[1:] == grouped.score[:-1] + 1) | ~same
        has_other_rank, several_rows = bool(np.isnan(grouped.rank).any()), bool(same.any())
        if not counting.all():
            return cls(has_other_rank, several_rows, looks_swapped=False)
        decimals = fourth.cast(pl.Float64, strict=False).to_numpy()
        if grouped.row is not None:
            decimals = decimals[grouped.row]
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
        rank: Rank of each row: int64, or float64 with NaN for what is not a whole number.
        score: Score of each row (float64); NaN for what is not a number.
        max_depth: Results allowed per query; ``None`` for no limit.
        max_tag_length: Characters allowed in the run tag.
        words_after_tag: ``line, n_fields, text`` of rows of which the words after the tag are
            ignored; see :meth:`for_scoring`.
    """

    kind = "run"
    max_tag_length: int = MAX_TAG_LENGTH

    def __init__(
        self,
        path: str,
        columns: Columns | None,
        shape: Shape,
        frame: pl.DataFrame,
        max_depth: int | None,
    ) -> None:
        super().__init__(path, columns, shape)
        self.frame = frame
        self.max_depth = max_depth
        self.words_after_tag = pl.DataFrame(schema=MISSHAPEN)
        self.rank = _ranks(frame["rank"])
        self.score: Numbers = frame["score"].to_numpy()

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
        frame = None if shape.header_in_rows else columns.typed(_RUN_TYPES, compact=_RUN_WORDS)
        if frame is None:
            frame = _parse_run(
                texts_of(columns, _RUN_TYPES, _RUN_WORDS)[int(shape.header_in_rows) :]
            )
        if not shape.has_rows:
            frame = frame.clear()
        return cls(columns.source.path, columns, shape, frame, max_depth)

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
        is_wide = view.shape.verdict == "rows" and (view.misshapen["n_fields"] > N_FIELDS).any()
        if not is_wide:
            return view
        source = columns.source
        shortened = replace(source, data=_WORDS_AFTER_TAG.sub(rb"\1", source.data))
        scored = cls.of_file(scan_columns(shortened, N_FIELDS), max_depth, shape)
        if not scored.shape.has_rows or (scored.misshapen["n_fields"] > N_FIELDS).any():
            return view
        found = view.misshapen.filter(pl.col("n_fields") > N_FIELDS)
        header = scored.shape.header
        scored.words_after_tag = (
            found if header is None else found.filter(pl.col("line") != header[0])
        )
        return scored

    @classmethod
    def of_table(cls, run: Run, max_depth: int | None = None) -> RunView:
        """Return the view of a run in memory."""
        return cls(run.path or run.name, None, Shape(), run.frame, max_depth)

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
    def ties32(self) -> Rows:
        """Positions in :attr:`scored` whose score equals the previous one in 32 bits."""
        if self.grouped.scores_fall:
            return np.empty(0, np.int64)
        scored = self.scored
        equal = (scored.score32[1:] == scored.score32[:-1]) & scored.same_query
        return np.flatnonzero(equal) + 1

    @cached_property
    def documents_in_column_2(self) -> bool:
        """Return whether columns 2 and 3 are swapped: 'Q0', or a single value, in column 3."""
        return self.columns is not None and DocumentSwapSigns.of(self.frame).are_swapped

    @cached_property
    def repeats(self) -> pl.DataFrame:
        """As in the base class, but empty if columns 2 and 3 are swapped."""
        return NO_REPEATS if self.documents_in_column_2 else self.find_repeats()

    @cached_property
    def swapped_columns(self) -> bool:
        """Return whether columns 4 and 5 (rank and score) are swapped."""
        if self.columns is None or self.n_rows < 2 or self.rank.dtype == np.int64:
            return False
        return bool(np.isnan(self.rank).any()) and self.score_swap_signs.are_swapped

    @property
    def why_not_ordered(self) -> str | None:
        """Reason why the rows cannot be sorted; ``None`` if they can."""
        if self.unparsed_lines.height:
            return "some rows cannot be read, and their places would be lost"
        if self.swapped_columns:
            return "columns 4 and 5 look swapped (R121)"
        if np.isnan(self.score).any():
            return "some scores are not numbers, so their places are unknown"
        return None

    def cannot_be_ordered(self) -> bool:
        """Return whether fixes cannot sort the rows."""
        return self.why_not_ordered is not None

    @property
    def score_swap_signs(self) -> ScoreSwapSigns:
        """Signs that columns 4 and 5 are swapped."""
        return ScoreSwapSigns.of(self.grouped, self.texts(4))


MAX_EXACT = 1 << 53
_BLANK, _WORD = rb"[ \t\f\v]", rb"[^ \t\f\v\r\n]+"
_NUMBER = rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_WORDS_AFTER_TAG = re.compile(
    # Column 4 is an integer, column 5 a score, and column 6 not a number.
    rb"(?m)^(?!#)((?:B*WB+){3}[+-]?[0-9]+B+NB+(?!NB)W)B+[^ \t\f\v\r\n][^\r\n]*".replace(
        b"B", _BLANK
    )
    .replace(b"W", _WORD)
    .replace(b"N", _NUMBER)
)
_RUN_TYPES: dict[str, type[pl.DataType]] = {
    "query_id": pl.String,
    "q0": pl.String,
    "doc_id": pl.String,
    "rank": pl.Int64,
    "score": pl.Float64,
    "tag": pl.String,
}


_RUN_WORDS = ("q0", "tag")


def _ranks(ranks: pl.Series) -> Ranks:
    """Return ranks as int64, or as float64 if some are unknown or very large."""
    if ranks.dtype == pl.Int64 and ranks.is_between(-MAX_EXACT, MAX_EXACT).all():
        return ranks.to_numpy()
    return ranks.cast(pl.Float64).to_numpy()


def _parse_run(strings: pl.DataFrame) -> pl.DataFrame:
    """Convert columns of strings; what is not a number becomes NaN.

    The cast of Polars accepts only decimal numbers and the words for NaN and infinity.
    """
    return pl.DataFrame(
        {
            "query_id": strings["query_id"],
            "q0": strings["q0"],
            "doc_id": strings["doc_id"],
            "rank": _parse_ranks(strings["rank"]),
            "score": strings["score"].cast(pl.Float64, strict=False).fill_null(np.nan),
            "tag": strings["tag"],
        }
    )


def _parse_ranks(texts: pl.Series) -> pl.Series:
    """Return ranks as float64; NaN for what is not a whole number (``1.0`` is one)."""
    ranks = texts.cast(pl.Int64, strict=False)
    unparsed = ranks.is_null().arg_true()
    numbers = ranks.cast(pl.Float64)
    if unparsed.len():
        numbers = numbers.scatter(unparsed, parse_ranks(texts.gather(unparsed)).cast(pl.Float64))
    return numbers.fill_null(np.nan)
