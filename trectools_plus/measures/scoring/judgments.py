"""Qrels with a hash table of judged documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from trectools_plus.formats.columns.ids import Ids, PairTable
from trectools_plus.measures.judged import Grades, IntArray
from trectools_plus.validation.id_matching import folded
from trectools_plus.validation.views.qrels import QrelsView

if TYPE_CHECKING:
    from trectools_plus.formats.tables import Qrels


@dataclass(frozen=True, eq=False)
class Judgments(Grades):
    """Qrels with a hash table of the judged documents.

    Attributes:
        doc_ids: The document of each judgment.
        view: The qrels as the rules check them.
    """

    doc_ids: Ids
    view: QrelsView

    @classmethod
    def of(cls, qrels: Qrels) -> Judgments:
        """Use the judgments of a table."""
        return cls.of_view(QrelsView.of_table(qrels))

    @classmethod
    def of_view(cls, qrels: QrelsView) -> Judgments:
        """Group judgments by query; of repeated ones, the first counts."""
        rows, blocks = qrels.rows, qrels.blocks
        order = np.arange(qrels.n_rows)
        if len(qrels.repeats):
            order = np.setdiff1d(order, qrels.repeats.row)
        query = blocks.query[order]
        if blocks.interleaved:
            by_query = np.argsort(query, kind="stable")
            order, query = order[by_query], query[by_query]
        starts = np.r_[0, np.cumsum(np.bincount(query, minlength=len(blocks.query_ids)))]
        is_whole = len(order) == qrels.n_rows and not blocks.interleaved
        doc_ids = rows.doc_ids if is_whole else rows.doc_ids.take(order)
        return cls(blocks.query_ids, rows.grades.values[order], starts, doc_ids, qrels)

    @cached_property
    def _number_of(self) -> dict[str, int]:
        return {query_id: number for number, query_id in enumerate(self.query_ids)}

    @cached_property
    def _table(self) -> PairTable:
        if self.doc_ids is self.view.doc_ids:  # in the order of the rows
            return self.view.pairs
        return PairTable.of(self.doc_ids, self.query)

    @cached_property
    def _folded_table(self) -> PairTable:
        if self.doc_ids is self.view.doc_ids:
            return self.view.folded_pairs
        folds = folded(self.doc_ids)
        return self._table if folds is self.doc_ids else PairTable.of(folds, self.query)

    def numbers(self, query_ids: Sequence[str]) -> IntArray:
        """Return the positions of queries in ``query_ids``; -1 for queries that are not judged."""
        return np.array([self._number_of.get(one, -1) for one in query_ids], np.int64)

    def find(self, query: IntArray, doc_ids: Ids) -> tuple[IntArray, IntArray]:
        """Find the judged pairs of query number and document.

        Returns:
            Positions of judged pairs, ascending, and the judgment of each.
        """
        return self._table.find(doc_ids, query)

    def has_any(self, doc_ids: Ids) -> bool:
        """Return whether one of the documents is judged for any query."""
        return self._table.has_any(doc_ids)

    @property
    def has_folded_ids(self) -> bool:
        """Return whether folding changes no document id, so that only ids of runs need it."""
        return self._folded_table is self._table

    def other_spellings(
        self, query: IntArray, doc_ids: Ids, judged: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Find unjudged documents that are judged in another spelling.

        Args:
            query: Query numbers.
            doc_ids: Documents.
            judged: Positions of the judged pairs; not used if :attr:`has_folded_ids`.

        Returns:
            Positions of such pairs, ascending, and the judgment of each.
        """
        rows = doc_ids.rows_that_fold() if self.has_folded_ids else np.arange(len(doc_ids))
        found, judgments = self._folded_table.find(folded(doc_ids.take(rows)), query[rows])
        rows = rows[found]
        if self.has_folded_ids:  # a judged id is the id of its judgment
            is_other = ~doc_ids.take(rows).equal(self.doc_ids.take(judgments))
        else:
            is_other = np.isin(rows, judged, invert=True)
        return rows[is_other], judgments[is_other]
