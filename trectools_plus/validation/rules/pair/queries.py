"""Rules on query ids across files: run against qrels, run against topics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trectools_plus.text import listed, plural, visible
from trectools_plus.validation.fixes.session import FileDraft, FixSession
from trectools_plus.validation.registry import Hit, RuleFix, fix_step, rule
from trectools_plus.validation.views.pairs import PairView
from trectools_plus.validation.views.tables import TableView


@rule(
    "P101",
    "no-shared-queries",
    on="pair",
    scope="pair",
    severity="error",
    fix="no",
    tables=True,
    checks="no query id in both run and qrels",
    rationale="Every measure is then 0, or the mean of no values, and evaluators print it like "
    "any other result.",
    example="run.txt: error P101: none of 3 query ids is in qrels.txt (run: d01; qrels: 1). "
    "Columns 1 and 3 may be swapped.",
    remedy="Check that this is the right file and that column 1 contains the query ids",
    drop_in="permissive",
)
def no_shared_queries(pair: PairView) -> Hit | None:
    """Run and qrels have no query in common."""
    if pair.qrels is None or pair.shared_ids or pair.run.n_rows == 0:
        return None
    ours = pair.run_ids if pair.report_on == "run" else pair.qrels_ids
    cause = _cause(pair)
    n_ids = "the query id is not" if len(ours) == 1 else f"none of {len(ours):,} query ids is"
    return Hit(
        f"{n_ids} in {pair.other_view.name} (run: {listed(pair.run_ids, 3)}; "
        f"qrels: {listed(pair.qrels_ids, 3)})",
        count=len(ours),
        query_id=ours[0] if ours else None,
        remedy=cause,
    )


def _cause(pair: PairView) -> str | None:
    """Return the likely reason why no ids match; ``None`` if it is unknown."""
    if pair.near_queries:
        causes = sorted({cause for _, cause in pair.near_queries.values()})
        return f"They differ in {' and '.join(causes)}: write the ids identically in both files"
    if pair.qrels is None:
        return None
    run_documents = set(pair.run.doc_ids.texts(slice(1000)))
    qrels_documents = set(pair.qrels.doc_ids.texts(slice(1000)))
    if run_documents & set(pair.qrels_ids) or qrels_documents & set(pair.run_ids):
        return "Columns 1 and 3 may be swapped"
    return None


@rule(
    "P102",
    "query-not-judged",
    on="pair",
    scope="pair",
    severity="warning",
    fix="no",
    tables=True,
    checks="run query not in qrels; info if it is in topics",
    rationale="Queries without judgments are left out of every mean, so the score covers only "
    "part of the run.",
    example="run.txt:11: warning P102: query 9 has no judgments; not scored. Nothing to do if the "
    "qrels cover a subset.",
    remedy="Nothing to do if the qrels cover a subset",
)
def query_not_judged(pair: PairView) -> Hit | None:
    """A query of the run has no judgments."""
    if pair.qrels is None or pair.report_on != "run" or not pair.shared_ids:
        return None
    known = pair.shared_ids | set(pair.near_queries)
    extra = [query_id for query_id in pair.run_ids if query_id not in known]
    if not extra:
        return None
    in_topics = pair.topic_ids is not None and set(extra) <= set(pair.topic_ids)
    return Hit(
        f"{_query(extra, 'has', 'have', len(pair.run_ids))} no judgments; not scored",
        _first_lines(pair.run, extra),
        len(extra),
        query_id=extra[0],
        severity="info" if in_topics else None,
    )


@rule(
    "P103",
    "query-not-in-run",
    on="pair",
    scope="pair",
    severity="error",
    fix="no",
    tables=True,
    blocks_scoring=False,
    checks="judged query without a row in the run",
    rationale="If missing queries are left out, a system that returns nothing for hard queries "
    "looks better. trec_eval and pytrec_eval leave them out; ir_measures scores them 0.",
    example="run.txt: error P103: 1 of 3 judged queries has no row (3) and counts as 0; "
    "pytrec_eval averages only the other 2. Add the missing queries, if the system answers them.",
    remedy="Add the missing queries, if the system answers them",
)
def query_not_in_run(pair: PairView) -> Hit | None:
    """A judged query has no row in the run."""
    if pair.qrels is None or not pair.shared_ids:
        return None
    known = pair.shared_ids | {query_id for query_id, _ in pair.near_queries.values()}
    missing = [query_id for query_id in pair.qrels_ids if query_id not in known]
    if not missing:
        return None
    have, count = ("has", "counts") if len(missing) == 1 else ("have", "count")
    return Hit(
        f"{len(missing):,} of {plural(len(pair.qrels_ids), 'judged query', 'judged queries')} "
        f"{have} no row ({listed(missing)}) and {count} as 0; "
        f"pytrec_eval averages only the other {len(pair.shared_ids):,}",
        _first_lines(pair.qrels, missing) if pair.report_on == "qrels" else (),
        len(missing),
        query_id=missing[0],
        total=len(pair.qrels_ids),
    )


@rule(
    "P104",
    "query-id-near-match",
    on="pair",
    scope="pair",
    severity="error",
    fix=RuleFix("ask", "wrote query ids as the other file does", kinds=("run", "qrels")),
    tables=True,
    checks="query ids that are equal except for leading zeros, case, Unicode normal form, "
    "invisible characters or number form",
    rationale="Ids are compared as text: '03' and '3' are two queries, one without judgments and "
    "one without results. Spreadsheets and conversions to numbers cause this.",
    example="run.txt:8: error P104: query 03 is written 3 in qrels.txt (leading zeros). Write the "
    "query ids identically in both files.",
    remedy="Write the query ids identically in both files",
    drop_in="scores",
)
def query_id_near_match(pair: PairView) -> Hit | None:
    """A query id of one file is spelled differently in the other."""
    if not pair.near_queries:
        return None
    matches = pair.near_queries
    if pair.report_on == "qrels":
        matches = {theirs: (ours, cause) for ours, (theirs, cause) in matches.items()}
    ours = [query_id for query_id in pair.reported_view.query_ids if query_id in matches]
    other, cause = matches[ours[0]]
    is_written = "is also written" if ours[0] in pair.shared_ids else "is written"
    more = f"; {len(ours):,} such ids" if len(ours) > 1 else ""
    return Hit(
        f"query {visible(ours[0], marks=True)} {is_written} {visible(other, marks=True)} in "
        f"{pair.other_view.name} ({cause}{more})",
        _first_lines(pair.reported_view, ours),
        len(ours),
        query_id=ours[0],
    )


@fix_step("P104", order=90)
def map_query_ids(draft: FileDraft, session: FixSession) -> FileDraft:
    """Write query ids as the other file spells them (P104)."""
    if not draft.view.n_rows:
        return draft
    if session.other is None:
        session.skip("P104", "it needs the other file; add --qrels FILE")
        return draft
    pair = draft.pair_with(session.other)
    pairs = [(ours, theirs) for ours, (theirs, _) in pair.near_queries.items()]
    if pair.report_on == "qrels":
        # A judged query that is also in the run is spelled correctly, so the run must be fixed.
        pairs = [(theirs, ours) for ours, theirs in pairs if theirs not in pair.shared_ids]
    if not pairs:
        return draft
    to_theirs = dict(pairs)
    if len(to_theirs) < len(pairs):
        session.skip("P104", "an id of this file matches several ids of the other")
        return draft
    keys = draft.view.frame.select("query_id", "doc_id")
    ids = keys["query_id"].replace(list(to_theirs), list(to_theirs.values()))
    if keys.with_columns(ids).n_unique() < keys.n_unique():
        session.skip("P104", "several queries would become one query with repeated documents")
        return draft
    session.done("P104", len(to_theirs))
    return draft.with_fields(c1=ids)


@rule(
    "P107",
    "query-not-in-topics",
    on="pair",
    scope="pair",
    severity="error",
    fix="no",
    tables=True,
    blocks_scoring=False,
    checks="run query not in topics",
    rationale="The run answers a query that is not a topic: the topics file is another set, or "
    "the id was changed.",
    example="run.txt:11: error P107: query 9 is not a topic. Check that this is the right topics "
    "file.",
    remedy="Check that this is the right topics file",
)
def query_not_in_topics(pair: PairView) -> Hit | None:
    """A query of the run is not a topic."""
    return _not_topics(pair, pair.run) if pair.report_on == "run" else None


def _not_topics(pair: PairView, table: TableView) -> Hit | None:
    """Return the hit for queries of the run, or of the qrels, that are not topics."""
    if pair.topic_ids is None:
        return None
    topics = set(pair.topic_ids)
    extra = [query_id for query_id in table.query_ids if query_id not in topics]
    if not extra:
        return None
    is_judged = table.kind == "qrels"
    what = "not a topic" if len(extra) == 1 else "not topics"
    return Hit(
        f"{_query(extra, 'is', 'are', len(table.query_ids))} {'judged but ' * is_judged}{what}",
        _first_lines(table, extra),
        len(extra),
        query_id=extra[0],
        total=len(table.query_ids) if is_judged else None,
    )


@rule(
    "P108",
    "topic-not-in-run",
    on="pair",
    scope="pair",
    severity="error",
    fix="no",
    tables=True,
    blocks_scoring=False,
    checks="topic without a row in the run",
    rationale="A missing topic scores 0 or is left out of the mean, depending on the tool.",
    example="run.txt: error P108: topic 3 has no row. Add the missing topics, if the system "
    "answers them.",
    remedy="Add the missing topics, if the system answers them",
)
def topic_not_in_run(pair: PairView) -> Hit | None:
    """A topic has no row in the run."""
    if pair.topic_ids is None or pair.report_on != "run":
        return None
    answered = set(pair.run_ids)
    missing = [query_id for query_id in pair.topic_ids if query_id not in answered]
    if not missing:
        return None
    subject = (
        f"topic {visible(missing[0])} has"
        if len(missing) == 1
        else f"{len(missing):,} of {len(pair.topic_ids):,} topics have"
    )
    ids = f" ({listed(missing)})" if len(missing) > 1 else ""
    return Hit(f"{subject} no row{ids}", count=len(missing), query_id=missing[0])


@rule(
    "P112",
    "judged-not-in-topics",
    on="pair",
    scope="pair",
    severity="warning",
    fix="no",
    tables=True,
    checks="judged query that is not a topic",
    rationale="Systems do not search this query, so every system scores 0 on it. The qrels are "
    "from another year, or the id was changed.",
    example="qrels.txt:10: warning P112: query 9 is judged but not a topic. Check that this is "
    "the right topics file.",
    remedy="Check that this is the right topics file",
)
def judged_not_in_topics(pair: PairView) -> Hit | None:
    """A judged query is not a topic."""
    if pair.qrels is None or pair.report_on != "qrels":
        return None
    return _not_topics(pair, pair.qrels)


def _query(ids: list[str], singular: str, several: str, n_queries: int) -> str:
    """Return ``query 9 has`` or ``3 of 10 queries (7, 8, 9) have``."""
    if len(ids) == 1:
        return f"query {visible(ids[0])} {singular}"
    return f"{len(ids):,} of {n_queries:,} queries ({listed(ids)}) {several}"


def _first_lines(table: TableView, ids: Iterable[str]) -> Sequence[int]:
    """Return the first line of each of some queries."""
    first_row = dict(zip(table.query_ids, table.blocks.first_rows.tolist(), strict=True))
    return table.lines(first_row[query_id] for query_id in ids)
