"""The view of a run with its qrels and topics, and changes of measures by the order within ties.

AP and nDCG are computed as in trec_eval: ``map`` (relevant from grade 1 on, divided by all relevant
documents of the query) and ``ndcg`` (gain = grade, discount log2(1 + rank), whole depth). Only
relevant documents contribute to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from trectools_plus.errors import UsageError
from trectools_plus.formats.columns.ids import Flags, Rows
from trectools_plus.formats.files.content import BOM, read_file
from trectools_plus.validation.registry import JUDGED_CUTOFF
from trectools_plus.validation.views.facts import N_SHOWN_IDS, JudgedCounts, PairFacts, TieSums
from trectools_plus.validation.views.id_matching import near_matches, unify_spellings
from trectools_plus.validation.views.order import places_in_query
from trectools_plus.validation.views.places import Places
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.runs import RunView
from trectools_plus.validation.views.tables import Numbers, TableView

if TYPE_CHECKING:
    import polars as pl


def near_places(run: RunView, rows: Rows, theirs: str) -> Places:
    """Return unjudged rows whose document is judged in another spelling as places.

    Args:
        run: The run.
        rows: The rows.
        theirs: The first of these documents as the qrels spell it.
    """
    places = run.places(rows)
    return replace(places, first={**places.first, "theirs": theirs})


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
        import polars as pl

        try:
            pl.Series([""]).str.contains(self._whole_pattern)
        except pl.exceptions.ComputeError:
            raise UsageError(
                f"'{self.pattern}' is not a regular expression",
                where="--docid-pattern",
                remedy="write one like 'HP:[0-9]{7}', without look-around",
            ) from None

    @property
    def _whole_pattern(self) -> str:
        return f"^(?:{self.pattern})$"

    def lacks(self, doc_ids: pl.Series) -> Flags:
        """Return, for each id, whether it is not in the collection."""
        import polars as pl

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
    import polars as pl

    data = read_file(path).data.removeprefix(BOM)
    text = data.decode("utf-8", "replace")
    lines = pl.Series("doc_id", [text]).str.split("\n").explode().str.strip_chars(" \t\r")
    return lines.filter(lines != "")


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
    def answers(self) -> Mapping[tuple[str, int], Places] | None:
        """The places that break rules, if the run was read in chunks."""
        return self.run.answers

    @property
    def rows_view(self) -> RunView:
        """The file that has the rows that rules find."""
        return self.run

    @cached_property
    def facts(self) -> PairFacts:
        """The facts about the documents of the run and their judgments."""
        if self.run.answers is not None:
            return self.run.pair_facts
        if self.qrels is None:
            return PairFacts()
        rows, judgments = self.near_documents
        near = near_places(self.run, rows, self.qrels.doc_id(judgments[0]) if len(rows) else "")
        ties = tie_sums(self) if self.report_on == "run" else TieSums()
        return PairFacts(self.judged_counts, near, ties)

    @property
    def reported_view(self) -> TableView:
        """The file that findings are reported on."""
        return self.run if self.report_on == "run" or self.qrels is None else self.qrels

    @property
    def other_view(self) -> TableView:
        """The other file of the two."""
        return self.qrels if self.report_on == "run" and self.qrels is not None else self.run

    @property
    def run_ids(self) -> list[str]:
        """Query ids of the run."""
        return self.run.query_ids

    @property
    def qrels_ids(self) -> list[str]:
        """Query ids of the qrels."""
        return [] if self.qrels is None else self.qrels.query_ids

    @cached_property
    def shared_ids(self) -> set[str]:
        """Query ids that run and qrels have in common."""
        return set(self.run_ids) & set(self.qrels_ids)

    @cached_property
    def near_queries(self) -> dict[str, str]:
        """For query ids of the run that the qrels spell differently: the other id."""
        near = near_matches(self.run_ids, self.qrels_ids)
        topics = set(self.topic_ids or ())
        # Two topics are two queries, even if their ids are similar.
        return {
            ours: theirs
            for ours, theirs in near.items()
            if not (ours in topics and theirs in topics)
        }

    @cached_property
    def judged_query(self) -> Rows:
        """For each row of the run: the number of its query in the qrels; -1 if it is not judged."""
        assert self.qrels is not None
        numbers = {one: number for number, one in enumerate(self.qrels.query_ids)}
        of_query = np.array([numbers.get(one, -1) for one in self.run.query_ids], np.int64)
        return of_query.take(self.run.blocks.query)

    @cached_property
    def judgments(self) -> tuple[Rows, Rows]:
        """Rows of the run whose document is judged for its query, ascending, and the judgments."""
        if self.qrels is None:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return self.qrels.pairs.find(self.run.doc_ids, self.judged_query)

    @cached_property
    def judged(self) -> Flags:
        """For each row of the run: whether its document is judged for its query."""
        flags = np.zeros(self.run.n_rows, np.bool_)
        flags[self.judgments[0]] = True
        return flags

    @cached_property
    def in_shared_query(self) -> Flags:
        """For each row of the run: whether its query is judged."""
        return self.judged_query >= 0

    @cached_property
    def has_common_documents(self) -> bool:
        """Return whether a document id of the run occurs in the qrels, for any query."""
        assert self.qrels is not None
        return self.qrels.pairs.has_any(self.run.doc_ids)

    @cached_property
    def judged_counts(self) -> JudgedCounts:
        """Counts of the documents of judged queries."""
        if self.qrels is None:
            return JudgedCounts()
        rows, _ = self.judgments
        sizes = np.bincount(self.run.blocks.query[self.in_shared_query])
        of_shared = np.flatnonzero(self.in_shared_query)
        return JudgedCounts(
            n_documents=len(of_shared),
            n_judged=len(rows),
            n_shown=int(np.minimum(sizes, JUDGED_CUTOFF).sum()),
            n_judged_shown=int((self.run.evaluated_ranks(rows) <= JUDGED_CUTOFF).sum()),
            n_other_spellings=len(self.near_documents[0]),
            has_common_documents=len(rows) > 0 or self.has_common_documents,
            unjudged=() if len(rows) else self.run.doc_ids.texts(of_shared[:N_SHOWN_IDS]),
        )

    @cached_property
    def near_documents(self) -> tuple[Rows, Rows]:
        """Unjudged rows of the run, and a judgment whose document differs only in spelling.

        The two ids are equal apart from case, normal form or invisible characters.
        """
        assert self.qrels is not None
        theirs = self.qrels.unified_pairs
        if theirs is self.qrels.pairs and unify_spellings(self.run.doc_ids) is self.run.doc_ids:
            # If this changes no id, ids that are equal in one spelling are equal ids.
            return np.empty(0, np.int64), np.empty(0, np.int64)
        rows, judgments = theirs.find(unify_spellings(self.run.doc_ids), self.judged_query)
        unjudged = ~self.judged[rows]
        return rows[unjudged], judgments[unjudged]


MEASURES = ("AP", "nDCG")


def tie_sums(pair: PairView) -> TieSums:
    """Return the sums of AP and of nDCG over the judged queries of a run."""
    run = pair.run
    has_ties = len(run.ties32) > 0
    if len(run.repeats) or not np.isfinite(run.score).all():
        zeros = np.zeros(len(MEASURES))
        return TieSums(zeros, zeros, zeros.astype(np.int64), has_ties, is_defined=False)
    return TieSums(*find_sums(pair), has_ties)


def find_sums(pair: PairView) -> tuple[Numbers, Numbers, Rows]:
    """Return sums of :data:`MEASURES` over all judged queries, from the bounds of each query.

    Scores are compared in 32 bits, as trec_eval 9 does.

    Args:
        pair: A run with finite scores, each document once in its query, and its judgments.

    Returns:
        The sums in the worst and in the best order of the ties, and the number of queries in which
        the two differ, for each measure.
    """
    qrels = pair.qrels
    assert qrels is not None
    n_queries = len(qrels.query_ids)
    gains, ideal = _ideal(qrels)
    has_relevant = ideal[0] > 0
    rows, judgments = pair.judgments
    grade = np.zeros(pair.run.n_rows)
    grade[rows] = gains[judgments]
    of_row = pair.judged_query
    if not len(pair.run.ties32):  # only relevant documents count, and their ranks are known
        rows = np.flatnonzero(grade)
        low = high = _sums_of_ranks(
            of_row[rows], grade[rows], pair.run.evaluated_ranks(rows), n_queries
        )
    else:
        rows = np.flatnonzero((of_row >= 0) & has_relevant[of_row])
        with np.errstate(over="ignore", under="ignore"):
            score = pair.run.score[rows].astype(np.float32)
        low, high = (
            _sums(of_row[rows][order], grade[rows][order], n_queries)
            for order in (
                np.lexsort((sign * grade[rows], -score, of_row[rows])) for sign in (1, -1)
            )
        )
    # A query without a relevant document counts 0.
    highest = [np.where(has_relevant, one, 1) for one in ideal]
    worst = [one / most for one, most in zip(low, highest, strict=True)]
    best = [one / most for one, most in zip(high, highest, strict=True)]
    changed = [int((more - less > 1e-9).sum()) for less, more in zip(worst, best, strict=True)]
    lowest = np.array([one.sum() for one in worst])
    return lowest, np.array([one.sum() for one in best]), np.array(changed)


@lru_cache(maxsize=1)  # all parts of a run have the same qrels
def _ideal(qrels: QrelsView) -> tuple[Numbers, tuple[Numbers, Numbers]]:
    """Return the gain of each judgment, and the sums of the best possible ranking of each query."""
    gains = _gains(qrels)
    relevant = np.flatnonzero(gains)
    query = qrels.blocks.query.astype(np.int64)
    best_order = relevant[np.lexsort((-gains[relevant], query[relevant]))]
    return gains, _sums(query[best_order], gains[best_order], len(qrels.query_ids))


def _gains(qrels: QrelsView) -> Numbers:
    """Return the grade of each relevant judgment, each document once; 0 for other judgments."""
    is_relevant = (qrels.grade >= 1) & np.isfinite(qrels.grade)
    first = qrels.pairs.find(qrels.doc_ids, qrels.pairs.query)[1]
    return np.where(is_relevant & (first == np.arange(qrels.n_rows)), qrels.grade, 0.0)


def _sums(query: Rows, gain: Numbers, n_queries: int) -> tuple[Numbers, Numbers]:
    """Return sums for AP and nDCG over the relevant documents of each query.

    Args:
        query: The query of each document, ascending.
        gain: Its grade if it is relevant, otherwise 0; in the order of the ranking.
        n_queries: The number of queries.
    """
    relevant = np.flatnonzero(gain)
    rank = places_in_query(query)[relevant] + 1
    return _sums_of_ranks(query[relevant], gain[relevant], rank, n_queries)


def _sums_of_ranks(
    query: Rows, gain: Numbers, rank: Rows, n_queries: int
) -> tuple[Numbers, Numbers]:
    """Return the same for the relevant documents alone, given their ranks."""
    order = np.lexsort((rank, query))
    query, gain, rank = query[order], gain[order], rank[order]
    nth = places_in_query(query) + 1
    for_ap, for_ndcg = nth / rank, gain / np.log2(rank + 1)
    for_ap, for_ndcg = (
        np.bincount(query, values, n_queries).astype(np.float64) for values in (for_ap, for_ndcg)
    )
    return for_ap, for_ndcg
