"""Rules on query ids across files: run against qrels, run against topics."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import Literal

from trectools_plus.text import listed, plural, visible
from trectools_plus.validation.registry import Case, Rule
from trectools_plus.validation.views.pairs import PairView
from trectools_plus.validation.views.places import Lines, Places, Value
from trectools_plus.validation.views.tables import TableView


def lacking(
    ids: Collection[str] | None, known: Collection[str] | None, table: TableView | None = None
) -> Places:
    """Return ids that are not among the known ones, with the first line of each in a file."""
    others = {*(known or ())}
    missing = [query_id for query_id in ids or () if query_id not in others]
    if not missing:
        return Places()
    lines: Lines = ()
    if table is not None:
        first_row = dict(zip(table.query_ids, table.blocks.first_rows.tolist(), strict=True))
        lines = table.lines([first_row[query_id] for query_id in missing])
    shown = f"{plural(len(missing), 'query', 'queries')} ({listed(missing)})"
    if len(missing) == 1:
        shown = f"query {visible(missing[0])}"
    values: dict[str, Value] = {"queries": shown, "total": len(ids or ())}
    return Places(len(missing), lines, query_id=missing[0], first=values)


def no_shared(pair: PairView) -> Places:
    """Return all queries of the reported file if the two files have none in common."""
    if pair.qrels is None or pair.shared_ids or pair.run.n_rows == 0:
        return Places()
    ids = pair.run_ids if pair.report_on == "run" else pair.qrels_ids
    return Places(len(ids), query_id=ids[0] if ids else None)


P101 = Rule(
    "P101",
    "no-shared-queries",
    "pair",
    "error",
    tables=True,
    checks="no query id in both run and qrels",
    rationale="Every measure is then 0, or the mean of no values, and evaluators print it like "
    "any other result.",
    example="run.txt: error P101: none of 3 query ids is in qrels.txt (run: d01; qrels: 1). "
    "Check that this is the right file and that column 1 contains the query ids.",
    remedy="Check that this is the right file and that column 1 contains the query ids",
    drop_in="permissive",
    cases=(
        Case(
            "error",
            "none of {count:query id} is in {other} ({sides})",
            no_shared,
            shows=lambda pair, _: {
                "sides": f"run: {listed(pair.run_ids, 3)}; qrels: {listed(pair.qrels_ids, 3)}",
                "other": pair.other_view.name,
            },
        ),
    ),
)


def are_topics(pair: PairView, _: Places) -> bool:
    """Return whether all queries of the run without judgments are topics."""
    known = pair.shared_ids | set(pair.near_queries) | set(pair.topic_ids or ())
    return pair.topic_ids is not None and known.issuperset(pair.run_ids)


unjudged = partial(
    Case,
    message="no judgments for {queries}; not scored",
    where=lambda pair: lacking(
        pair.run_ids if pair.report_on == "run" and pair.shared_ids else None,
        pair.shared_ids.union(pair.near_queries),
        pair.run,
    ),
)
P102 = Rule(
    "P102",
    "query-not-judged",
    "pair",
    "warning",
    tables=True,
    checks="run query not in qrels; info if it is in topics",
    rationale="Queries without judgments are left out of every mean, so the score covers only "
    "part of the run.",
    example="run.txt:11: warning P102: no judgments for query 9; not scored. Nothing to do if the "
    "qrels cover a subset.",
    remedy="Nothing to do if the qrels cover a subset",
    cases=(unjudged("info", given=are_topics), unjudged("warning")),
)


P103 = Rule(
    "P103",
    "query-not-in-run",
    "pair",
    "error",
    tables=True,
    blocks_scoring=False,
    checks="judged query without a row in the run",
    rationale="If missing queries are left out, a system that returns nothing for hard queries "
    "looks better. trec_eval and pytrec_eval leave them out; ir_measures scores them 0.",
    example="run.txt: error P103: no row for query 3, of 3 judged queries; it counts as 0, but "
    "pytrec_eval leaves it out. Add the missing queries, if the system answers them.",
    remedy="Add the missing queries, if the system answers them",
    cases=(
        Case(
            "error",
            "no row for {queries}, of {total:judged query|judged queries}; they count as 0, but "
            "pytrec_eval averages only the others",
            lambda pair: lacking(
                pair.qrels_ids if pair.shared_ids else None,
                pair.shared_ids.union(pair.near_queries.values()),
                pair.qrels if pair.report_on == "qrels" else None,
            ),
        ),
    ),
)


def near(pair: PairView) -> Places:
    """Return the query ids of one file that are spelled differently in the other."""
    matches = pair.near_queries
    if pair.report_on == "qrels":
        matches = {theirs: ours for ours, theirs in matches.items()}
    table = pair.reported_view
    ids = [query_id for query_id in table.query_ids if query_id in matches]
    if not ids:
        return Places()
    shown = (visible(text, marks=True) for text in (ids[0], matches[ids[0]]))
    first = dict(zip(("ours", "theirs"), shown, strict=True))
    return replace(lacking(ids, (), table), first=first)


P104 = Rule(
    "P104",
    "query-id-near-match",
    "pair",
    "error",
    tables=True,
    checks="query ids that are equal except for leading zeros, case, Unicode normal form, "
    "invisible characters or number form",
    rationale="Ids are compared as text: '03' and '3' are two queries, one without judgments and "
    "one without results. Spreadsheets and conversions to numbers cause this.",
    example="run.txt:8: error P104: query 03 is written 3 in qrels.txt. Write the query ids "
    "identically in both files.",
    remedy="Write the query ids identically in both files",
    drop_in="scores",
    cases=(
        Case(
            "error",
            "query {ours} is written {theirs} in {other}[ ({count} such ids)]",
            near,
            shows=lambda pair, _: {"other": pair.other_view.name},
        ),
    ),
)


def not_topics(pair: PairView, side: Literal["run", "qrels"]) -> Places:
    """Return the queries of the run, or of the qrels, that are not topics."""
    is_checked = pair.topic_ids is not None and pair.report_on == side
    table: TableView | None = pair.reported_view if is_checked else None
    return lacking(table.query_ids if table else None, pair.topic_ids, table)


P107 = Rule(
    "P107",
    "query-not-in-topics",
    "pair",
    "error",
    tables=True,
    blocks_scoring=False,
    checks="run query not in topics",
    rationale="The run answers a query that is not a topic: the topics file is another set, or "
    "the id was changed.",
    example="run.txt:11: error P107: no topic for query 9. Check that this is the right topics "
    "file.",
    remedy="Check that this is the right topics file",
    cases=(Case("error", "no topic for {queries}", partial(not_topics, side="run")),),
)


P108 = Rule(
    "P108",
    "topic-not-in-run",
    "pair",
    "error",
    tables=True,
    blocks_scoring=False,
    checks="topic without a row in the run",
    rationale="A missing topic scores 0 or is left out of the mean, depending on the tool.",
    example="run.txt: error P108: no row for query 3, of 3 topics. Add the missing topics, if the "
    "system answers them.",
    remedy="Add the missing topics, if the system answers them",
    cases=(
        Case(
            "error",
            "no row for {queries}, of {total:topic}",
            lambda pair: lacking(pair.topic_ids if pair.report_on == "run" else None, pair.run_ids),
        ),
    ),
)
P112 = Rule(
    "P112",
    "judged-not-in-topics",
    "pair",
    "warning",
    tables=True,
    checks="judged query that is not a topic",
    rationale="Systems do not search this query, so every system scores 0 on it. The qrels are "
    "from another year, or the id was changed.",
    example="qrels.txt:10: warning P112: no topic for judged query 9. Check that this is "
    "the right topics file.",
    remedy="Check that this is the right topics file",
    cases=(Case("warning", "no topic for judged {queries}", partial(not_topics, side="qrels")),),
)
