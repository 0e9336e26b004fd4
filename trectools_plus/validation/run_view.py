"""A run as rules see it."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import polars as pl

from trectools_plus.formats.columns import Columns
from trectools_plus.formats.numerals import parse_ranks
from trectools_plus.formats.tables import Run
from trectools_plus.validation.changed_places import RankAndScore, SecondAndThird
from trectools_plus.validation.order import (
    Ordered,
    Ranks,
    Rows,
)
from trectools_plus.validation.shape import (
    Shape,
    shape_of_run,
)
from trectools_plus.validation.views import NO_REPEATS, Numbers, TableView, texts_of

MAX_TAG_LENGTH = 64
"""Characters that a run tag may have unless the user says otherwise."""

TREC_MAX_DEPTH = 1000
"""Results per query that the profile trec allows."""


class RunView(TableView):
    """A run as rules see it.

    Attributes:
        rank: Rank of each row: int64, or float64 with NaN where a text is no whole number.
        score: Score of each row (float64), NaN where the text is no number or says NaN.
        max_depth: Results allowed per query; ``None`` for no limit.
        max_tag_length: Characters allowed in the run tag.
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
        self.rank = _ranks(frame["rank"])
        self.score: Numbers = frame["score"].to_numpy()

    @classmethod
    def of_file(
        cls, columns: Columns, max_depth: int | None = None, shape: Shape | None = None
    ) -> RunView:
        """A view of a lexed file, whatever is in it.

        Args:
            columns: The file, or a piece of one.
            max_depth: Results allowed per query; ``None`` for no limit.
            shape: The verdict on the whole file, where it does not follow from ``columns``.
        """
        shape = shape or shape_of_run(columns)
        frame = None if shape.header_in_rows else columns.typed(_RUN_TYPES, compact=_RUN_WORDS)
        if frame is None:
            frame = _parse_run(
                texts_of(columns, _RUN_TYPES, _RUN_WORDS)[int(shape.header_in_rows) :]
            )
        if shape.verdict != "rows":
            frame = frame.clear()
        return cls(columns.source.path, columns, shape, frame, max_depth)

    @classmethod
    def of_table(cls, run: Run, max_depth: int | None = None) -> RunView:
        """A view of a run in memory."""
        return cls(run.path or run.name, None, Shape(), run.frame, max_depth)

    @cached_property
    def grouped(self) -> Ordered:
        """Rows by query, in the file's order within each."""
        if not self.blocks.interleaved:
            return Ordered(None, self.blocks.query, self.rank, self.score)
        order: Rows = np.argsort(self.blocks.query, kind="stable")
        return Ordered(order, self.blocks.query[order], self.rank[order], self.score[order])

    @cached_property
    def ranked(self) -> Ordered:
        """Rows by query and rank; rows without a rank come last in their query."""
        if self.grouped.in_step or bool((self.grouped.rank_steps >= 0).all()):
            return self.grouped
        return self.grouped.sorted_by(self.grouped.rank)

    @cached_property
    def scored(self) -> Ordered:
        """Rows by query and falling score; rows with equal scores are in rank order."""
        ranked = self.ranked
        if ranked.falls:
            return ranked
        falling = (ranked.score[1:] <= ranked.score[:-1]) | ~ranked.same_query
        return ranked if bool(falling.all()) else ranked.sorted_by(-ranked.score)

    @cached_property
    def ties32(self) -> Rows:
        """Places of :attr:`scored` whose score equals the one before in 32 bits."""
        if self.grouped.falls:
            return np.empty(0, np.int64)
        scored = self.scored
        equal = (scored.score32[1:] == scored.score32[:-1]) & scored.same_query
        return np.flatnonzero(equal) + 1

    @cached_property
    def documents_in_column_2(self) -> bool:
        """Whether columns 2 and 3 have changed places: 'Q0', or one value, in column 3."""
        return self.columns is not None and SecondAndThird.of(self.frame).have_changed_places

    @cached_property
    def repeats(self) -> pl.DataFrame:
        """As for any table; none where column 3 does not hold the documents."""
        return NO_REPEATS if self.documents_in_column_2 else self.find_repeats()

    @cached_property
    def swapped_columns(self) -> bool:
        """Whether rank and score have changed places: decimals in column 4, 1, 2, 3 in column 5."""
        if self.columns is None or self.n_rows < 2 or self.rank.dtype == np.int64:
            return False
        return bool(np.isnan(self.rank).any()) and self.rank_and_score.have_changed_places

    @property
    def rank_and_score(self) -> RankAndScore:
        """What columns 4 and 5 of a file tell of having changed places."""
        return RankAndScore.of(self.grouped, self.texts(4))


_FAR = 1 << 53
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
    """Ranks to compute with: as float64 where some are unknown, or too far apart for int64."""
    if ranks.dtype == pl.Int64 and ranks.is_between(-_FAR, _FAR).all():
        return ranks.to_numpy()
    return ranks.cast(pl.Float64).to_numpy()


def _parse_run(strings: pl.DataFrame) -> pl.DataFrame:
    """Columns of a run from their texts; what is no number becomes NaN.

    Polars casts exactly the decimal numbers, and the words for NaN and infinity.
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
    """Ranks as float64, NaN where the text is no whole number; ``1.0`` is one."""
    ranks = texts.cast(pl.Int64, strict=False)
    odd = ranks.is_null().arg_true()
    numbers = ranks.cast(pl.Float64)
    if odd.len():
        numbers = numbers.scatter(odd, parse_ranks(texts.gather(odd)).cast(pl.Float64))
    return numbers.fill_null(np.nan)
