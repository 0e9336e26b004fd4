"""The view of a run with its qrels and topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import UsageError
from trectools_plus.formats.columns.ids import Flags, Rows
from trectools_plus.formats.files.content import BOM, read_file
from trectools_plus.validation.id_matching import near_matches, unify_spellings
from trectools_plus.validation.places import Places
from trectools_plus.validation.registry import JUDGED_CUTOFF
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.runs import RunView
from trectools_plus.validation.views.tables import TableView

if TYPE_CHECKING:
    import polars as pl


N_SHOWN_IDS = 3
"""Number of document ids of a file that are shown if no document is judged."""


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
        from trectools_plus.validation.views.ties import tie_sums

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
