"""Rules on a run together with its qrels and topics, and the view of such a pair."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trectools_plus.choices import RELEVANT
from trectools_plus.errors import InputError
from trectools_plus.formats.columns.ids import Flags, Ids, Rows
from trectools_plus.formats.files.content import decode_lines, iter_lines
from trectools_plus.text import listed, plural
from trectools_plus.validation.findings import UNJUDGED
from trectools_plus.validation.registry import Case, rule
from trectools_plus.validation.views.kinds import QrelsView, RunView, near_matches, unify_spellings
from trectools_plus.validation.views.places import (
    NO_ROWS,
    PairFacts,
    Pairs,
    Places,
    places_in_query,
)
from trectools_plus.validation.views.tables import Numbers, TableView

if TYPE_CHECKING:
    import polars as pl


JUDGED_CUTOFF = 10
"""The number of first results of a query among which the share of judged ones is counted."""

MIN_JUDGED = 0.2
"""Minimum share of judged documents in the first ``JUDGED_CUTOFF``; scores with fewer are
unreliable."""

N_SHOWN_IDS = 3
"""Number of document ids of a file that are shown if no document is judged."""


def lacking(
    ids: Collection[str] | None, known: Collection[str] | None, table: TableView | None = None
) -> Places:
    """Return ids that are not among the known ones, with the first line of each in a file."""
    ids, others = ids or (), set(known or ())
    missing = [query_id for query_id in ids if query_id not in others]
    if not missing:
        return Places()
    shown = f"{plural(len(missing), 'query', 'queries')} ({listed(missing)})"
    lines = () if table is None else table.lines_of_queries(missing)
    return Places(
        len(missing), lines, query_id=missing[0], first={"queries": shown, "total": len(ids)}
    )


def no_shared(pair: PairView) -> Places:
    """Return all queries of the reported file if the two files have none in common."""
    if pair.qrels is None or pair.shared_ids or pair.run.n_rows == 0:
        return Places()
    ids = pair.reported_view.query_ids
    return Places(
        len(ids),
        query_id=ids[0],
        first={"ours": listed(ids, 3), "theirs": listed(pair.other_view.query_ids, 3)},
    )


def are_topics(pair: PairView, _: Places) -> bool:
    """Return whether all queries of the run without judgments are topics."""
    known = {*pair.shared_ids, *pair.near_queries, *(pair.topic_ids or ())}
    return pair.topic_ids is not None and known.issuperset(pair.run.query_ids)


unjudged = partial(
    Case,
    message="no judgments for {queries}; not scored",
    where=lambda pair: lacking(
        pair.run.query_ids if pair.is_of_run and pair.shared_ids else None,
        pair.shared_ids.union(pair.near_queries),
        pair.run,
    ),
)


def near(pair: PairView) -> Places:
    """Return the query ids of one file that are spelled differently in the other."""
    matches, table = pair.near_queries, pair.reported_view
    if not pair.is_of_run:
        matches = {theirs: ours for ours, theirs in matches.items()}
    ids = list(filter(matches.__contains__, table.query_ids))
    if not ids:
        return Places()
    return Places(
        len(ids),
        table.lines_of_queries(ids),
        query_id=ids[0],
        first={"ours": ids[0], "theirs": matches[ids[0]]},
    )


def not_topics(pair: PairView, *, of_run: bool) -> Places:
    """Return the queries of the run, or of the qrels, that are not topics."""
    table, is_known = pair.reported_view, pair.topic_ids is not None
    ids = table.query_ids if is_known and pair.is_of_run == of_run else ()
    return lacking(ids, pair.topic_ids, table)


spelled = partial(
    Case,
    message="{count} of {view.facts.n_documents} ids match the qrels only in another spelling "
    "({doc_id!m}, {theirs!m})",
    where=lambda pair: pair.facts.near if pair.is_of_run else 0,
)


def self_retrieving(pair: PairView) -> Flags | Rows:
    """Flag the rows whose document id is the query id."""
    if not pair.is_of_run:
        return NO_ROWS
    query_ids = Ids.of_texts(pair.run.query_ids).take(pair.run.blocks.query.astype(np.int64))
    return pair.run.doc_ids.equal(query_ids)


MIN_REPORTED_CHANGE = 0.0001
"""Minimum change of a mean that is reported, because it is visible in four decimals."""


RULES = (
    rule(
        "P101",
        "no-shared-queries",
        "error",
        "no query id in both run and qrels",
        "Every measure is then 0, or the mean of no values, and evaluators print it like any "
        "other result.",
        "run.txt: error P101: none of 3 query ids (d01, d02, d03) is in qrels.txt (1, 2, 3). "
        "Check that this is the right file and that column 1 contains the query ids.",
        "Check that this is the right file and that column 1 contains the query ids",
        "none of {count:query id} ({ours}) is in {view.other_view.name} ({theirs})",
        no_shared,
        drop_in="permissive",
    ),
    rule(
        "P102",
        "query-not-judged",
        "warning",
        "run query not in qrels; info if it is in topics",
        "Queries without judgments are left out of every mean, so the score covers only part of "
        "the run.",
        "run.txt:11: warning P102: no judgments for 1 query (9); not scored. Nothing to do if the "
        "qrels cover a subset.",
        "Nothing to do if the qrels cover a subset",
        unjudged("info", given=are_topics),
        unjudged("warning"),
    ),
    rule(
        "P103",
        "query-not-in-run",
        "error",
        "judged query without a row in the run",
        "If missing queries are left out, a system that returns nothing for hard queries looks "
        "better. trec_eval and pytrec_eval leave them out; ir_measures scores them 0.",
        "run.txt: error P103: no row for 1 query (3), of 3 judged queries; they count as 0, but "
        "pytrec_eval averages only the others. Add the missing queries, if the system answers "
        "them.",
        "Add the missing queries, if the system answers them",
        "no row for {queries}, of {total:judged query|judged queries}; they count as 0, but "
        "pytrec_eval averages only the others",
        lambda pair: lacking(
            pair.qrels.query_ids if pair.shared_ids else None,
            pair.shared_ids.union(pair.near_queries.values()),
            None if pair.is_of_run else pair.qrels,
        ),
        blocks_scoring=False,
    ),
    rule(
        "P104",
        "query-id-near-match",
        "error",
        "query ids that are equal except for leading zeros, case, Unicode normal form, invisible "
        "characters or number form",
        "Ids are compared as text: '03' and '3' are two queries, one without judgments and one "
        "without results. Spreadsheets and conversions to numbers cause this.",
        "run.txt:8: error P104: query 03 is written 3 in qrels.txt. Write the query ids "
        "identically in both files.",
        "Write the query ids identically in both files",
        "query {ours!m} is written {theirs!m} in {view.other_view.name}[ ({count} such ids)]",
        near,
        drop_in="scores",
    ),
    rule(
        "P107",
        "query-not-in-topics",
        "error",
        "run query not in topics",
        "The run answers a query that is not a topic: the topics file is another set, or the id "
        "was changed.",
        "run.txt:11: error P107: no topic for 1 query (9). Check that this is the right topics "
        "file.",
        "Check that this is the right topics file",
        "no topic for {queries}",
        partial(not_topics, of_run=True),
        blocks_scoring=False,
    ),
    rule(
        "P108",
        "topic-not-in-run",
        "error",
        "topic without a row in the run",
        "A missing topic scores 0 or is left out of the mean, depending on the tool.",
        "run.txt: error P108: no row for 1 query (3), of 3 topics. Add the missing topics, if the "
        "system answers them.",
        "Add the missing topics, if the system answers them",
        "no row for {queries}, of {total:topic}",
        lambda pair: lacking(pair.topic_ids if pair.is_of_run else None, pair.run.query_ids),
        blocks_scoring=False,
    ),
    rule(
        "P112",
        "judged-not-in-topics",
        "warning",
        "judged query that is not a topic",
        "Systems do not search this query, so every system scores 0 on it. The qrels are from "
        "another year, or the id was changed.",
        "qrels.txt:10: warning P112: no topic for judged 1 query (9). Check that this is the "
        "right topics file.",
        "Check that this is the right topics file",
        "no topic for judged {queries}",
        partial(not_topics, of_run=False),
    ),
    rule(
        "P105",
        "nothing-judged",
        "error",
        "no retrieved document is judged in any query; Judged@10 below 0.2 is a warning",
        "Unjudged documents count as not relevant, so the scores do not measure the system. The "
        "run is from another collection, or its ids have another form.",
        "run.txt: error P105: 0 of 10 documents are judged (run: x1, x2, x3; qrels: d01, d02, "
        "d03). Check that the run is from the same collection as the qrels.",
        "Check that the run is from the same collection as the qrels",
        Case(
            "error",
            "0 of {count:document} are judged ({view.samples})",
            lambda pair: pair.facts.n_documents,
            given=lambda pair, _: pair.shared_ids and not pair.facts.n_judged,
            blocks=lambda pair: not pair.facts.n_common,
            note=UNJUDGED,
        ),
        Case(
            "warning",
            f"{{view.facts.n_judged_shown}} of the first {JUDGED_CUTOFF} documents of all queries "
            f"are "
            "judged, of {view.facts.n_shown}; the rest count as not relevant",
            # A small share of judged documents is not an error of the qrels.
            lambda pair: pair.is_of_run and pair.facts.n_judged > 0,
            given=lambda pair, _: pair.facts.n_judged_shown < MIN_JUDGED * pair.facts.n_shown,
            remedy="Judge more documents, or report Judged@10 with every figure",
        ),
        drop_in="permissive",
    ),
    rule(
        "P106",
        "document-id-near-match",
        "warning",
        "document ids that match judged ids only without differences in case, Unicode normal form "
        "or invisible characters; error if most do",
        "Such a document counts as unjudged, and its judgment as not retrieved.",
        "run.txt:1: error P106: 10 of 10 ids match the qrels only in another spelling (D01, "
        "d01). Write the document ids identically in both files.",
        "Write the document ids identically in both files",
        spelled("error", given=lambda pair, places: places.count > pair.facts.n_judged),
        spelled("warning"),
        drop_in="scores",
    ),
    rule(
        "P109",
        "document-not-in-collection",
        "error",
        "document id not in the given list",
        "Such a document can never be judged. Its id may be that of a passage, of an older "
        "version of the collection, or a row number.",
        "run.txt:4: error P109: d10 is not in the collection. Use the ids of the collection.",
        "Use the ids of the collection",
        "{doc_id!v} is not in the collection[ ({count} of {view.run.n_rows:row})]",
        lambda pair: (
            0
            if pair.collection is None
            else ~pair.run.doc_ids.series().is_in(pair.collection.implode()).to_numpy()
        ),
        column=3,
        blocks_scoring=False,
        chunked=True,
    ),
    rule(
        "P110",
        "self-retrieval",
        "info",
        "document id equals query id (BEIR removes these rows)",
        "In ArguAna, Quora and similar collections the queries are documents, and each query "
        "retrieves itself first. BEIR removes such rows; other tools count them.",
        "run.txt:1: info P110: query 1 retrieves document 1. Remove such rows if the queries are "
        "documents.",
        "Remove such rows if the queries are documents",
        "query {query_id!v} retrieves document {query_id!v}[ ({count} such rows)]",
        self_retrieving,
        column=3,
        chunked=True,
    ),
    rule(
        "P111",
        "tie-sensitive",
        "warning",
        f"best and worst tie order change AP by more than {MIN_REPORTED_CHANGE}",
        "Tools order tied documents differently: by falling or rising document id, by rank "
        "column, or at random. One file then has several scores, and two systems may swap ranks.",
        "run.txt: warning P111: the order of ties changes AP by up to 0.1667. Write scores that "
        "fall with rank.",
        "Write scores that fall with rank",
        "the order of ties changes AP by up to {view.mean_tie_change}[ (in {count} queries)]",
        lambda pair: pair.facts.n_tie_changes,
        given=lambda pair, _: pair.mean_tie_change > MIN_REPORTED_CHANGE,
    ),
)


def find_facts(
    run: RunView, qrels: QrelsView, number: Rows, judged: Rows, ranks: Rows
) -> PairFacts:
    """Return what the rules on documents need to know of a run, or of a part of one.

    Args:
        run: The run, or the part.
        qrels: The qrels.
        number: For each query of the run, its number in the qrels; -1 if it is not judged.
        judged: The rows with judged documents, at least of the first ``JUDGED_CUTOFF`` ranks.
        ranks: The ranks of these rows.
    """
    of_judged, query = run.blocks.sizes[number >= 0], number[run.blocks.query]
    first = np.flatnonzero(query >= 0)[:N_SHOWN_IDS]
    return PairFacts(
        n_documents=int(of_judged.sum()),
        n_judged=len(judged),
        n_shown=int(np.minimum(of_judged, JUDGED_CUTOFF).sum()),
        n_judged_shown=int(np.count_nonzero(ranks <= JUDGED_CUTOFF)),
        n_common=len(judged) or int(qrels.pairs.has_any(run.doc_ids)),
        unjudged=() if len(judged) else tuple(run.doc_ids.texts(first)),
        near=near_documents(run, qrels, query),
    )


def near_documents(run: RunView, qrels: QrelsView, query: Rows) -> Places:
    """Return unjudged rows whose document is judged in another spelling.

    The two ids are equal apart from case, normal form or invisible characters.

    Args:
        run: The run, or a part of one.
        qrels: The qrels.
        query: The number of each row's query in the qrels; -1 if it is not judged.
    """
    ids, rows = run.doc_ids, np.arange(run.n_rows)
    if qrels.unified_pairs is qrels.pairs:
        # Only ids with capital letters or beyond ASCII can differ.
        rows = np.flatnonzero(ids.beyond_ascii() | ~ids.equal(ids.lower()))
    places, judgments = qrels.unified_pairs.find(unify_spellings(ids.take(rows)), query[rows])
    rows = rows[places]
    judged, _ = qrels.pairs.find(ids.take(rows), query[rows])
    near = run.places(np.delete(rows, judged), 3)
    theirs = qrels.doc_ids.texts(np.delete(judgments, judged)[:1])
    return replace(near, first={**near.first, "theirs": "".join(theirs)})


def read_document_ids(path: str | Path) -> pl.Series:
    """Read a list of document ids, one per line, compressed or not; skip blank lines.

    Raises:
        InputError: If the file cannot be read, is empty, or is not UTF-8.
    """
    import polars as pl

    ids = [text.strip(" \t") for _, text in decode_lines(iter_lines(path), str(path))]
    if not ids:
        raise InputError("there are no document ids", where=str(path))
    return pl.Series("doc_id", ids, pl.String)


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
        if self.qrels is None or self.run.pair_facts:
            return self.run.pair_facts or PairFacts()
        run, qrels = self.run, self.qrels
        number = qrels.numbers_of(run.query_ids)
        query = number[run.blocks.query]
        judged = Pairs(*qrels.pairs.find(run.doc_ids, query))
        facts = find_facts(run, qrels, number, judged.rows, run.evaluated_ranks(judged.rows))
        changes = tie_changes(run, qrels, query, judged) if self.is_of_run else np.zeros(0)
        n_changes = int(np.count_nonzero(changes > 1e-9))
        return facts._replace(tie_change=float(changes.sum()), n_tie_changes=n_changes)

    @property
    def mean_tie_change(self) -> float:
        """The difference of the mean AP in the best and the worst order of ties."""
        return self.facts.tie_change / self.qrels.n_queries if self.qrels else 0.0

    @property
    def samples(self) -> str:
        """Some documents of both files, for messages."""
        theirs = self.qrels.doc_ids.texts(slice(N_SHOWN_IDS)) if self.qrels else []
        return f"run: {listed(self.facts.unjudged[:N_SHOWN_IDS])}; qrels: {listed(theirs)}"

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
        near = near_matches(self.run.query_ids, theirs) if theirs else {}
        # Two topics are two queries, even if their ids are similar.
        return {ours: theirs for ours, theirs in near.items() if not {ours, theirs} <= topics}


def tie_changes(run: RunView, qrels: QrelsView, query: Rows, judged: Pairs) -> Numbers:
    """Return, for each judged query, the difference of AP in the best and worst order of ties.

    Scores are compared in 32 bits, as trec_eval 9 does. There are no differences if scores are not
    finite or documents repeated, which other rules report.

    Args:
        run: The run.
        qrels: The qrels.
        query: The number of each row's query in the qrels; -1 if it is not judged.
        judged: The rows with judged documents, and their judgments.
    """
    # Not a number: also without differences in the other chunks of the run.
    is_sound = np.isfinite(run.score).all() and not len(run.repeats)
    if not is_sound or not len(run.ties32):
        return np.full(qrels.n_queries, 0.0 if is_sound else np.nan)
    # Of repeated judgments, the first counts.
    is_relevant = qrels.grade >= RELEVANT
    is_relevant[qrels.repeats.rows] = False
    n_relevant = np.bincount(qrels.blocks.query[is_relevant], minlength=qrels.n_queries)
    relevant = np.zeros(run.n_rows, np.bool_)
    relevant[judged.rows] = is_relevant[judged.others]
    of_judged = query >= 0
    query, relevant = query[of_judged], relevant[of_judged]
    with np.errstate(over="ignore", under="ignore"):
        score = run.score[of_judged].astype(np.float32)
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
