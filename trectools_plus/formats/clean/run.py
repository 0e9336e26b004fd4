"""Clean chunks of runs: regular lines without any problem that blocks scoring."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from trectools_plus.formats.clean.decimals import Decimals, parse_decimals
from trectools_plus.formats.clean.lines import Layout, Lines, find_ends, line_starts, scan_lines
from trectools_plus.formats.clean.words import KEPT, Flags, Ids, Rows, Text, Word

MAX_DEPTH = 100_000
"""The greatest number of results of a query in a clean chunk."""

_N_FIELDS = 6
_MAX_TAG = 64


@dataclass(frozen=True, eq=False)
class CleanRun:
    """Rows of some queries of a run, in the order of the file.

    Each row has six fields, and a query's rows are adjacent. Ranks count up by 1 from 0 or 1. No
    document occurs twice in a query, and no score is above the previous one. All texts are
    printable ASCII characters.

    Attributes:
        query_ids: The queries.
        starts: The first row of each query, followed by the number of rows.
        scores: The scores (float64, finite).
        doc_ids: The documents.
        tag: The last field of all rows.
        second: The second field of all rows.
        first_rank: The rank of the first row of each query: 0 or 1.
        layout: How the lines of the file are written.
        retrieves_itself: Whether a document id is the query id of its row.
    """

    query_ids: list[str]
    starts: Rows
    scores: npt.NDArray[np.float64]
    doc_ids: Ids
    tag: str
    second: str
    first_rank: int
    layout: Layout
    retrieves_itself: bool

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.scores)

    @cached_property
    def lengths(self) -> Rows:
        """The number of rows of each query."""
        return np.diff(self.starts)

    @cached_property
    def query(self) -> Rows:
        """For each row, the position of its query."""
        return np.repeat(np.arange(len(self.query_ids)), self.lengths)

    @cached_property
    def scores_fall(self) -> bool:
        """True if each score of a query is below the previous one, even in 32 bits."""
        return len(self._ties(32)) == 0

    def _ties(self, precision: int) -> Rows:
        """Return the rows whose score equals that of the previous row of the query."""
        scores = self.scores
        if precision == 32:
            with np.errstate(over="ignore", under="ignore"):
                scores = scores.astype(np.float32)
        equal = scores[1:] == scores[:-1]
        equal[self.starts[1:-1] - 1] = False
        return np.flatnonzero(equal) + 1

    def ends_of_ties(self, rows: Rows) -> Rows:
        """Return the first row from each of some rows on whose score is not a tie in 32 bits."""
        ties = self._ties(32)
        if not len(ties):
            return rows
        is_tie = np.zeros(self.n_rows + 1, np.bool_)
        is_tie[ties] = True
        others = np.flatnonzero(~is_tie)
        return others.take(np.searchsorted(others, rows), mode="clip")

    @cached_property
    def ties(self) -> Ties:
        """The equal scores."""
        return Ties.of(self)

    def ranks(self, rows: Rows, precision: int = 32) -> Rows:
        """Return the ranks, from 1, of some rows in the canonical ranking.

        Args:
            rows: The rows.
            precision: The number of bits in which scores are compared: 32 or 64.
        """
        ties = self._ties(precision)
        places = rows
        if len(ties):
            places = np.arange(self.n_rows)
            tied = np.union1d(ties, ties - 1)
            groups = np.ones(len(tied), np.int64)
            groups[np.searchsorted(tied, ties)] = 0
            ids = self.doc_ids.take(tied)
            keys = [~key for key in ids.sort_keys()]
            order = np.lexsort((*keys, np.cumsum(groups)))
            places[tied[order]] = tied
            places = places[rows]
        ranks: Rows = places - self.starts.take(self.query.take(rows)) + 1
        return ranks


@dataclass(frozen=True, slots=True)
class Ties:
    """Equal scores in a chunk.

    Attributes:
        n_ties: The number of rows whose score equals the previous one of the query.
        n_in_32_bits: The number of rows whose score equals the previous one only in 32 bits.
        n_against_ids: The number of rows of ``n_ties`` that trec_eval ranks above the previous row,
            because the document id is higher.
    """

    n_ties: int = 0
    n_in_32_bits: int = 0
    n_against_ids: int = 0

    @classmethod
    def of(cls, run: CleanRun) -> Ties:
        """Find the ties of a chunk."""
        if run.scores_fall:
            return cls()
        in_32_bits = run._ties(32)
        equal = run.scores[in_32_bits] == run.scores[in_32_bits - 1]
        places = in_32_bits[equal]
        return cls(
            len(places),
            len(in_32_bits) - len(places),
            int(np.count_nonzero(_is_higher(run.doc_ids, places))),
        )


def _is_higher(ids: Ids, rows: Rows) -> Flags:
    """Return whether the id of each row is higher than that of the previous row, in bytes."""
    here, before = ids.take(rows).sort_keys(), ids.take(rows - 1).sort_keys()
    higher = np.zeros(len(rows), np.bool_)
    for ours, theirs in zip(here, before, strict=True):  # the first bytes come last
        higher = np.where(ours == theirs, higher, ours > theirs)
    return higher


def scan_run(data: bytes) -> CleanRun | None:
    """Read whole lines of a run, if they are clean.

    Args:
        data: At least one line. The last line end may be missing.

    Returns:
        The rows; ``None`` if a line is unusual, breaks a rule that blocks scoring, or may be read
        in another way by another reader of this package.
    """
    return scan_lines(data, _N_FIELDS, _scan)


def _scan(lines: Lines) -> CleanRun | None:
    text, ends = lines.text, find_ends(lines, _N_FIELDS)
    if ends is None:
        return None
    starts = line_starts(lines, ends)
    separator, *fields = _first_line(text, ends)
    second, first_rank, tag = fields[1], fields[3], fields[5]
    # Each line has the separators, words and ranks that are expected from the first line.
    if not (
        separator in (b" ", b"\t")
        and len(tag) <= _MAX_TAG
        and text.has_everywhere(ends[0], separator + second + separator)
        and text.has_everywhere(ends[4], separator + tag + lines.line_end)
    ):
        return None
    if (ends[0] - starts).min() < 1 or (ends[2] - ends[1]).min() < 2:
        return None
    query = Ids.of(text, starts, ends[0])
    doc_ids = Ids.of(text, ends[1] + 1, ends[2])
    if query is None or doc_ids is None:
        return None
    heads = np.concatenate([[0], np.flatnonzero(query.changes()) + 1, [len(query)]])
    query_ids = query.texts(heads[:-1])
    if not _are_queries(query_ids) or not _have_ranks(text, ends[2], heads, separator + first_rank):
        return None
    if second.upper() != b"Q0" and fields[2].upper() == b"Q0":
        return None  # the columns may be swapped
    scores = parse_decimals(text, ends[3], ends[4])
    if scores is None or not _is_ranked(scores, heads) or has_repeats(doc_ids, heads):
        return None
    return CleanRun(
        query_ids, heads, scores.values, doc_ids, tag.decode(), second.decode(),
        int(first_rank), lines.layout, bool(query.equal(doc_ids).any()),
    )  # fmt: skip


def _first_line(text: Text, ends: Rows) -> list[bytes]:
    """Return the first separator, and the fields of the first line."""
    bounds = [-1, *ends[:, 0].tolist()]
    fields = [text.cut(bounds[at] + 1, bounds[at + 1]) for at in range(len(ends))]
    return [text.cut(bounds[1], bounds[1] + 1), *fields]


def _are_queries(query_ids: list[str]) -> bool:
    """Return whether ids are different and do not begin a comment."""
    return len(set(query_ids)) == len(query_ids) and not any(one[0] == "#" for one in query_ids)


def _have_ranks(text: Text, places: Rows, heads: Rows, first: bytes) -> bool:
    """Return whether the ranks of each query count up by 1 from 0 or 1.

    Args:
        text: The text.
        places: The separator before each rank.
        heads: The first row of each query, and the number of rows.
        first: The first separator and rank.
    """
    lengths = np.diff(heads)
    deepest = int(lengths.max())
    if first[1:] not in (b"0", b"1") or deepest > MAX_DEPTH:
        return False
    ranks = slice(int(first[1:]), None)
    words, masks = (table[ranks] for table in _words_of_ranks(first[0], deepest + 1))
    if len(lengths) * _ROWS_WORTH_A_SLICE < len(places):
        words, masks = (
            np.concatenate([table[:length] for length in lengths.tolist()])
            for table in (words, masks)
        )
    else:
        numbers = np.arange(len(places)) - np.repeat(heads[:-1], lengths)
        words, masks = words.take(numbers), masks.take(numbers)
    found = text.words_at(places)
    found &= masks
    return bool((found == words).all())


_ROWS_WORTH_A_SLICE = 16
_rank_tables: dict[int, tuple[Word, Word]] = {}


def _words_of_ranks(separator: int, n: int) -> tuple[Word, Word]:
    """Return the words of the numbers from 0 to ``n`` between separators, and their masks."""
    if separator not in _rank_tables or len(_rank_tables[separator][0]) <= n:
        numbers = np.arange(max(2 * n, 1024))
        digits = numbers.astype("S8").view(np.dtype("<u8")).astype(np.uint64)
        n_digits = sum(numbers >= 10**power for power in range(1, 8)) + 1
        mark = np.uint64(separator)
        shift = ((n_digits + 1) * 8).astype(np.uint64)
        words = mark | digits << np.uint64(8) | mark << shift
        _rank_tables[separator] = words, KEPT.take(n_digits + 2, mode="clip")
    return _rank_tables[separator]


def has_repeats(ids: Ids, heads: Rows) -> bool:
    """Return whether a document occurs twice in a query."""
    lengths = np.diff(heads)
    n_bits = len(lengths).bit_length()
    query = np.repeat(np.arange(len(lengths), dtype=np.uint64) << np.uint64(64 - n_bits), lengths)
    keys = ids.hashes()
    keys >>= np.uint64(n_bits)
    keys |= query
    ordered = np.sort(keys)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(twice):
        return False
    # By default, NumPy 2.0 fails on some uint64 values.
    rows = np.flatnonzero(np.isin(keys, twice, kind="sort"))
    found = ids.take(rows)
    order = np.lexsort((*found.words, query[rows]))
    found, of_query = found.take(order), query[rows][order]
    return bool((~found.changes() & (of_query[1:] == of_query[:-1])).any())


def _is_ranked(scores: Decimals, heads: Rows) -> bool:
    """Return whether no score is above the previous one, and ties have a known reason.

    A query in which all scores are equal, and scores that may differ only beyond 64 bits, are for
    the rules on ties.
    """
    values = scores.values
    begins = heads[1:-1] - 1
    rises = values[1:] > values[:-1]
    rises[begins] = False
    if rises.any():
        return False
    equal = values[1:] == values[:-1]
    equal[begins] = False
    if not equal.any():
        return True
    if scores.may_differ(np.flatnonzero(equal) + 1):
        return False
    n_equal = np.add.reduceat(np.concatenate([[False], equal]), heads[:-1], dtype=np.int64)
    lengths = np.diff(heads)
    return not bool(((n_equal == lengths - 1) & (lengths > 1)).any())
