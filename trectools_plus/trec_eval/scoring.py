"""Values of the measures for each query, as the requested version of trec_eval computes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trectools_plus.choices import RELEVANT
from trectools_plus.errors import CheckFailedError
from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.judged import JudgedPart, JudgedQueries, JudgedRun
from trectools_plus.measures.providers.pytrec_eval import Request, score_requests
from trectools_plus.measures.scoring import PartJudge, judge_file
from trectools_plus.trec_eval.arguments import Arguments, Requested
from trectools_plus.trec_eval.inputs import (
    Input,
    as_judgments,
    escape_bytes,
    has_other_bytes,
    read_qrels,
    read_run,
    restore_bytes,
)
from trectools_plus.trec_eval.output import Scores, Table, notes_on_files
from trectools_plus.validation.findings import Finding, Severity
from trectools_plus.validation.parts import NotInPartsError
from trectools_plus.validation.views.kinds import RunView

if TYPE_CHECKING:
    from trectools_plus.trec_eval.builtin import Scorer


def score_graded_files(arguments: Arguments) -> tuple[Scores, list[str]]:
    """Score a run file with qrels.

    Args:
        arguments: The command line.

    Returns:
        The values to print; and notes, see
        :func:`~trectools_plus.trec_eval.output.notes_on_files`.

    Raises:
        FindingsError: If a file has errors at which trec_eval stops or that it misreads.
        CheckFailedError: If no query has both results and judgments, as in trec_eval.
        InputError: If a file cannot be read.
    """
    qrels, of_qrels = read_qrels(arguments)
    if not has_other_bytes(qrels):
        scored = _score_in_chunks(arguments, as_judgments(qrels), of_qrels)
        if scored is not None:
            return scored
    data = read_run(arguments, qrels, of_qrels)
    return score(data, arguments), data.notes


def _score_in_chunks(
    arguments: Arguments, qrels: JudgedQueries, of_qrels: Sequence[Finding]
) -> tuple[Scores, list[str]] | None:
    """Score a run in chunks; return ``None`` if it must be read as a whole."""
    judge = PartJudge(qrels, partial(_score_part, qrels, arguments), precision=arguments.precision)
    try:
        run, findings, parts = judge_file(str(arguments.files[1]), judge)
    except NotInPartsError:
        return None
    # trec_eval reads a header like any other line.
    if (
        not parts
        or run.file.header is not None
        or (
            arguments.strict_input
            and any(finding.severity is Severity.ERROR for finding in findings)
        )
    ):
        return None
    scores = _summarise(parts, qrels, arguments, run)
    return scores, notes_on_files(findings, of_qrels)


@dataclass(frozen=True, eq=False)
class QueryScores:
    """The values of some queries.

    Attributes:
        query_ids: The evaluated queries, in any order.
        values: By measure name, shape (queries, lines); relstring has texts.
    """

    query_ids: list[str]
    values: dict[str, Table]


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
    if data.is_escaped and arguments.only_query is not None:
        only_query = escape_bytes(arguments.only_query.encode("utf-8", "surrogateescape"))
        arguments = replace(arguments, only_query=only_query)
    judged = data.qrels.look_up(data.run, arguments.precision)
    part = _score_part(data.qrels, arguments, judged)
    scores = _summarise([part], data.qrels, arguments, data.run)
    if not data.is_escaped:
        return scores
    restored = list(map(restore_bytes, scores.query_ids))
    return replace(scores, query_ids=restored, run_id=restore_bytes(scores.run_id))


def _score_part(qrels: JudgedQueries, arguments: Arguments, judged: JudgedPart) -> QueryScores:
    """Score the judged queries of a run, or of a part of one."""
    numbers, run = judged.judged_run(qrels)
    return score_queries(qrels.ids_of(numbers), run, arguments)


def _summarise(
    parts: list[QueryScores], qrels: JudgedQueries, arguments: Arguments, run: RunView
) -> Scores:
    """Return the values to print, given those of the queries of a run.

    Raises:
        CheckFailedError: If no query has both results and judgments, as in trec_eval.
    """
    if arguments.complete:
        in_run = set(run.query_ids)
        missing = [at for at, query_id in enumerate(qrels.query_ids) if query_id not in in_run]
        numbers, none = np.array(missing, np.int64), np.zeros(0, np.int64)
        run_without = qrels.judged_run(numbers, np.zeros_like(numbers), none, none)
        parts = [*parts, score_queries(qrels.ids_of(numbers), run_without, arguments)]
    counts = len(qrels.query_ids), int((qrels.relevance > 0).sum())
    return summarise_queries(parts, arguments, run.last_tag, counts)


def summarise_queries(
    parts: Sequence[QueryScores], arguments: Arguments, run_id: str, counts: tuple[int, int]
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
    parts = [part for part in parts if part.query_ids]
    if not parts:
        raise CheckFailedError(
            "no queries with both results and relevance info",
            where=None if arguments.only_query is None else f"-D …{arguments.only_query}",
            remedy="check that both files have the same query ids",
        )
    query_ids = [query_id for part in parts for query_id in part.query_ids]
    # The order of UTF-8 bytes is that of characters.
    order = sorted(range(len(query_ids)), key=query_ids.__getitem__)
    values = {
        name: np.concatenate([part.values[name] for part in parts])[order]
        for name in parts[0].values
    }
    in_order = [query_ids[at] for at in order]
    return Scores(arguments.requested, in_order, values, run_id, *counts)


def score_queries(query_ids: list[str], run: JudgedRun, arguments: Arguments) -> QueryScores:
    """Score some queries of the qrels.

    Args:
        query_ids: The queries.
        run: The ranks of their judged documents.
        arguments: The command line.
    """
    ranked = rank_queries(query_ids, run, arguments)
    if not ranked.evaluated.any():
        return QueryScores([], {})
    values = _score(ranked, arguments)
    if arguments.version == 10:
        _reset_missing(values, ranked.is_missing, arguments.requested)
    return QueryScores(list(compress(query_ids, ranked.evaluated.tolist())), values)


@dataclass(frozen=True, eq=False)
class RankedInput:
    """The ranks of judged documents.

    Attributes:
        evaluated: A mask of the queries that are evaluated.
        is_missing: A mask of evaluated queries without results (version 10).
        run: The ranks of judged documents among all documents.
        filtered: With ``-J``, the ranks among judged documents; else the same as ``run``.
    """

    evaluated: npt.NDArray[np.bool_]
    is_missing: npt.NDArray[np.bool_]
    run: JudgedRun
    filtered: JudgedRun


def rank_queries(query_ids: list[str], run: JudgedRun, arguments: Arguments) -> RankedInput:
    """Apply the cutoff, and choose the evaluated queries.

    Args:
        query_ids: The queries.
        run: The ranks of their judged documents.
        arguments: ``-M``, ``-J``, ``-D``, ``-c`` and the version are used.
    """
    is_missing = run.retrieved == 0
    if arguments.version == 10 and arguments.complete:
        # Version 10 ranks one unjudged document for a query without results.
        run = replace(run, retrieved=np.maximum(run.retrieved, 1))
    chosen = run.retrieved > 0
    run = run.cut(arguments.max_retrieved)
    if arguments.only_query is not None:
        chosen &= np.array([name == arguments.only_query for name in query_ids], bool)
    filtered = _judged_only(run) if arguments.judged_only else run
    return RankedInput(chosen, is_missing[chosen], run, filtered)


def _judged_only(run: JudgedRun) -> JudgedRun:
    """Return the ranking of the documents with a grade of 0 or more."""
    is_kept: npt.NDArray[np.bool_] = (run.rank > 0) & (run.grade >= 0)
    # Entries are sorted by query and rank, so the new rank is the position within the query.
    n_kept = np.cumsum(is_kept)
    starts = np.r_[0, np.cumsum(np.bincount(run.query, minlength=len(run.retrieved)))]
    before = np.r_[0, n_kept][starts[run.query]]
    rank = np.where(is_kept, n_kept - before, 0)
    return replace(run, rank=rank, retrieved=run.count(is_kept))


def _score(ranked: RankedInput, arguments: Arguments) -> dict[str, Table]:
    values: dict[str, Table] = {}
    by_grade, for_pytrec_eval = [], []
    for requested in arguments.requested:
        name = requested.measure.name
        scorer = _scorer_of(name, arguments)
        if scorer is not None:
            values[name] = scorer(requested, ranked.filtered, arguments)[ranked.evaluated]
        elif name == "ndcg_cut":  # its gains are always the grades
            by_grade.append(requested)
        elif name != "runid":
            for_pytrec_eval.append(requested)
    level, judged_only = max(arguments.level, RELEVANT), arguments.judged_only
    values |= _score_by_pytrec_eval(by_grade, ranked, level, judged_only)
    if arguments.level < RELEVANT:
        for_pytrec_eval, ranked = _raise_grades(for_pytrec_eval, ranked)
    return values | _score_by_pytrec_eval(for_pytrec_eval, ranked, level, judged_only)


def _raise_grades(
    measures: Sequence[Requested], ranked: RankedInput
) -> tuple[list[Requested], RankedInput]:
    """Make all grades one higher, with the gains of the original ones, for ``-l 0``.

    pytrec_eval accepts levels from 1. Negative grades stay.
    """
    run, is_judged = ranked.run, ranked.run.grade >= 0
    gains = {grade: float(grade) for grade in set(run.grade[is_judged].tolist())}
    raised = [
        replace(
            requested,
            text=requested.text or "",
            pairs=tuple((grade + 1, gain) for grade, gain in (gains | requested.gains).items()),
        )
        if requested.measure.takes == "gains"
        else requested
        for requested in measures
    ]
    return raised, replace(ranked, run=replace(run, grade=run.grade + is_judged))


def _scorer_of(name: str, arguments: Arguments) -> Scorer | None:
    """Return the function that computes a measure; ``None`` if pytrec_eval computes it."""
    needs_size = name == "utility" and arguments.collection_size > 0
    if arguments.version == 9 and name != "relstring" and not needs_size:
        return None
    from trectools_plus.trec_eval import builtin

    if needs_size:
        return builtin.utility
    return builtin.relevance_strings if name == "relstring" else builtin.SCORERS.get(name)


def _reset_missing(
    values: dict[str, Table], is_missing: npt.NDArray[np.bool_], measures: Sequence[Requested]
) -> None:
    """Set the values of queries without results to 0; version 10 ranks an unjudged document there.

    Version 10 compares printed names, so ``utility`` with parameters is not reset.
    """
    for requested in measures:
        name = requested.measure.name
        if name == "unj" or requested.names in (("num_ret",), ("utility",), ("rbp_resid",)):
            values[name][is_missing] = 0.0
        elif requested.names == ("relstring",):
            values[name][is_missing] = ""


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
    run = replace(run, retrieved=np.where(ranked.evaluated, run.retrieved, 0))

    def call(requests: Sequence[Request]) -> dict[str, FloatArray]:
        scores = score_requests(run, run.grade, requests, level=level, judged_only=judged_only)
        return {key: column[ranked.evaluated] for key, column in scores.items()}

    values: dict[str, FloatArray] = {}
    if not measures:
        return values
    in_one_call = []
    for requested in measures:
        if len({*requested.names}) == len(requested.names):
            in_one_call.append(requested)
            continue
        lines = [_request_of(requested, [number]) for number in requested.numbers]
        columns = [call([line])[line.keys[0]] for line in lines]
        values[requested.measure.name] = np.stack(columns, axis=1)
    scores = call([_request_of(requested, requested.numbers) for requested in in_one_call])
    for requested in in_one_call:
        values[requested.measure.name] = np.stack([scores[key] for key in requested.keys], axis=1)
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
