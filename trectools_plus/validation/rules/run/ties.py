"""Rules on equal scores, which do not determine a ranking.

trec_eval sorts by score and breaks ties by document id, highest first. Version 9, and with it
pytrec_eval and ir_measures, compares scores as 32-bit floats; version 10 and ranx in 64 bits.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

import numpy as np

from trectools_plus.formats.columns.ids import Flags, Ids, Rows
from trectools_plus.text import number, plural, visible
from trectools_plus.validation.fixes.session import FileDraft, FixSession
from trectools_plus.validation.registry import Hit, Kinds, Places, RuleFix, fix_step, rule
from trectools_plus.validation.rules.file.shared import number_text
from trectools_plus.validation.rules.run.ranks import by_score
from trectools_plus.validation.views.order import places_in_query
from trectools_plus.validation.views.runs import RunView

if TYPE_CHECKING:
    import polars as pl


_LOWERED = "lowered tied scores so that they fall with rank"
COMPARED_EXACTLY = 10_000
"""Maximum number of pairs equal in float64 whose texts are compared digit by digit."""


def _ties(run: RunView) -> Kinds:
    """Rows with the score of the previous one; those that the ranks order against the ids."""
    if run.columns is None or not len(run.ties32):
        return Kinds.of()
    scored = run.scored
    places = run.ties32[scored.score[run.ties32] == scored.score[run.ties32 - 1]]
    places = places[~_is_tied_query(run)[scored.query[places]]]
    documents, previous = _documents(run, places)
    places = places[~documents.equal(previous)]
    ties = run.places(np.sort(scored.rows(places)))
    rank_increases = scored.rank[places] > scored.rank[places - 1]
    against = places[_against_doc_id(run, places) & rank_increases]
    if not len(against):
        return Kinds.of(all=ties)
    rows = scored.rows(against)
    at = int(np.argmin(rows))
    before = run.doc_id(scored.rows(against - 1)[at])
    pairs = run.places(np.sort(rows), 5, before=before, score=run.text(rows[at], 5))
    return Kinds.of(all=replace(ties, column=None), against=pairs)


@rule(
    "R141",
    "tied-scores",
    on="run",
    scope="query",
    severity="warning",
    fix=RuleFix(
        "ask",
        _LOWERED,
        effect="rewrites tied scores; the rank column decides the order of the ties",
    ),
    checks="equal float64 scores whose rank order is not by descending document id; other ties "
    "are an info",
    rationale="Within a tie, trec_eval ranks the highest document id first and ignores the rank "
    "column. Other tools use the lowest id, the order of the rows, or any order.",
    example="run.txt:9: warning R141: d08 and d09 tie at 3.0; trec_eval puts d09 first, the "
    "rank column d08. Write scores that fall with rank.",
    remedy="Write scores that fall with rank",
    collect=_ties,
)
def tied_scores(run: RunView, found: Kinds) -> Hit | None:  # noqa: ARG001
    """Documents of a query have the same score."""
    n_ties, against = found["all"].count, found["against"]
    if not against.count:
        message = f"{plural(n_ties, 'document')} tied with the previous one; tools order them "
        return found["all"].hit(message + "differently", doc_id=None, severity="info")
    first, second = visible(str(against["before"])), visible(str(against.doc_id))
    more = f" ({against.count:,} such pairs, {n_ties:,} ties in all)" if n_ties > 1 else ""
    return against.hit(
        f"{first} and {second} tie at {against['score']}; trec_eval puts {second} first, "
        f"the rank column {first}{more}",
        effect=f"rewrites {plural(n_ties, 'tied score')}; the rank column decides the order of "
        "the ties",
    )


def _tied_queries(run: RunView) -> Kinds:
    """The first and second rows of queries with two or more documents that all score the same."""
    tied = np.flatnonzero(_is_tied_query(run))
    if not len(tied):
        return Kinds.of()
    rows, sizes = run.blocks.first_rows[tied], run.blocks.sizes
    score = number(run.score[rows[0]])
    first = run.places(rows, score=score, n_documents=int(sizes[tied[0]]))
    n_same = int(np.count_nonzero(run.score[rows] == run.score[rows[0]]))
    seconds = run.grouped.rows((np.cumsum(sizes) - sizes)[tied[:10]] + 1)
    first = replace(first, column=None, sums={score: n_same})
    return Kinds.of(first=first, second=run.places(np.sort(seconds)))


@rule(
    "R142",
    "all-tied",
    on="run",
    scope="file",
    severity="warning",
    fix=RuleFix(
        "ask",
        "wrote scores from the ranks",
        effect="rewrites the scores from the ranks; the rank column decides the order",
    ),
    tables=True,
    checks="all scores of a query (2+ documents) equal; error if so in every query",
    rationale="The ranking is then the order of the document ids. This happens when a constant is "
    "written instead of the score, or when tiny scores become 0.",
    example="run.txt:1: error R142: every query has a single score (0); only the rank column "
    "orders the documents. Write scores that fall with rank.",
    remedy="Write scores that fall with rank",
    may_be_error=True,
    drop_in="scores",
    collect=_tied_queries,
)
def all_tied(run: RunView, found: Kinds) -> Hit | None:
    """All documents of a query have the same score."""
    first, second = found["first"], found["second"]
    n_queries = len(run.query_ids)
    n_larger = int((run.blocks.sizes >= 2).sum())
    if _is_every_query_tied(first.count, n_larger, n_queries) and run.columns is not None:
        shown = f" ({first['score']})" if first.sums[str(first["score"])] == first.count else ""
        return first.hit(
            f"every query has a single score{shown}; only the rank column orders the documents",
            doc_id=None,
            severity="error",
        )
    of = f" ({first.count:,} of {n_queries:,} queries)" if first.count > 1 else ""
    return second.hit(
        f"all {first['n_documents']:,} documents of query {visible(str(first.query_id))} score "
        f"{first['score']}{of}; trec_eval orders them by document id",
        count=first.count,
        query_id=first.query_id,
        doc_id=None,
    )


def _is_every_query_tied(n_tied: int, n_larger: int, n_queries: int) -> bool:
    """Return whether all queries with several documents are tied, and most queries have several.

    Args:
        n_tied: Queries of two or more documents that all score the same.
        n_larger: Queries of two or more documents.
        n_queries: All queries.
    """
    return n_tied == n_larger and 2 * n_larger > n_queries


def _is_tied_query(run: RunView) -> Flags:
    """Return, for each query, whether it has two or more documents that all score the same."""
    n_queries = len(run.query_ids)
    if run.grouped.scores_fall:
        return np.zeros(n_queries, np.bool_)
    grouped = run.grouped
    equal = (grouped.score[1:] == grouped.score[:-1]) & grouped.same_query
    n_equal = np.bincount(grouped.query[1:][equal], minlength=n_queries)
    tied: Flags = (n_equal == run.blocks.sizes - 1) & (run.blocks.sizes >= 2)
    return tied


def _ties_of_other_scores(run: RunView) -> Kinds:
    """Rows whose score equals the previous one in 32 bits, or in 64, but not as written."""
    if not len(run.ties32):
        return Kinds.of()
    scored = run.scored
    places = run.ties32[scored.score[run.ties32] != scored.score[run.ties32 - 1]]
    if not len(places):
        return Kinds.of(in_64=_ties_in_64_bits(run))
    rows = scored.rows(places)
    at = int(np.argmin(rows))
    before = int(scored.rows(places - 1)[at])
    texts = {
        name: number_text(run, row, 5, run.score[row])
        for name, row in (("before", before), ("score", int(rows[at])))
    }
    changed = int(_against_doc_id(run, places).sum())
    found = replace(run.places(np.sort(rows), 5, **texts), sums={"changed": changed})
    return Kinds.of(in_32=found)


@rule(
    "R143",
    "tie-in-float32",
    on="run",
    scope="query",
    severity="warning",
    fix=RuleFix(
        "ask",
        _LOWERED,
        effect="rewrites scores that tie in 32 bits; the rank column decides their order",
    ),
    tables=True,
    checks="scores that differ as text or in float64 but are equal in float32 (or float64), for "
    "example above 2^24 or 3.4e38",
    rationale="trec_eval 9, pytrec_eval and ir_measures compare scores in 32 bits (about seven "
    "digits), trec_eval 10 and ranx in 64 bits. Such a run has two rankings.",
    example="run.txt:9: warning R143: 0.75000001 and 0.75 are equal in float32: trec_eval 9, "
    "pytrec_eval and ir_measures tie them, trec_eval 10 and ranx do not. Write scores that differ "
    "within 7 digits, for example 1000 minus the rank.",
    remedy="Write scores that differ within 7 digits, for example 1000 minus the rank",
    collect=_ties_of_other_scores,
)
def tie_in_float32(run: RunView, found: Kinds) -> Hit | None:  # noqa: ARG001
    """Scores of a query differ in 64 bits or as text, but not in 32 bits."""
    in_32 = found["in_32"]
    if in_32.count:
        changed = f"{in_32.count:,} pairs, {in_32.sums['changed']:,} change their order"
        more = f" ({changed})" if in_32.count > 1 else ""
        return in_32.hit(
            f"{in_32['before']} and {in_32['score']} are equal in float32{more}: "
            "trec_eval 9, pytrec_eval and ir_measures tie them, trec_eval 10 and ranx do not"
        )
    in_64 = found["in_64"]
    scores = f"{visible(str(in_64['above']))} and {visible(str(in_64['below']))}"
    return in_64.hit(f"{scores} are equal even in float64; every tool ties them")


def _ties_in_64_bits(run: RunView) -> Places:
    """Scores that differ as text, but not in 64 bits."""
    if run.columns is None:
        return Places()
    places = run.ties32[~_is_tied_query(run)[run.scored.query[run.ties32]]]
    rows, before = run.scored.rows(places), run.scored.rows(places - 1)
    is_short = run.rows.scores.is_short
    unsure = ~(is_short[rows] & is_short[before])  # other equal numbers do not differ as text
    rows, before = rows[unsure], before[unsure]
    texts, texts_before = run.texts(5, rows), run.texts(5, before)
    differ = [at for at in range(len(rows)) if texts[at] != texts_before[at]][:COMPARED_EXACTLY]
    pairs = [
        (int(rows[at]), texts_before[at], texts[at])
        for at in differ
        if _differ(texts[at], texts_before[at])
    ]
    if not pairs:
        return Places()
    _, above, below = min(pairs)
    return run.places(np.array(sorted(pair[0] for pair in pairs)), 5, above=above, below=below)


def _differ(left: str, right: str) -> bool:
    try:
        return Decimal(left) != Decimal(right)
    except InvalidOperation:
        return False


def _documents(run: RunView, places: Rows) -> tuple[Ids, Ids]:
    """Return the documents at places of :attr:`RunView.scored`, and the previous ones."""
    return run.doc_ids.take(run.scored.rows(places)), run.doc_ids.take(run.scored.rows(places - 1))


def _against_doc_id(run: RunView, places: Rows) -> Flags:
    """Return, for places of :attr:`RunView.scored`, whether the previous document id is lower."""
    here, before = _documents(run, places)
    return here.above(before)


@fix_step("R141", "R142", "R143", order=130)
def separate_scores(draft: FileDraft, session: FixSession) -> FileDraft:
    """Rewrite tied scores in the order of the ranks, so that they differ in 32-bit floats.

    Queries with a single score get scores from the ranks (R142). In other queries with ties, scores
    are lowered as little as possible (R141, R143).
    """
    run = draft.run
    if not len(run.ties32):
        return draft
    import polars as pl

    queries, is_broken = run.scored.query[run.ties32], _ties_by_rule(run)
    unreadable = np.unique(run.blocks.query[~np.isfinite(run.score)])
    texts, order = draft.fields["c5"], by_score(run)
    for code, flags in is_broken.items():
        chosen = np.setdiff1d(queries[flags], unreadable)
        if code not in session.requested or not len(chosen):
            continue
        rows = order[np.isin(run.blocks.query[order], chosen)]
        if code == "R142":  # n, …, 2, 1 for the n rows of a query
            query = run.blocks.query[rows]
            scores = run.blocks.sizes[query] - places_in_query(query)
            written = pl.Series(scores).cast(pl.String)
        else:
            written = _separated(run, rows)
        # Older versions of polars set values at rising indices only.
        new = pl.DataFrame({"row": rows, "text": written}).drop_nulls("text").sort("row")
        texts = texts.clone().scatter(new["row"], new["text"])
        session.done(code, int(np.isin(queries[flags], chosen).sum()))
    return draft if texts.equals(draft.fields["c5"]) else draft.with_fields(c5=texts)


def _ties_by_rule(run: RunView) -> dict[str, Flags]:
    """Flag, for each rule, the ties in 32 bits that break it."""
    scored, places = run.scored, run.ties32
    equal = scored.score[places] == scored.score[places - 1]
    n_queries = len(run.query_ids)
    n_equal = np.bincount(scored.query[places][equal], minlength=n_queries)
    single = ((n_equal == run.blocks.sizes - 1) & (n_equal > 0))[scored.query[places]]
    beyond = ~equal
    if not beyond.any() and tie_in_float32.check(run) is not None:
        # They differ as text, but not in 64 bits.
        here, before = (run.texts(5, scored.rows(at)) for at in (places, places - 1))
        differ = [one != other for one, other in zip(here, before, strict=True)]
        beyond = np.array(differ) & ~single
    return {"R141": equal & ~single, "R142": single, "R143": beyond}


def _separated(run: RunView, rows: Rows) -> pl.Series:
    """Return new scores for the rows of some queries; null for unchanged scores."""
    import polars as pl

    from trectools_plus.formats.ranking import separate_ties

    table = pl.DataFrame(
        {
            "query_id": run.blocks.query[rows],
            "doc_id": -np.arange(len(rows)),  # equal scores keep this order
            "score": run.score[rows],
        }
    )
    apart = separate_ties(table).sort("doc_id", descending=True)["score"].cast(pl.Float32)
    with np.errstate(over="ignore", under="ignore"):
        before = pl.Series(run.score[rows].astype(np.float32))
    return apart.cast(pl.String).set(apart == before, None)
