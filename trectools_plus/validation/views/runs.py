"""The view of a run, and the detection of swapped columns."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from trectools_plus.choices import MAX_TAG_LENGTH
from trectools_plus.formats.columns.columns import Columns
from trectools_plus.formats.columns.decimals import parse_decimal
from trectools_plus.formats.columns.facts import OddLines
from trectools_plus.formats.columns.ids import Flags, Ids, Rows
from trectools_plus.formats.columns.lexer import scan_columns
from trectools_plus.formats.columns.rows import RUN_FIELDS, RunRows
from trectools_plus.formats.files.content import BOM
from trectools_plus.text import number
from trectools_plus.validation.views.facts import PairFacts, RunFacts
from trectools_plus.validation.views.order import Ordered, Pairs, Ranks, places_in_query
from trectools_plus.validation.views.places import Value
from trectools_plus.validation.views.tables import Numbers, Shape, TableView, shape_of

if TYPE_CHECKING:
    from trectools_plus.formats.tables import Run


class RunView(TableView):
    """A run in the form that the rules check.

    Attributes:
        max_depth: Results allowed per query; ``None`` for no limit.
        max_tag_length: Characters allowed in the run tag.
        words_after_tag: Rows of which the words after the tag are ignored; see
            :meth:`for_scoring`.
        pair_facts: If the file was read in chunks: the facts about its documents and the qrels.
    """

    kind = "run"
    max_tag_length: int = MAX_TAG_LENGTH
    pair_facts: PairFacts

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
        shape = shape or shape_of(columns, "run")
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
        return cls(run.path or run.name, None, Shape(), rows, max_depth)

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
    def grouped(self) -> Ordered:
        """Rows by query, in the order of the file within each query."""
        if not self.blocks.interleaved:
            return Ordered(None, self.blocks.query, self.rank, self.score)
        order: Rows = np.argsort(self.blocks.query, kind="stable")
        return Ordered(order, self.blocks.query[order], self.rank[order], self.score[order])

    @cached_property
    def ranked(self) -> Ordered:
        """Rows by query and rank; rows without a rank come last in their query."""
        grouped = self.grouped
        return grouped if (grouped.rank_steps >= 0).all() else grouped.sorted_by(grouped.rank)

    @cached_property
    def scored(self) -> Ordered:
        """Rows by query and falling score; rows with equal scores are in rank order."""
        ranked = self.ranked
        return ranked if ranked.scores_fall else ranked.sorted_by(-ranked.score)

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
        scored = self.scored
        equal = (scored.score32[1:] == scored.score32[:-1]) & scored.same_query
        return np.flatnonzero(equal) + 1

    @cached_property
    def ties64(self) -> Rows:
        """Positions with the score of the previous one, in queries of several scores."""
        scored, places = self.scored, self.ties32
        is_tie = scored.score[places] == scored.score[places - 1]
        ties: Rows = places[is_tie & ~self.is_tied_query[scored.query[places]]]
        return ties

    @cached_property
    def is_tied_query(self) -> Flags:
        """For each query, whether it has two or more documents that all have one score."""
        n_queries, grouped = len(self.query_ids), self.grouped
        equal = (grouped.score[1:] == grouped.score[:-1]) & grouped.same_query
        n_equal = np.bincount(grouped.query[1:][equal], minlength=n_queries)
        tied: Flags = (n_equal == self.blocks.sizes - 1) & (self.blocks.sizes >= 2)
        return tied

    def pairs(self, ordered: Ordered, places: Rows) -> Pairs:
        """Return the rows at some positions of an order, each with the previous one."""
        return Pairs(ordered.rows(places), ordered.rows(places - 1))

    def documents(self, pairs: Pairs) -> tuple[Ids, Ids]:
        """Return the documents of some rows, and those of the rows that they are compared with."""
        return self.doc_ids.take(pairs.rows), self.doc_ids.take(pairs.others)

    @cached_property
    def facts(self) -> RunFacts:
        """The facts about the rows of a file."""
        if not self.n_rows or self.columns is None:
            return RunFacts()
        changes, third = self.doc_ids.changes(), self.doc_ids.texts(np.zeros(1, np.int64))
        n_other = n_repeated = 0
        if changes.any():
            third.append(self.doc_ids.text(int(changes.argmax()) + 1))
        else:
            word, first = self.rows.second.numbered()
            pairs = np.unique(word + self.blocks.query.astype(np.int64) * (int(word.max()) + 1))
            n_other = sum(text.upper() != "Q0" for text in self.rows.second.texts(first))
            n_repeated = self.n_rows - len(pairs)
        return RunFacts(
            tuple(third),
            n_other,
            n_repeated,
            n_not_counting=int(not self._looks_swapped()),
            n_reversed=int((self.ranked.taus <= REVERSED).sum()),
            n_copies=len(self.copies),
        )

    def _looks_swapped(self) -> bool:
        """Return whether, in each query, column 4 has falling decimals and column 5 counts up."""
        grouped = self.grouped
        counting = (grouped.score[1:] == grouped.score[:-1] + 1) | ~grouped.same_query
        if not np.isnan(self.rank).any() or not counting.all():
            return False
        fourth = self.texts(4, grouped.rows(np.arange(self.n_rows)))
        decimals = np.array(list(map(parse_decimal, fourth)), np.float64)
        falling = (decimals[1:] <= decimals[:-1]) | ~grouped.same_query
        return bool(np.isfinite(decimals).all()) and bool(falling.all())

    @cached_property
    def copies(self) -> Rows:
        """Rows that equal, in every field, the first row of their document."""
        rows, firsts = self.repeats.rows, self.repeats.others
        # A row without a score may be the header of another file that was appended.
        equal = ~np.isnan(self.score[rows])
        for field in range(1, RUN_FIELDS + 1) if len(rows) else ():
            pairs = zip(self.texts(field, rows), self.texts(field, firsts), strict=True)
            equal &= np.array([text == other for text, other in pairs])
        return rows[equal]

    @property
    def documents_in_column_2(self) -> bool:
        """Return whether column 3 is 'Q0', or one other value while column 2 varies."""
        facts, third = self.facts, {*self.facts.third}
        if len(third) != 1:
            return False
        if third.pop().upper() == "Q0":
            return facts.n_other_second > 0
        # A repeated document is another problem, unless column 2 distinguishes the rows.
        return self.n_rows > len(self.query_ids) and not facts.n_repeated_second

    @property
    def swapped_columns(self) -> bool:
        """Return whether columns 4 and 5 (rank and score) are swapped."""
        several = self.columns is not None and self.n_rows > len(self.query_ids)
        return several and not self.facts.n_not_counting

    def values_of(self, row: int) -> dict[str, Value]:
        """Return the rank and the score of a row of a table."""
        return {"rank": number(self.rank[row]), "score": number(self.score[row])}


REVERSED = -0.9
"""Highest rank correlation (Kendall's tau) of ranks that are almost completely reversed."""
MAX_EXACT = 1 << 53
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
