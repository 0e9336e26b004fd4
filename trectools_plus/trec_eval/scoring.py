"""A value for each query and measure, as trec_eval of the version asked for computes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trectools_plus.errors import CheckFailedError
from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.judged import JudgedRun
from trectools_plus.measures.providers.pytrec_eval import RenamedRun, visible_depths
from trectools_plus.trec_eval import builtin
from trectools_plus.trec_eval.arguments import Arguments, Requested
from trectools_plus.trec_eval.reading import Input, Judging, judge


@dataclass(frozen=True, eq=False)
class Scores:
    """The values to print.

    Attributes:
        requested: The measures, in trec_eval's order.
        query_ids: The queries that were evaluated, in byte order.
        values: By measure name: shape (queries, lines). Texts have none.
        strings: relstring's text of each query; empty if not asked for.
        run_id: The last column of the run's last row.
        n_qrels: Queries in the qrels.
        n_relevant: Documents of the qrels with a grade above 0, whatever the level.
    """

    requested: Sequence[Requested]
    query_ids: Sequence[str]
    values: dict[str, FloatArray]
    strings: Sequence[str]
    run_id: str
    n_qrels: int
    n_relevant: int


def score(data: Input, arguments: Arguments) -> Scores:
    """Score a run.

    Args:
        data: What was read.
        arguments: The request.

    Returns:
        The values of all measures per query and in summary.

    Raises:
        CheckFailedError: If there is no query with both results and judgments, at which
            trec_eval stops too.
    """
    judging = judge(data, arguments)
    if not len(judging.evaluated):
        raise CheckFailedError(
            "no queries with both results and relevance info",
            where=None if arguments.only_query is None else f"-D …{arguments.only_query}",
            remedy="check that the query ids of both files are the same",
        )
    values, strings = _score(judging, arguments)
    if arguments.version == 10:
        _clear_missing(values, strings, judging, arguments.requested)
    return Scores(
        arguments.requested,
        [judging.query_ids[position] for position in judging.evaluated],
        values,
        strings,
        data.run_id,
        len(judging.query_ids),
        int((data.qrels["relevance"] > 0).sum()),
    )


def _score(judging: Judging, arguments: Arguments) -> tuple[dict[str, FloatArray], list[str]]:
    values: dict[str, FloatArray] = {}
    strings: list[str] = []
    delegated = []
    chosen = judging.evaluated
    for requested in arguments.requested:
        name = requested.measure.name
        if name == "relstring":
            texts = builtin.relevance_strings(requested, judging.seen)
            strings = [texts[position] for position in chosen]
        elif name == "utility" and arguments.collection_size:
            weighed = builtin.utility(
                requested, judging.seen, arguments.level, arguments.collection_size
            )
            values[name] = weighed[chosen, None]
        elif arguments.version == 10 and name in builtin.SCORERS:
            scorer = builtin.SCORERS[name]
            values[name] = scorer(requested, judging.seen, arguments.level)[chosen]
        elif name != "runid":
            delegated.append(requested)
    values.update(_score_by_pytrec_eval(delegated, judging, arguments.level, arguments.judged_only))
    return values, strings


def _clear_missing(
    values: dict[str, FloatArray],
    strings: list[str],
    judging: Judging,
    measures: Sequence[Requested],
) -> None:
    """Take back what the stand-in document of version 10 brought a query without results.

    Version 10 goes by the printed name, so ``utility`` with parameters keeps its value.
    """
    missing = np.searchsorted(judging.evaluated, judging.missing)
    for requested in measures:
        name = requested.measure.name
        if name == "unj" or requested.names in (("num_ret",), ("utility",), ("rbp_resid",)):
            values[name][missing] = 0.0
        elif requested.names == ("relstring",):
            for position in missing:
                strings[position] = ""


def _score_by_pytrec_eval(
    measures: Sequence[Requested], judging: Judging, level: int, judged_only: bool
) -> dict[str, FloatArray]:
    """Score the queries that are evaluated.

    A call answers by name, so lines of one name, as of ``iprec_at_recall.0.101,0.102``, get a call
    each.

    Args:
        measures: The measures.
        judging: The rankings.
        level: The lowest grade that is relevant.
        judged_only: Whether unjudged documents are taken out first.

    Returns:
        By measure name: values of shape (evaluated queries, lines).
    """
    run = _without_empty_qrels(judging.run)
    cut = not judged_only and all(requested.measure.takes == "cutoffs" for requested in measures)
    deepest = (
        int(max((requested.numbers[-1] for requested in measures), default=1)) if cut else None
    )
    tail = any(requested.measure.sees_tail for requested in measures)
    depth = np.zeros_like(run.retrieved)
    depth[judging.evaluated] = visible_depths(run, deepest, sees_tail=tail)[judging.evaluated]
    renamed = RenamedRun.of(run, run.grade, depth)

    def ask(requests: Sequence[str], keys: Sequence[str]) -> FloatArray:
        found = renamed.ask(requests, keys, level=level, judged_only=judged_only)
        return found[judging.evaluated]

    clear = [requested for requested in measures if len({*requested.names}) == len(requested.names)]
    keys = [key for requested in clear for key in requested.keys]
    columns = ask([requested.request() for requested in clear], keys) if clear else np.empty((0, 0))
    ends = np.cumsum([len(requested.keys) for requested in clear], dtype=np.int64)
    values = {
        requested.measure.name: columns[:, end - len(requested.keys) : end]
        for requested, end in zip(clear, ends.tolist(), strict=True)
    }
    for requested in measures:
        if requested not in clear:
            lines = zip(requested.numbers, requested.names, strict=True)
            alone = [ask([requested.request([number])], [name]) for number, name in lines]
            values[requested.measure.name] = np.hstack(alone)
    return values


def _without_empty_qrels(run: JudgedRun) -> JudgedRun:
    """Give queries without a grade from 0 a document of grade 0 that nobody retrieved.

    No measure sees it, and trec_eval does not read beyond its counters then.
    """
    highest = np.full(len(run.retrieved), -1)
    np.maximum.at(highest, run.query, run.grade)
    empty = np.flatnonzero(highest < 0)
    nothing = np.zeros(len(empty), np.int64)
    return run.with_judgments(empty, nothing, nothing) if len(empty) else run
