"""The view of a run with its qrels and topics, and changes of AP by the order within ties."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trectools_plus.formats.columns.ids import Flags, Rows
from trectools_plus.formats.files.content import BOM, read_file
from trectools_plus.text import listed
from trectools_plus.validation.registry import JUDGED_CUTOFF
from trectools_plus.validation.views.id_matching import near_matches, unify_spellings
from trectools_plus.validation.views.order import NO_ROWS, places_in_query
from trectools_plus.validation.views.places import N_SHOWN_IDS, PairFacts, Places
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
    places = run.places(rows, 3)
    return replace(places, first={**places.first, "theirs": theirs})


def read_document_ids(path: str | Path) -> pl.Series:
    """Read a list of document ids, one per line, compressed or not; skip blank lines.

    Raises:
        InputError: If the file cannot be read.
    """
    import polars as pl

    text = read_file(path).data.removeprefix(BOM).decode("utf-8", "replace")
    ids = (line.strip(" \t\r") for line in text.split("\n"))
    return pl.Series("doc_id", list(filter(None, ids)), pl.String)


@dataclass(eq=False)
class PairView:
    """A run with the qrels that it is scored with, or the topics that it should answer.

    Attributes:
        run: The run.
        qrels: The qrels, if given.
        topic_ids: The query ids of the topics, if given.
        is_of_run: Whether findings are reported on the run, not on the qrels.
        collection: The document ids of the collection, if known.
    """

    run: RunView
    qrels: QrelsView | None = None
    topic_ids: list[str] | None = None
    is_of_run: bool = True
    collection: pl.Series | None = None

    @cached_property
    def facts(self) -> PairFacts:
        """The facts about the documents of the run and their judgments."""
        if self.run.answers is not None:
            return self.run.pair_facts
        if self.qrels is None:
            return PairFacts()
        spelled, others = self.near_documents
        rows, _ = self.judgments
        of_judged = np.flatnonzero(self.judged_query >= 0)
        sizes = np.bincount(self.run.blocks.query[of_judged])
        changes = tie_changes(self) if self.is_of_run else np.zeros(0)
        theirs = self.qrels.doc_ids.text(others[0]) if len(others) else ""
        return PairFacts(
            n_documents=len(of_judged),
            n_judged=len(rows),
            n_shown=int(np.minimum(sizes, JUDGED_CUTOFF).sum()),
            n_judged_shown=int((self.run.evaluated_ranks(rows) <= JUDGED_CUTOFF).sum()),
            n_common=len(rows) or int(self.qrels.pairs.has_any(self.run.doc_ids)),
            unjudged=() if len(rows) else tuple(self.run.doc_ids.texts(of_judged[:N_SHOWN_IDS])),
            near=near_places(self.run, spelled, theirs),
            tie_change=float(changes.sum()),
            n_tie_changes=int(np.count_nonzero(changes > 1e-9)),
        )

    @property
    def mean_tie_change(self) -> float:
        """The difference of the mean AP in the best and the worst order of ties."""
        return self.facts.tie_change / self.qrels.n_queries if self.qrels else 0.0

    @property
    def samples(self) -> str:
        """Some documents of both files, for messages."""
        theirs = self.qrels.doc_ids.texts(slice(N_SHOWN_IDS)) if self.qrels else []
        return f"run: {listed(self.facts.unjudged, N_SHOWN_IDS)}; qrels: {listed(theirs)}"

    @property
    def reported_view(self) -> TableView:
        """The file that findings are reported on."""
        return self.run if self.is_of_run or self.qrels is None else self.qrels

    @property
    def other_view(self) -> TableView:
        """The other file of the two."""
        return self.qrels if self.is_of_run and self.qrels is not None else self.run

    @cached_property
    def shared_ids(self) -> set[str]:
        """Query ids that run and qrels have in common."""
        return set(self.run.query_ids).intersection(self.qrels.query_ids if self.qrels else ())

    @cached_property
    def near_queries(self) -> dict[str, str]:
        """For query ids of the run that the qrels spell differently: the other id."""
        theirs, topics = self.qrels.query_ids if self.qrels else (), set(self.topic_ids or ())
        near = near_matches(self.run.query_ids, theirs)
        # Two topics are two queries, even if their ids are similar.
        return {ours: theirs for ours, theirs in near.items() if not {ours, theirs} <= topics}

    @cached_property
    def judged_query(self) -> Rows:
        """For each row of the run: the number of its query in the qrels; -1 if it is not judged."""
        assert self.qrels is not None
        numbers = {query_id: number for number, query_id in enumerate(self.qrels.query_ids)}
        of_queries = [numbers.get(query_id, -1) for query_id in self.run.query_ids]
        return np.array(of_queries, np.int64).take(self.run.blocks.query)

    @cached_property
    def judgments(self) -> tuple[Rows, Rows]:
        """Rows of the run whose document is judged for its query, ascending, and the judgments."""
        if self.qrels is None:
            return NO_ROWS, NO_ROWS
        return self.qrels.pairs.find(self.run.doc_ids, self.judged_query)

    @cached_property
    def near_documents(self) -> tuple[Rows, Rows]:
        """Unjudged rows of the run, and a judgment whose document differs only in spelling.

        The two ids are equal apart from case, normal form or invisible characters.
        """
        assert self.qrels is not None
        theirs = self.qrels.unified_pairs
        if theirs is self.qrels.pairs and unify_spellings(self.run.doc_ids) is self.run.doc_ids:
            # If this changes no id, ids that are equal in one spelling are equal ids.
            return NO_ROWS, NO_ROWS
        rows, judgments = theirs.find(unify_spellings(self.run.doc_ids), self.judged_query)
        unjudged = ~np.isin(rows, self.judgments[0])
        return rows[unjudged], judgments[unjudged]


def tie_changes(pair: PairView) -> Numbers:
    """Return, for each judged query, the difference of AP in the best and worst order of ties.

    Scores are compared in 32 bits, as trec_eval 9 does. There are no differences if scores are not
    finite or documents repeated, which other rules report.
    """
    run, qrels = pair.run, pair.qrels
    assert qrels is not None
    # Not a number: also without differences in the other chunks of the run.
    is_sound = np.isfinite(run.score).all() and not len(run.repeats)
    if not is_sound or not len(run.ties32):
        return np.full(qrels.n_queries, 0.0 if is_sound else np.nan)
    # Of repeated judgments, the first counts.
    is_relevant = qrels.grade >= 1
    is_relevant[qrels.repeats.rows] = False
    n_relevant = np.bincount(qrels.blocks.query[is_relevant], minlength=qrels.n_queries)
    retrieved, judgments = pair.judgments
    relevant = np.zeros(run.n_rows, np.bool_)
    relevant[retrieved] = is_relevant[judgments]
    judged = pair.judged_query >= 0
    query, relevant = pair.judged_query[judged], relevant[judged]
    with np.errstate(over="ignore", under="ignore"):
        score = run.score[judged].astype(np.float32)
    worst, best = (
        _sums_of_precisions(query, relevant[np.lexsort((key, -score, query))], qrels.n_queries)
        for key in (relevant, ~relevant)
    )
    return (best - worst) / np.maximum(n_relevant, 1)


def _sums_of_precisions(query: Rows, relevant: Flags, n_queries: int) -> Numbers:
    """Return the sum of the precisions at relevant documents of each query.

    Args:
        query: The query of each document, in any order.
        relevant: Whether it is relevant, sorted by query and rank.
        n_queries: The number of queries.
    """
    query = np.sort(query)
    rank = places_in_query(query)[relevant] + 1
    precisions = (places_in_query(query[relevant]) + 1) / rank
    return np.bincount(query[relevant], precisions, n_queries).astype(np.float64)
