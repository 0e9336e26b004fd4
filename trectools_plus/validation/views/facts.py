"""Facts about the rows of chunks that add up to those of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
import numpy.typing as npt

from trectools_plus.validation.views.places import Places

N_SHOWN_IDS = 3
"""Number of document ids of a file that are shown if no document is judged."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Facts about the rows of a run, or of a chunk of one, that add up to those of the file.

    Attributes:
        third: The values of column 3; two of them if there are more.
        n_other_second: The number of values of column 2 other than 'Q0', if column 3 is constant.
        n_repeated_second: The number of rows with the value of column 2 of an earlier row of the
            query, if column 3 is constant.
        n_other_ranks: The number of ranks that are not whole numbers.
        n_not_counting: The number of chunks that do not have, in each query, falling decimal
            numbers in column 4 and 1, 2, 3 in column 5.
        n_unreadable: The number of scores that are not numbers.
        n_reversed: The number of queries whose ranks and scores are almost completely reversed.
        n_repeating: The number of queries with a repeated document.
        n_copies: The number of rows that equal an earlier row of the query in every field.
        n_ties: The number of rows of other documents with the score of the one before.
        n_changed: The number of ties in 32 bits that trec_eval orders by document.
    """

    third: frozenset[str] = frozenset()
    n_other_second: int = 0
    n_repeated_second: int = 0
    n_other_ranks: int = 0
    n_not_counting: int = 0
    n_unreadable: int = 0
    n_reversed: int = 0
    n_repeating: int = 0
    n_copies: int = 0
    n_ties: int = 0
    n_changed: int = 0

    def __add__(self, later: RunFacts) -> RunFacts:
        """Return the facts about two chunks, which must have different queries."""
        third = frozenset(sorted(self.third | later.third)[:2])
        numbers = (getattr(self, one.name) + getattr(later, one.name) for one in fields(self)[1:])
        return RunFacts(third, *numbers)


@dataclass(frozen=True, slots=True)
class JudgedCounts:
    """Counts of the documents of judged queries, in a run or in a part of one.

    Attributes:
        n_documents: Their number.
        n_judged: The number of judged ones, for scoring only down to the depth that is needed.
        n_shown: The number of documents in the first ``JUDGED_CUTOFF`` of their queries.
        n_judged_shown: The number of judged ones among these.
        n_other_spellings: The number of unjudged ones that are judged in another spelling.
        has_common_documents: Whether a document of the run is judged for any query.
        unjudged: The first few documents, if none is judged.
    """

    n_documents: int = 0
    n_judged: int = 0
    n_shown: int = 0
    n_judged_shown: int = 0
    n_other_spellings: int = 0
    has_common_documents: bool = False
    unjudged: Sequence[str] = ()

    def __add__(self, later: JudgedCounts) -> JudgedCounts:
        """Return the counts of two parts of a run."""
        return JudgedCounts(
            self.n_documents + later.n_documents,
            self.n_judged + later.n_judged,
            self.n_shown + later.n_shown,
            self.n_judged_shown + later.n_judged_shown,
            self.n_other_spellings + later.n_other_spellings,
            self.has_common_documents or later.has_common_documents,
            [*self.unjudged, *later.unjudged][:N_SHOWN_IDS],
        )


@dataclass(frozen=True, slots=True)
class TieSums:
    """Sums of measures over the queries of a run, or of a part of one.

    Attributes:
        lowest: The sum of each measure in the worst order of the ties.
        highest: The sum of each measure in the best order.
        n_changed: The number of queries in which the two differ, for each measure.
        has_ties: Whether there are ties.
        is_defined: False with repeated documents or scores that are not finite.
    """

    lowest: npt.NDArray[np.float64] | float = 0.0
    highest: npt.NDArray[np.float64] | float = 0.0
    n_changed: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, np.int64))
    has_ties: bool = False
    is_defined: bool = True

    def __add__(self, later: TieSums) -> TieSums:
        """Return the sums of two parts of a run."""
        return TieSums(
            self.lowest + later.lowest,
            self.highest + later.highest,
            self.n_changed + later.n_changed,
            self.has_ties or later.has_ties,
            self.is_defined and later.is_defined,
        )


@dataclass(frozen=True, slots=True)
class PairFacts:
    """Facts about the documents of a run, or of a part of one, and their judgments.

    Attributes:
        judged: The numbers of judged documents.
        near: The unjudged documents that are judged in another spelling.
        ties: Sums of measures in the worst and best order of ties.
    """

    judged: JudgedCounts = field(default_factory=JudgedCounts)
    near: Places = field(default_factory=Places)
    ties: TieSums = field(default_factory=TieSums)

    def __add__(self, later: PairFacts) -> PairFacts:
        """Return the facts about two parts of a run, in the order of the file."""
        return PairFacts(self.judged + later.judged, self.near + later.near, self.ties + later.ties)

    def moved(self, n_lines: int) -> PairFacts:
        """Return the facts in a file with ``n_lines`` lines before this part."""
        return replace(self, near=self.near.moved(n_lines))
