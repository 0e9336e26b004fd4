"""A run beside its qrels and topics, as pair rules see them."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np
import polars as pl

from trectools_plus.validation.matching import common_affix, folded, near_matches
from trectools_plus.validation.order import Flags, Rows
from trectools_plus.validation.views import QrelsView, RunView, TableView

JUDGED_CUTOFF = 10


class PairView:
    """A run with the qrels it is to be scored against, or the topics it should answer.

    Args:
        run: The run.
        qrels: The qrels, if given.
        topic_ids: The query ids of the topics, if given.
        at: The side that findings are reported on: its path and its line numbers.
    """

    def __init__(
        self,
        run: RunView,
        qrels: QrelsView | None = None,
        topic_ids: list[str] | None = None,
        at: Literal["run", "qrels"] = "run",
    ) -> None:
        self.run = run
        self.qrels = qrels
        self.topic_ids = topic_ids
        self.at = at

    @property
    def here(self) -> TableView:
        """The side that findings are reported on."""
        return self.run if self.at == "run" or self.qrels is None else self.qrels

    @property
    def there(self) -> TableView:
        """The other side."""
        return self.qrels if self.at == "run" and self.qrels is not None else self.run

    @cached_property
    def run_ids(self) -> list[str]:
        """Query ids of the run."""
        ids: list[str] = self.run.blocks.query_ids.to_list()
        return ids

    @cached_property
    def qrels_ids(self) -> list[str]:
        """Query ids of the qrels."""
        ids: list[str] = self.qrels.blocks.query_ids.to_list() if self.qrels is not None else []
        return ids

    @cached_property
    def shared_ids(self) -> set[str]:
        """Query ids that run and qrels have in common."""
        return set(self.run_ids) & set(self.qrels_ids)

    @cached_property
    def near_queries(self) -> dict[str, tuple[str, str]]:
        """Run query ids that are a judged one in another spelling: that id, and the cause."""
        return near_matches(
            (query_id for query_id in self.run_ids if query_id not in self.shared_ids),
            (query_id for query_id in self.qrels_ids if query_id not in self.shared_ids),
        )

    @cached_property
    def judged(self) -> Flags:
        """For each row of the run: whether its document is judged for its query."""
        if self.qrels is None:
            return np.zeros(self.run.n_rows, np.bool_)
        flags = np.zeros(self.run.n_rows, np.bool_)
        judged_ids = self.qrels.frame["doc_id"].unique()
        rows = self.run.frame["doc_id"].is_in(judged_ids.implode()).arg_true()
        # Documents judged for some query are few; only their pairs are compared.
        pairs = self.run.frame.select("query_id", "doc_id")[rows].with_columns(row=rows)
        judgments = self.qrels.frame.select("query_id", "doc_id")
        judged = pairs.join(judgments, on=["query_id", "doc_id"], how="semi")["row"]
        flags[judged.to_numpy()] = True
        return flags

    @cached_property
    def in_shared_query(self) -> Flags:
        """For each row of the run: whether its query is judged."""
        of_query = self.run.blocks.query_ids.is_in(list(self.shared_ids)).to_numpy()
        flags: Flags = of_query[self.run.blocks.query]
        return flags

    def judged_at_cutoff(self) -> float:
        """Share of judged documents among the first 10 of each judged query."""
        scored = self.run.scored
        places = np.arange(self.run.n_rows)
        heads = np.concatenate([[True], ~scored.same_query])
        position = places - np.maximum.accumulate(np.where(heads, places, 0))
        rows = scored.rows(places[position < JUDGED_CUTOFF])
        rows = rows[self.in_shared_query[rows]]
        return float(self.judged[rows].mean()) if len(rows) else 0.0

    @cached_property
    def near_documents(self) -> pl.DataFrame:
        """``row, doc_id, other``: unjudged rows, and a judged id that differs only in spelling.

        ``other`` is equal to ``doc_id`` but for case, normal form or invisible characters.
        """
        assert self.qrels is not None
        theirs = self.qrels.frame.select(
            "query_id", other="doc_id", fold=folded(self.qrels.frame["doc_id"])
        )
        folds = folded(self.run.frame["doc_id"])
        known = folds.is_in(theirs["fold"].unique().implode()).to_numpy()
        rows = np.flatnonzero(known & self.in_shared_query & ~self.judged)
        ours = self.run.frame.select("query_id", "doc_id", fold=folds)[rows]
        near = ours.with_columns(row=pl.Series(rows)).join(theirs, on=["query_id", "fold"])
        return near.unique("row", keep="first").sort("row").drop("fold", "query_id")

    @cached_property
    def document_affix(self) -> tuple[str, str, Rows] | None:
        """``side, kind and text`` of an affix that one side's document ids have, if none is judged.

        Returns:
            Which side has it ("run" or "qrels"), the affix as "prefix 'x'", and the run's rows
            that carry it.
        """
        if self.qrels is None or bool(self.judged.any()):
            return None
        rows = np.flatnonzero(self.in_shared_query)
        ours = self.run.frame["doc_id"].gather(rows)
        run_ids = ours.unique(maintain_order=True)
        judged_ids = self.qrels.frame["doc_id"].unique(maintain_order=True)
        found = common_affix(run_ids, judged_ids)
        if found is not None:
            kind, text = found
            test = ours.str.starts_with if kind == "prefix" else ours.str.ends_with
            return "run", f"{kind} '{text}'", rows[test(text).to_numpy()]
        found = common_affix(judged_ids, run_ids)
        if found is not None:
            return "qrels", f"{found[0]} '{found[1]}'", rows
        return None
