"""Values of the measures for each query, as the requested version of trec_eval computes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trectools_plus.display import Displayed
from trectools_plus.errors import CheckFailedError
from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.definitions.trec_eval_measures import Sees
from trectools_plus.measures.judged import JudgedRun
from trectools_plus.measures.providers.renaming import (
    RenamedRun,
    score_lengths,
    visible_depths,
    widest_part,
)
from trectools_plus.trec_eval import builtin
from trectools_plus.trec_eval.arguments import Arguments, Requested
from trectools_plus.trec_eval.reading import Input, RankedInput, rank_input


@dataclass(frozen=True, eq=False, repr=False)
class Scores(Displayed):
    """The values to print.

    Attributes:
        requested: The measures, in trec_eval's order.
        query_ids: The evaluated queries, in byte order.
        values: By measure name, shape (queries, lines); without measures whose value is a text.
        strings: The text of relstring for each query; empty if it is not requested.
        run_id: The last column of the run's last row.
        n_qrels: The number of queries in the qrels.
        n_relevant: The number of judgments with a grade above 0, for any relevance level.
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
        data: The files.
        arguments: The command line.

    Returns:
        The values of all measures for each query, and the numbers for the summary.

    Raises:
        CheckFailedError: If no query has both results and judgments, as in trec_eval.
    """
    ranked = rank_input(data, arguments)
    if not len(ranked.evaluated):
        raise CheckFailedError(
            "no queries with both results and relevance info",
            where=None if arguments.only_query is None else f"-D …{arguments.only_query}",
            remedy="check that both files have the same query ids",
        )
    values, strings = _score(ranked, arguments)
    if arguments.version == 10:
        _reset_missing(values, strings, ranked, arguments.requested)
    return Scores(
        arguments.requested,
        [ranked.query_ids[position] for position in ranked.evaluated],
        values,
        strings,
        data.run_id,
        len(ranked.query_ids),
        int((data.qrels["relevance"] > 0).sum()),
    )


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
    values: dict[str, FloatArray] = {}
    if not judged_only:
        for requested in measures:
            if requested.measure.sees == "length":
                table = score_lengths(ranked.run.retrieved, [requested.request()], requested.keys)
                values[requested.measure.name] = table[ranked.evaluated]
    measures = [requested for requested in measures if requested.measure.name not in values]
    run = _fill_empty_qrels(ranked.run)
    deepest = None
    if not judged_only and all(requested.measure.takes == "cutoffs" for requested in measures):
        deepest = int(max((requested.numbers[-1] for requested in measures), default=1))
    sees = widest_part(_part_seen(requested, judged_only) for requested in measures)
    depth = np.zeros_like(run.retrieved)
    depth[ranked.evaluated] = visible_depths(run, run.grade, deepest, sees)[ranked.evaluated]
    renamed = RenamedRun.of(run, run.grade, depth)

    def call(requests: Sequence[str], keys: Sequence[str]) -> FloatArray:
        found = renamed.score(requests, keys, level=level, judged_only=judged_only)
        return found[ranked.evaluated]

    in_one_call = []
    for requested in measures:
        if len({*requested.names}) == len(requested.names):
            in_one_call.append(requested)
            continue
        lines = zip(requested.numbers, requested.names, strict=True)
        columns = [call([requested.request([number])], [name]) for number, name in lines]
        values[requested.measure.name] = np.hstack(columns)
    if in_one_call:
        keys = [key for requested in in_one_call for key in requested.keys]
        table = call([requested.request() for requested in in_one_call], keys)
        ends = np.cumsum([len(requested.keys) for requested in in_one_call])
        parts = np.split(table, ends[:-1], axis=1)
        names = [requested.measure.name for requested in in_one_call]
        values.update(zip(names, parts, strict=True))
    return values


def _part_seen(requested: Requested, judged_only: bool) -> Sees:
    """Return the part of the ranking on which a measure depends."""
    sees = requested.measure.sees
    if judged_only and sees in ("length", "all"):
        return "judged"  # the others are removed
    return "judged" if sees == "relevant" and requested.gains else sees


def _fill_empty_qrels(run: JudgedRun) -> JudgedRun:
    """Add a document of grade 0, not retrieved, to queries without a grade of 0 or more.

    The document does not change any measure. Without it, trec_eval would read beyond its counters.
    """
    highest = np.full(len(run.retrieved), -1)
    np.maximum.at(highest, run.query, run.grade)
    empty = np.flatnonzero(highest < 0)
    zeros = np.zeros(len(empty), np.int64)
    return run.with_judgments(empty, zeros, zeros) if len(empty) else run
