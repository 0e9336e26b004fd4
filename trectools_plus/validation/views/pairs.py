"""The view of a run with its qrels and topics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from trectools_plus.errors import UsageError
from trectools_plus.formats.files.content import BOM
from trectools_plus.formats.files.source import read_source
from trectools_plus.validation.id_matching import (
    common_affix,
    folded,
    folds_to_itself,
    near_matches,
)
from trectools_plus.validation.limits import JUDGED_CUTOFF
from trectools_plus.validation.views.order import (
    Flags,
    KeyTable,
    Rows,
    find_rows,
    keys_of,
    row_slices,
)
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.runs import RunView
from trectools_plus.validation.views.tables import TableView


@dataclass(frozen=True, eq=False)
class DocumentIds:
    """The document ids of a collection.

    Attributes:
        ids: All document ids; ``None`` if there is no list.
        pattern: A regular expression (without look-around) that must match each id as a whole.

    Raises:
        UsageError: If the pattern is not a regular expression.
    """

    ids: pl.Series | None = None
    pattern: str | None = None

    def __post_init__(self) -> None:
        if self.pattern is None:
            return
        try:
            pl.Series([""]).str.contains(self._whole_pattern)
        except pl.exceptions.ComputeError as error:
            raise UsageError(
                f"'{self.pattern}' is not a regular expression: {_reason(error)}",
                where="--docid-pattern",
                remedy="write one like 'HP:[0-9]{7}', without look-around",
            ) from None

    @property
    def _whole_pattern(self) -> str:
        return f"^(?:{self.pattern})$"

    def lacks(self, doc_ids: pl.Series) -> Flags:
        """Return, for each id, whether it is not in the collection."""
        known = pl.repeat(True, doc_ids.len(), eager=True)
        if self.ids is not None:
            known &= doc_ids.is_in(self.ids.implode())
        if self.pattern is not None:
            known &= doc_ids.str.contains(self._whole_pattern)
        flags: Flags = (~known).to_numpy()
        return flags


def read_document_ids(path: str | Path) -> pl.Series:
    """Read a list of document ids, one per line, compressed or not; skip blank lines.

    Raises:
        InputError: If the file cannot be read.
    """
    data = read_source(path).data.removeprefix(BOM)
    text = data.decode("utf-8", "replace")
    lines = pl.Series("doc_id", [text]).str.split("\n").explode().str.strip_chars(" \t\r")
    return lines.filter(lines != "")


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reasons = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return reasons[0] if reasons else "it cannot be parsed"


class PairView:
    """A run with the qrels that it is scored with, or the topics that it should answer.

    Args:
        run: The run.
        qrels: The qrels, if given.
        topic_ids: The query ids of the topics, if given.
        report_on: The file whose path and line numbers the findings contain.
        collection: The document ids of the collection, if known.
    """

    def __init__(
        self,
        run: RunView,
        qrels: QrelsView | None = None,
        topic_ids: list[str] | None = None,
        report_on: Literal["run", "qrels"] = "run",
        collection: DocumentIds | None = None,
    ) -> None:
        self.run = run
        self.qrels = qrels
        self.topic_ids = topic_ids
        self.report_on = report_on
        self.collection = collection

    @property
    def reported_view(self) -> TableView:
        """The file that findings are reported on."""
        return self.run if self.report_on == "run" or self.qrels is None else self.qrels

    @property
    def other_view(self) -> TableView:
        """The other file of the two."""
        return self.qrels if self.report_on == "run" and self.qrels is not None else self.run

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
        """For query ids of the run that the qrels spell differently: the other id and the cause."""
        near = near_matches(self.run_ids, self.qrels_ids)
        topics = set(self.topic_ids or ())
        # Two topics are two queries, even if their ids are similar.
        return {
            ours: (theirs, cause)
            for ours, (theirs, cause) in near.items()
            if not (ours in topics and theirs in topics)
        }

    @cached_property
    def judgments(self) -> pl.DataFrame:
        """``query, doc_id`` of the judgments of the run's queries, numbered as in the run."""
        assert self.qrels is not None
        numbers = pl.DataFrame({"id": self.run.blocks.query_ids}).with_row_index("query")
        ids = pl.DataFrame({"id": self.qrels.blocks.query_ids})
        in_run = ids.join(numbers, on="id", how="left", maintain_order="left")["query"]
        query = in_run.gather(self.qrels.blocks.query)
        table = pl.DataFrame({"query": query, "doc_id": self.qrels.frame["doc_id"]})
        return table.drop_nulls("query").cast({"query": pl.UInt32})

    @cached_property
    def judged_rows(self) -> Rows:
        """Rows of the run whose document is judged for its query, ascending."""
        if self.qrels is None:
            return np.empty(0, np.int64)
        judgments = self.judgments
        table = KeyTable.of(keys_of(judgments["query"].to_numpy(), judgments["doc_id"]))
        query, doc_ids = self.run.blocks.query, self.run.frame["doc_id"]

        def find(begin: int, end: int) -> Rows:
            keys = keys_of(query[begin:end], doc_ids.slice(begin, end - begin))
            return table.find(keys)[0] + begin

        rows = find_rows(find, row_slices(self.run.n_rows))
        likely = pl.DataFrame({"query": query[rows], "doc_id": doc_ids.gather(rows), "row": rows})
        found = likely.join(judgments, on=["query", "doc_id"], how="semi", maintain_order="left")
        return found["row"].to_numpy()

    @cached_property
    def judged(self) -> Flags:
        """For each row of the run: whether its document is judged for its query."""
        flags = np.zeros(self.run.n_rows, np.bool_)
        flags[self.judged_rows] = True
        return flags

    @cached_property
    def in_shared_query(self) -> Flags:
        """For each row of the run: whether its query is judged."""
        of_query = self.run.blocks.query_ids.is_in(list(self.shared_ids)).to_numpy()
        flags: Flags = of_query.take(self.run.blocks.query)
        return flags

    @cached_property
    def has_common_documents(self) -> bool:
        """Return whether a document id of the run occurs in the qrels, for any query."""
        assert self.qrels is not None
        judged = self.qrels.frame["doc_id"].unique()
        return bool(self.run.frame["doc_id"].is_in(judged.implode()).any())

    def judged_at_cutoff(self) -> float:
        """Return Judged@10: the share of judged documents in the first 10 results, from 0 to 1.

        The mean is over all these results of the judged queries.
        """
        scored = self.run.scored
        rows = scored.rows(scored.first_places(JUDGED_CUTOFF))
        rows = rows[self.in_shared_query[rows]]
        return float(self.judged[rows].mean()) if len(rows) else 0.0

    @cached_property
    def near_documents(self) -> pl.DataFrame:
        """``doc_id, row, other``: unjudged rows, and a judged id that differs only in spelling.

        ``other`` equals ``doc_id`` apart from case, normal form or invisible characters.
        """
        judgments = self.judgments
        theirs = judgments.select("query", other="doc_id", fold=folded(judgments["doc_id"]))
        table = KeyTable.of(keys_of(theirs["query"].to_numpy(), theirs["fold"]))
        all_plain = not bool((theirs["fold"] != theirs["other"]).any())
        query, doc_ids = self.run.blocks.query, self.run.frame["doc_id"]

        def find(begin: int, end: int) -> Rows:
            ours = doc_ids.slice(begin, end - begin)
            if folds_to_itself(ours):
                # If no id changes when folded, equal folded ids are equal ids.
                return np.empty(0, np.int64) if all_plain else self._unjudged(table, begin, ours)
            return self._unjudged(table, begin, folded(ours))

        rows = find_rows(find, row_slices(self.run.n_rows))
        ours = pl.DataFrame({"query": query[rows], "doc_id": doc_ids.gather(rows), "row": rows})
        ours = ours.with_columns(fold=folded(ours["doc_id"]))
        near = ours.join(theirs, on=["query", "fold"], maintain_order="left_right")
        return near.unique("row", keep="first").sort("row").select("doc_id", "row", "other")

    def _unjudged(self, table: KeyTable, begin: int, folds: pl.Series) -> Rows:
        """Return unjudged rows of a slice whose folded document id may be in ``table``."""
        query = self.run.blocks.query[begin : begin + folds.len()]
        rows = table.find(keys_of(query, folds))[0] + begin
        return rows[~self.judged[rows]]

    @cached_property
    def document_affix(self) -> tuple[str, str, Rows] | None:
        """A prefix or suffix that only the ids of one file have, if they have no id in common.

        Returns:
            The file with the affix ("run" or "qrels"), the affix as "prefix 'x'", and the rows of
            the run that have it (for "qrels": that lack it).
        """
        if self.qrels is None or len(self.judged_rows) or self.has_common_documents:
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
