"""Facts about the rows of chunks that add up to those of a file."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Self

from trectools_plus.validation.views.places import Places

N_SHOWN_IDS = 3
"""Number of document ids of a file that are shown if no document is judged."""


class Sums:
    """A data class whose fields add up."""

    def __add__(self, later: Self) -> Self:
        """Return the facts about two chunks with different queries, in the order of the file."""
        names = [one.name for one in fields(self)]  # type: ignore[arg-type]
        return type(self)(*(getattr(self, name) + getattr(later, name) for name in names))


@dataclass(frozen=True, slots=True)
class RunFacts(Sums):
    """Facts about the rows of a run, or of a chunk of one, that add up to those of the file.

    Attributes:
        third: Values of column 3: all if there is only one, otherwise two of each chunk.
        n_other_second: The number of values of column 2 other than 'Q0', if column 3 is constant.
        n_repeated_second: The number of rows with the value of column 2 of an earlier row of the
            query, if column 3 is constant.
        n_not_counting: The number of chunks that do not have, in each query, falling numbers in
            column 4, of which some are not whole, and 1, 2, 3 in column 5.
        n_reversed: The number of queries whose ranks and scores are almost completely reversed.
        n_copies: The number of rows that equal an earlier row of the query in every field.
    """

    third: tuple[str, ...] = ()
    n_other_second: int = 0
    n_repeated_second: int = 0
    n_not_counting: int = 0
    n_reversed: int = 0
    n_copies: int = 0


@dataclass(frozen=True, slots=True)
class PairFacts(Sums):
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
    near: Places = field(default_factory=Places)
    tie_change: float = 0.0
    n_tie_changes: int = 0

    def moved(self, n_lines: int) -> PairFacts:
        """Return the facts in a file with ``n_lines`` lines before this part."""
        return replace(self, near=self.near.moved(n_lines))
