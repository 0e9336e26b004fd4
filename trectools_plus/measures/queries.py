"""The queries that are scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Self

from trectools_plus.choices import NoRelevant

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

RELEVANT = 1
"""A query has a relevant document if it has one of this grade or more; the same for all measures,
whatever their relevance level."""


@dataclass(frozen=True, eq=False)
class ScoredQueries:
    """The queries of the qrels that are scored: all of them, or those with a relevant document.

    Attributes:
        query_ids: The scored queries, in the order of the qrels.
        without_relevant: The queries of the qrels without a document of grade 1 or more, scored or
            not.
        highest: The highest grade of each query of ``query_ids``.
    """

    query_ids: list[str]
    without_relevant: list[str]
    highest: list[int]

    def lacks_relevant(self, levels: Sequence[int]) -> npt.NDArray[np.bool_]:
        """Return which queries have no document of each relevance level, or of grade 1.

        Returns:
            Shape (queries, levels).
        """
        import numpy as np

        return np.array(self.highest)[:, np.newaxis] < np.maximum(levels, RELEVANT)

    def counted(self, no_relevant: NoRelevant) -> Self:
        """Return the queries of which means are made."""
        return self if no_relevant == "zero" else self.with_relevant

    @cached_property
    def with_relevant(self) -> Self:
        """The same without the queries that have no relevant document."""
        if not self.without_relevant:
            return self
        has_relevant = [highest >= RELEVANT for highest in self.highest]
        query_ids = list(compress(self.query_ids, has_relevant))
        return replace(
            self, query_ids=query_ids, highest=list(compress(self.highest, has_relevant))
        )
