"""Qrels with a hash table of judged documents, for run files that are read in chunks by Polars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.formats.tables import Qrels
from trectools_plus.measures.judged import Grades, IntArray
from trectools_plus.validation.id_matching import folded, folds_to_itself
from trectools_plus.validation.views.order import KeyTable, find_blocks, keys_of

Numbers = npt.NDArray[np.uint32]

_N_SEEDS = 8


@dataclass(frozen=True, eq=False)
class Judgments(Grades):
    """Qrels with a hash table of the judged documents, which avoids a join over all retrieved ones.

    Attributes:
        doc_ids: The document of each judgment.
    """

    doc_ids: pl.Series

    @classmethod
    def of(cls, qrels: Qrels) -> Judgments:
        """Number the queries, and group the judgments by query.

        Args:
            qrels: Judgments, each pair once.
        """
        frame = qrels.frame
        blocks = find_blocks(frame["query_id"])
        if blocks.interleaved:
            frame = frame[np.argsort(blocks.query, kind="stable")]
        starts = np.r_[0, np.cumsum(blocks.sizes)]
        ids = blocks.query_ids.to_list()
        return cls(ids, frame["relevance"].to_numpy(), starts, frame["doc_id"])

    @cached_property
    def _number_of(self) -> dict[str, int]:
        return {query_id: number for number, query_id in enumerate(self.query_ids)}

    @cached_property
    def _keyed_query(self) -> Numbers:
        return self.query.astype(np.uint32)

    @cached_property
    def _seed(self) -> int | None:
        """A seed with which no two judgments have the same key; ``None`` if none was found."""
        for seed in range(_N_SEEDS):
            keys = np.sort(keys_of(self._keyed_query, self.doc_ids, seed))
            if not (keys[1:] == keys[:-1]).any():
                return seed
        return None

    @cached_property
    def keys_are_unique(self) -> bool:
        """True if all judgments have different keys, so that :meth:`find` finds each of them."""
        return self._seed is not None

    @cached_property
    def _table(self) -> KeyTable:
        return KeyTable.of(keys_of(self._keyed_query, self.doc_ids, self._seed or 0))

    @cached_property
    def _folds(self) -> KeyTable | None:
        """Keys of the normalised ids, to compare spellings; ``None`` if all ids are normalised."""
        if folds_to_itself(self.doc_ids):
            return None
        return KeyTable.of(keys_of(self._keyed_query, folded(self.doc_ids), self._seed or 0))

    def numbers(self, query_ids: Sequence[str]) -> IntArray:
        """Return the positions of queries in ``query_ids``; -1 for queries that are not judged."""
        return np.array([self._number_of.get(one, -1) for one in query_ids], np.int64)

    def find(self, query: Numbers, doc_ids: pl.Series) -> tuple[IntArray, IntArray]:
        """Find the judged pairs of query number and document.

        Returns:
            Positions of judged pairs, ascending, and the judgment of each.
        """
        rows, judgments = self._table.find(keys_of(query, doc_ids, self._seed or 0))
        # Keys are hashes, so equal keys may belong to different pairs.
        same = (doc_ids.gather(rows) == self.doc_ids.gather(judgments)).to_numpy()
        same &= query[rows] == self.query[judgments]
        return rows[same], judgments[same]

    def has_any(self, doc_ids: pl.Series) -> bool:
        """Return whether one of the documents is judged for any query."""
        return bool(doc_ids.is_in(self.doc_ids.implode()).any())

    def has_no_other_spelling(self, doc_ids: pl.Series) -> bool:
        """Return whether none of the ids can be a judged one in another spelling."""
        return self._folds is None and folds_to_itself(doc_ids)

    def count_other_spellings(self, query: Numbers, doc_ids: pl.Series, judged: IntArray) -> int:
        """Count unjudged documents that are judged in another spelling.

        Args:
            query: Query numbers.
            doc_ids: Documents.
            judged: Positions of the judged pairs.
        """
        if self.has_no_other_spelling(doc_ids):
            return 0
        rows, _ = (self._folds or self._table).find(
            keys_of(query, folded(doc_ids), self._seed or 0)
        )
        return int(np.isin(rows, judged, invert=True).sum())
