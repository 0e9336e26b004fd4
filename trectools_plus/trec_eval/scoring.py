"""Values of the measures for each query, as the requested version of trec_eval computes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import CheckFailedError
from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.judged import IntArray, JudgedRun
from trectools_plus.measures.providers.pytrec_eval import Request, score_requests
from trectools_plus.trec_eval import builtin
from trectools_plus.trec_eval.arguments import Arguments, Requested
from trectools_plus.trec_eval.output import Scores

if TYPE_CHECKING:
    from trectools_plus.trec_eval.reading import Input


@dataclass(frozen=True, eq=False)
class QueryScores:
    """The values of some queries.

    Attributes:
        query_ids: The evaluated queries, in any order.
        values: By measure name, shape (queries, lines); without measures whose value is a text.
        strings: The text of relstring for each query; empty if it is not requested.
    """

    query_ids: list[str]
    values: dict[str, FloatArray]
    strings: list[str]

    @classmethod
    def joined(cls, parts: Sequence[QueryScores]) -> QueryScores:
        """Return the values of all queries of some parts, in byte order of the ids."""
        parts = [part for part in parts if part.query_ids]
        if not parts:
            return cls([], {}, [])
        query_ids = [query_id for part in parts for query_id in part.query_ids]
        strings = [text for part in parts for text in part.strings]
        values = {
            name: np.concatenate([part.values[name] for part in parts]) for name in parts[0].values
        }
        # The order of UTF-8 bytes is that of characters.
        order = sorted(range(len(query_ids)), key=query_ids.__getitem__)
        return cls(
            [query_ids[at] for at in order],
            {name: table[order] for name, table in values.items()},
            [strings[at] for at in order] if strings else [],
        )


def score(data: Input, arguments: Arguments) -> Scores:
    """Score a run.

    Args:
        data: The files.
        arguments: The command line.

    Returns:
        The values of all measures for each query, and the numbers for the summary.

    Raises:
        CheckFailedError: If no query has both results and judgments, as in trec_eval.
    """
    from trectools_plus.trec_eval.reading import escape_bytes, judge_input, restore_bytes

    query_ids, run = judge_input(data, arguments)
    n_relevant = int((data.qrels.relevance > 0).sum())
    counts = len(query_ids), n_relevant
    if not data.is_escaped:
        found = score_queries(query_ids, run, arguments)
        return summarise_queries([found], arguments, data.run_id, counts)
    if arguments.only_query is not None:
        only_query = escape_bytes(arguments.only_query.encode("utf-8", "surrogateescape"))
        arguments = replace(arguments, only_query=only_query)
    found = score_queries(query_ids, run, arguments)
    scores = summarise_queries([found], arguments, restore_bytes(data.run_id), counts)
    return replace(scores, query_ids=list(map(restore_bytes, scores.query_ids)))


def summarise_queries(
    parts: Sequence[QueryScores],
    arguments: Arguments,
    run_id: str,
    counts: tuple[int, int],
) -> Scores:
    """Return the values to print, given those of all queries.

    Args:
        parts: The values.
        arguments: The command line.
        run_id: The last column of the run's last row.
        counts: The number of queries in the qrels, and of judgments with a grade above 0.

    Raises:
        CheckFailedError: If no query has both results and judgments, as in trec_eval.
    """
    found = QueryScores.joined(parts)
    if not found.query_ids:
        raise CheckFailedError(
            "no queries with both results and relevance info",
            where=None if arguments.only_query is None else f"-D …{arguments.only_query}",
            remedy="check that both files have the same query ids",
        )
    return Scores(
        arguments.requested, found.query_ids, found.values, found.strings, run_id, *counts
    )


def score_queries(query_ids: list[str], run: JudgedRun, arguments: Arguments) -> QueryScores:
    """Score some queries of the qrels.

    Args:
        query_ids: The queries.
        run: The ranks of their judged documents.
        arguments: The command line.
    """
    ranked = rank_queries(query_ids, run, arguments)
    if not len(ranked.evaluated):
        return QueryScores([], {}, [])
    values, strings = _score(ranked, arguments)
    if arguments.version == 10:
        _reset_missing(values, strings, ranked, arguments.requested)
    return QueryScores([query_ids[at] for at in ranked.evaluated.tolist()], values, strings)


@dataclass(frozen=True, eq=False)
class RankedInput:
    """The ranks of judged documents.

    Attributes:
        query_ids: The queries.
        evaluated: Positions of the evaluated queries.
        missing: Positions of evaluated queries without results (version 10).
        run: The ranks of judged documents among all documents.
        filtered: With ``-J``, the ranks among judged documents; else the same as ``run``.
    """

    query_ids: list[str]
    evaluated: IntArray
    missing: IntArray
    run: JudgedRun
    filtered: JudgedRun


def rank_queries(query_ids: list[str], run: JudgedRun, arguments: Arguments) -> RankedInput:
    """Apply the cutoff, and choose the evaluated queries.

    Args:
        query_ids: The queries.
        run: The ranks of their judged documents.
        arguments: ``-M``, ``-J``, ``-D``, ``-c`` and the version are used.
    """
    run = run.cut(arguments.max_retrieved)
    chosen = run.retrieved > 0
    missing = np.flatnonzero(~chosen)
    if arguments.version == 10 and arguments.complete:
        # Version 10 ranks one unjudged document for a query without results.
        run = replace(run, retrieved=np.maximum(run.retrieved, 1))
        chosen[:] = True
    if arguments.only_query is not None:
        chosen &= np.array([name == arguments.only_query for name in query_ids], bool)
    evaluated = np.flatnonzero(chosen)
    filtered = _judged_only(run) if arguments.judged_only else run
    return RankedInput(query_ids, evaluated, np.intersect1d(missing, evaluated), run, filtered)


def _judged_only(run: JudgedRun) -> JudgedRun:
    """Return the ranking of the documents with a grade of 0 or more."""
    is_kept: npt.NDArray[np.bool_] = (run.rank > 0) & (run.grade >= 0)
    # Entries are sorted by query and rank, so the new rank is the position within the query.
    n_kept = np.cumsum(is_kept)
    starts = np.r_[0, np.cumsum(np.bincount(run.query, minlength=len(run.retrieved)))]
    before = np.r_[0, n_kept][starts[run.query]]
    rank = np.where(is_kept, n_kept - before, 0)
    return replace(run, rank=rank, retrieved=run.count(is_kept))


def _score(ranked: RankedInput, arguments: Arguments) -> tuple[dict[str, FloatArray], list[str]]:
    values: dict[str, FloatArray] = {}
    strings: list[str] = []
    for_pytrec_eval = []
    chosen = ranked.evaluated
    for requested in arguments.requested:
        name = requested.measure.name
        if name == "relstring":
            texts = builtin.relevance_strings(requested, ranked.filtered)
            strings = [texts[position] for position in chosen]
        elif name == "utility" and arguments.collection_size:
            sums = builtin.utility(
                requested, ranked.filtered, arguments.level, arguments.collection_size
            )
            values[name] = sums[chosen, None]
        elif arguments.version == 10 and name in builtin.SCORERS:
            scorer = builtin.SCORERS[name]
            values[name] = scorer(requested, ranked.filtered, arguments.level)[chosen]
        elif name != "runid":
            for_pytrec_eval.append(requested)
    values.update(
        _score_by_pytrec_eval(for_pytrec_eval, ranked, arguments.level, arguments.judged_only)
    )
    return values, strings


def _reset_missing(
    values: dict[str, FloatArray],
    strings: list[str],
    ranked: RankedInput,
    measures: Sequence[Requested],
) -> None:
    """Set the values of queries without results to 0; version 10 ranks an unjudged document there.

    Version 10 compares printed names, so ``utility`` with parameters is not reset.
    """
    missing = np.searchsorted(ranked.evaluated, ranked.missing)
    for requested in measures:
        name = requested.measure.name
        if name == "unj" or requested.names in (("num_ret",), ("utility",), ("rbp_resid",)):
            values[name][missing] = 0.0
        elif requested.names == ("relstring",):
            for position in missing:
                strings[position] = ""


def _score_by_pytrec_eval(
    measures: Sequence[Requested], ranked: RankedInput, level: int, judged_only: bool
) -> dict[str, FloatArray]:
    """Score the evaluated queries.

    pytrec_eval returns values by name, so lines with the same name, for example those of
    ``iprec_at_recall.0.101,0.102``, need separate calls.

    Args:
        measures: The measures.
        ranked: The rankings.
        level: The lowest grade that is relevant.
        judged_only: Whether unjudged documents are removed first.

    Returns:
        By measure name: values of shape (evaluated queries, lines).
    """
    run = _fill_empty_qrels(ranked.run)
    is_evaluated = np.zeros(len(run.retrieved), bool)
    is_evaluated[ranked.evaluated] = True
    run = replace(run, retrieved=np.where(is_evaluated, run.retrieved, 0))

    def call(requests: Sequence[Request]) -> dict[str, FloatArray]:
        found = score_requests(run, run.grade, requests, level=level, judged_only=judged_only)
        return {key: column[ranked.evaluated] for key, column in found.items()}

    values: dict[str, FloatArray] = {}
    in_one_call = []
    for requested in measures:
        if len({*requested.names}) == len(requested.names):
            in_one_call.append(requested)
            continue
        lines = [_request_of(requested, [number]) for number in requested.numbers]
        columns = [call([line])[line.keys[0]] for line in lines]
        values[requested.measure.name] = np.stack(columns, axis=1)
    found = call([_request_of(requested, requested.numbers) for requested in in_one_call])
    for requested in in_one_call:
        values[requested.measure.name] = np.stack([found[key] for key in requested.keys], axis=1)
    return values


def _request_of(requested: Requested, numbers: Sequence[float]) -> Request:
    """Return the request of a measure for all or some of its cutoffs or points."""
    measure, keys = requested.measure, requested.keys
    if len(numbers) < len(requested.numbers):
        keys = tuple(keys[requested.numbers.index(number)] for number in numbers)
    sees = "judged" if requested.gains and measure.sees in ("gains", "relevant") else measure.sees
    cutoff = int(max(numbers)) if measure.takes == "cutoffs" else None
    return Request(requested.request(numbers), keys, sees, cutoff)


def _fill_empty_qrels(run: JudgedRun) -> JudgedRun:
    """Add a document of grade 0, not retrieved, to queries without a grade of 0 or more.

    The document does not change any measure. Without it, trec_eval would read beyond its counters.
    """
    highest = np.full(len(run.retrieved), -1)
    np.maximum.at(highest, run.query, run.grade)
    empty = np.flatnonzero(highest < 0)
    zeros = np.zeros(len(empty), np.int64)
    return run.with_judgments(empty, zeros, zeros) if len(empty) else run
