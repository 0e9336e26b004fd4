"""Finding the judged ones among millions of retrieved documents, without a join over all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.formats.tables import Qrels
from trectools_plus.measures.judged import MEMBERSHIP_LEVEL, IntArray
from trectools_plus.validation.matching import folded, folds_to_itself
from trectools_plus.validation.views.order import KeyTable, find_blocks, keys_of

Numbers = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Judgments:
    """Qrels as a table to look documents up in.

    Attributes:
        query_ids: The judged queries, in the order of the qrels.
        query: The query of each judgment, as a position in ``query_ids``.
        doc_ids: The document of each judgment.
        relevance: The grade of each judgment.
        starts: The first judgment of each query, and the number of judgments.
        counts: For each query: whether it has a relevant document, so that it is averaged over.
    """

    query_ids: list[str]
    query: Numbers
    doc_ids: pl.Series
    relevance: IntArray
    starts: IntArray
    counts: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, qrels: Qrels) -> Judgments:
        """Number the queries, and put the judgments of each together.

        Args:
            qrels: Judgments, none of a pair twice.
        """
        frame = qrels.frame
        blocks = find_blocks(frame["query_id"])
        query = blocks.query
        if blocks.interleaved:
            order = np.argsort(query, kind="stable")
            frame, query = frame[order], query[order]
        starts = np.r_[0, np.cumsum(blocks.sizes)]
        relevance = frame["relevance"].to_numpy()
        counts = np.maximum.reduceat(relevance, starts[:-1]) >= MEMBERSHIP_LEVEL
        ids = blocks.query_ids.to_list()
        return cls(ids, query, frame["doc_id"], relevance, starts, counts)

    @cached_property
    def _number_of(self) -> dict[str, int]:
        return {query_id: number for number, query_id in enumerate(self.query_ids)}

    @cached_property
    def _seed(self) -> int | None:
        """A seed with which no two judgments have one key."""
        for seed in range(_SEEDS):
            keys = np.sort(keys_of(self.query, self.doc_ids, seed))
            if not (keys[1:] == keys[:-1]).any():
                return seed
        return None

    @cached_property
    def can_be_found(self) -> bool:
        """Whether :meth:`find` is sure to find every judgment."""
        return self._seed is not None

    @cached_property
    def _table(self) -> KeyTable:
        return KeyTable.of(keys_of(self.query, self.doc_ids, self._seed or 0))

    @cached_property
    def _folds(self) -> KeyTable | None:
        """The ids as they are compared for spelling; ``None`` if they are all plain."""
        if folds_to_itself(self.doc_ids):
            return None
        return KeyTable.of(keys_of(self.query, folded(self.doc_ids), self._seed or 0))

    def numbers(self, query_ids: Sequence[str]) -> IntArray:
        """Positions of queries in ``query_ids``; -1 for those that are not judged."""
        return np.array([self._number_of.get(one, -1) for one in query_ids], np.int64)

    def of_queries(self, numbers: IntArray) -> IntArray:
        """All judgments of some queries, those of each together."""
        starts, ends = self.starts[numbers], self.starts[numbers + 1]
        lengths = ends - starts
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        places: IntArray = np.repeat(starts, lengths) + within
        return places

    def find(self, query: Numbers, doc_ids: pl.Series) -> tuple[IntArray, IntArray]:
        """Find the judged ones among pairs of query number and document.

        Returns:
            Positions among the pairs, ascending, and the judgment of each.
        """
        rows, judgments = self._table.find(keys_of(query, doc_ids, self._seed or 0))
        # A key is a hash: only equal ids are the same pair.
        same = (doc_ids.gather(rows) == self.doc_ids.gather(judgments)).to_numpy()
        same &= query[rows] == self.query[judgments]
        return rows[same], judgments[same]

    def can_only_be_equal(self, doc_ids: pl.Series) -> bool:
        """Whether none of these can be a judged document in another spelling."""
        return self._folds is None and folds_to_itself(doc_ids)

    def count_near(self, query: Numbers, doc_ids: pl.Series, judged: IntArray) -> int:
        """Count documents that are not judged, but are in another spelling.

        Args:
            query: Query numbers.
            doc_ids: Documents.
            judged: Positions of the judged pairs.
        """
        if self.can_only_be_equal(doc_ids):
            return 0
        rows, _ = (self._folds or self._table).find(
            keys_of(query, folded(doc_ids), self._seed or 0)
        )
        return int(np.isin(rows, judged, invert=True).sum())


_SEEDS = 8
