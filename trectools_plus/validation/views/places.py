"""Rows in some order, and the places of a file that break a rule, with the sentences about them.

All arrays are NumPy arrays with one element per row. A valid run is already grouped by query and
sorted by rank and score, so nothing is sorted.

Pairs of query and document are compared by 64-bit keys, made from the number of the query and a
hash of the document id. Pairs with equal keys are then compared by their ids, so a collision costs
time but does not change the result.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from operator import add
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from trectools_plus.formats.columns.columns import OddLines
from trectools_plus.formats.columns.ids import Flags, Ids, Rows
from trectools_plus.text import number, plural, quoted, visible

if TYPE_CHECKING:
    import polars as pl

Value = str | int | float
Lines = Sequence[int] | npt.NDArray[np.uint32]

LINES_KEPT = 5
"""Number of line numbers in a finding, unless all lines are requested."""


class LineNumber(int):
    """The number of a line, from 1, which depends on the lines before a part of the file."""

    def __str__(self) -> str:
        return f"line {int(self)}"


@dataclass(frozen=True, slots=True)
class Places:
    """The places of a file, or of a part of one, that break a rule.

    Attributes:
        count: The number of places.
        lines: Their lines, or the first few of a part of a file; empty for a table.
        column: The character column of the first place, from 1.
        query_id: The query of the first place.
        doc_id: The document of the first place.
        first: The words about the first place, for templates.
    """

    count: int = 0
    lines: Lines = ()
    column: int | None = None
    query_id: str | None = None
    doc_id: str | None = None
    first: Mapping[str, Value] = field(default_factory=dict)

    def __add__(self, later: Places) -> Places:
        """Return the places of two parts of a file, given in the order of the file."""
        lines = (*self.lines, *later.lines)[:LINES_KEPT]
        first = self if self.count else later
        return replace(first, count=self.count + later.count, lines=lines)

    def moved(self, n_lines: int) -> Places:
        """Return the places in a file with ``n_lines`` lines before this part."""
        first = {
            name: LineNumber(value + n_lines) if isinstance(value, LineNumber) else value
            for name, value in self.first.items()
        }
        lines = tuple(int(line) + n_lines for line in self.lines[:LINES_KEPT])
        return replace(self, lines=lines, first=first)


class PairFacts(NamedTuple):
    """Facts about the documents of the judged queries of a run, or of a chunk of one.

    Attributes:
        n_documents: Their number.
        n_judged: The number of judged ones, for scoring only down to the depth that is needed.
        n_shown: The number of documents in the first ``JUDGED_CUTOFF`` of their queries.
        n_judged_shown: The number of judged ones among these.
        n_common: Above 0 if a document of the run is judged for any query.
        unjudged: Some documents, if none is judged.
        near: The unjudged documents that are judged in another spelling.
        tie_change: The sum of the differences of AP between the best and the worst order of ties.
        n_tie_changes: The number of queries with such a difference.
    """

    n_documents: int = 0
    n_judged: int = 0
    n_shown: int = 0
    n_judged_shown: int = 0
    n_common: int = 0
    unjudged: tuple[str, ...] = ()
    near: Places = Places()
    tie_change: float = 0.0
    n_tie_changes: int = 0

    def plus(self, later: PairFacts, n_lines: int) -> PairFacts:
        """Return the facts about two chunks with different queries, in the order of the file.

        Args:
            later: The facts about the second chunk.
            n_lines: The number of lines before it.
        """
        return PairFacts(*map(add, self, later._replace(near=later.near.moved(n_lines))))


Found: TypeAlias = "Rows | Flags | Pairs | OddLines | Places | pl.DataFrame | int"
"""Rows, a flag for each row, rows with others, lines that are not rows, rows of a table with a
column ``line``, or a number."""


def sentence(template: str, values: Mapping[str, Any]) -> str:
    """Fill in a template; parts in brackets that begin with a blank are for several places."""
    kept = r"\1" if values["count"] > 1 else ""
    return _FORMATTER.vformat(re.sub(r"\[( .*?)\]", kept, template), (), values)


class _Formatter(string.Formatter):
    """``{id!v}`` makes an id visible, ``{id!m}`` also its marks, ``{text!q}`` quotes it.

    ``{n:row}`` adds a noun.
    """

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        convert = _CONVERSIONS.get(conversion or "")
        return convert(str(value)) if convert else super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec:
            return plural(value, *format_spec.split("|"))
        if isinstance(value, float):
            return number(round(value, 4))
        return f"{value:,}" if type(value) is int else str(value)


_FORMATTER = _Formatter()
_CONVERSIONS: dict[str, Callable[[str], str]] = {
    "v": visible,
    "q": quoted,
    "m": partial(visible, marks=True),
}

NO_ROWS: Rows = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Rows, each with another one that it is compared with, for example the first of a document."""

    rows: Rows
    others: Rows

    def __len__(self) -> int:
        return len(self.rows)

    def filter(self, kept: Flags | Rows) -> Pairs:
        """Return some of the rows."""
        return self if not len(self) else Pairs(self.rows[kept], self.others[kept])


NO_PAIRS = Pairs(NO_ROWS, NO_ROWS)


def places_in_query(query: npt.NDArray[np.integer]) -> Rows:
    """Number the rows of each block of one query: 0, 1, 2, …."""
    places = np.arange(len(query))
    heads = np.diff(query.astype(np.int64), prepend=-1) != 0
    return places - np.maximum.accumulate(np.where(heads, places, 0))


Ranks = npt.NDArray[np.int64 | np.float64]

COMPARED_ROWS = 1000
"""The number of first rows of a query in which the orders by rank and by score are compared."""


@dataclass(frozen=True)
class Ordered:
    """Rows in some order, always grouped by query; a place is a position in this order.

    Attributes:
        row: The row of the file at each place; ``None`` for the order of the file.
        query: Query number at each place.
        rank: Rank at each place: int64, or float64 with NaN for what is not a whole number.
        score: Score at each place (float64, NaN for what is not a number).
    """

    row: Rows | None
    query: npt.NDArray[np.uint32]
    rank: Ranks
    score: npt.NDArray[np.float64]

    @cached_property
    def same_query(self) -> Flags:
        """For places 1, 2, …: whether the previous place has the same query."""
        same: Flags = self.query[1:] == self.query[:-1]
        return same

    @cached_property
    def score32(self) -> npt.NDArray[np.float32]:
        """Scores as float32, as in trec_eval 9; infinite beyond 3.4e38."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return self.score.astype(np.float32)

    @cached_property
    def rank_steps(self) -> Ranks:
        """For places 1, 2, …: rank minus the previous rank; 1 where another query begins."""
        return np.where(self.same_query, np.diff(self.rank), self.rank.dtype.type(1))

    @cached_property
    def scores_fall(self) -> bool:
        """Return whether every score is below the previous one of the query, even in 32 bits."""
        return bool(((self.score32[1:] < self.score32[:-1]) | ~self.same_query).all())

    def ties(self, precision: Literal[32, 64]) -> Rows:
        """Return the places with the score of the previous one, compared in 32 or 64 bits."""
        score = self.score32 if precision == 32 else self.score
        return np.flatnonzero((score[1:] == score[:-1]) & self.same_query) + 1

    @cached_property
    def rises(self) -> Rows:
        """Places with a higher rank number and a higher score than the previous one."""
        higher = (self.score[1:] > self.score[:-1]) & (self.rank_steps > 0) & self.same_query
        return np.flatnonzero(higher) + 1

    @cached_property
    def taus(self) -> npt.NDArray[np.float64]:
        """For each query number, Kendall's tau of the orders by rank and by falling score.

        It is computed from the pairs of rows with different ranks and scores (Goodman and Kruskal's
        gamma), so that it is -1 for a reversed ranking with ties. The rows must be in the order of
        their ranks, of which the first :data:`COMPARED_ROWS` are compared. It is not computed (1)
        without :attr:`rises`.
        """
        taus = np.ones(int(self.query.max(initial=0)) + 1)
        for query in np.flatnonzero(np.bincount(self.query[self.rises])):
            start, end = np.searchsorted(self.query, [query, query + 1])
            compared = slice(start, min(end, start + COMPARED_ROWS))
            rank, score = self.rank[compared], self.score[compared]
            is_later = rank[:, None] < rank
            rises, falls = (score[:, None] < score)[is_later], (score[:, None] > score)[is_later]
            taus[query] = (falls.sum() - rises.sum()) / max((falls | rises).sum(), 1)
        return taus

    @cached_property
    def heads(self) -> Rows:
        """First place of each query."""
        heads: Rows = np.flatnonzero(np.diff(self.query.astype(np.int64), prepend=-1))
        return heads

    def first_places(self, n: int) -> Rows:
        """Return the first ``n`` places of each query (all of a shorter query)."""
        sizes = np.diff(self.heads, append=len(self.query))
        numbers = np.arange(n)
        places: Rows = (self.heads[:, None] + numbers)[numbers < sizes[:, None]]
        return places

    @property
    def all_rows(self) -> Rows:
        """The row of the file at each place."""
        return np.arange(len(self.query)) if self.row is None else self.row

    def rows(self, places: npt.NDArray[np.int64]) -> Rows:
        """Return the rows of the file at ``places``."""
        return places if self.row is None else self.row[places]

    def pairs(self, places: Rows) -> Pairs:
        """Return the rows at some places, each with the previous one."""
        return Pairs(self.rows(places), self.rows(places - 1)) if len(places) else NO_PAIRS

    def sorted_by(self, key: npt.NDArray[np.int64 | np.float64]) -> Ordered:
        """Sort the rows of each query by ``key``, lowest first; ties keep their order.

        Rows that are in order are not sorted.
        """
        if ((key[1:] >= key[:-1]) | ~self.same_query).all():
            return self
        order = np.lexsort((key, self.query))
        return Ordered(self.rows(order), self.query, self.rank[order], self.score[order])


def find_repeats(query: npt.NDArray[np.uint32], doc_ids: Ids) -> Pairs:
    """Return the rows whose query and document occurred before, each with the first such row.

    Args:
        query: The number of each row's query.
        doc_ids: Its document.
    """
    keys = doc_ids.hashes() ^ (query * _MIX)
    ordered = np.sort(keys)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(twice):
        return NO_PAIRS
    # By default, NumPy 2.0 fails on some uint64 values.
    rows = np.flatnonzero(np.isin(keys, twice, kind="sort"))
    number, distinct = doc_ids.take(rows).numbered()
    pairs = number + query[rows].astype(np.int64) * len(distinct)
    _, first, group = np.unique(pairs, return_index=True, return_inverse=True)
    firsts = rows[first[group]]
    return Pairs(rows, firsts).filter(firsts != rows)


_MIX = np.uint64(0x9E3779B97F4A7C15)
"""A factor that spreads small numbers over 64 bits."""
