"""Score runs against qrels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import get_args

import numpy as np

from trectools_plus.distributed import current_workers
from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.admission import refuse_unscorable
from trectools_plus.measures.base import FloatArray, Measure
from trectools_plus.measures.evaluation import Counts, Evaluation, Missing
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.measures.names import parse_measures
from trectools_plus.measures.scoring import score_ranking
from trectools_plus.measures.streaming import ScoredFile

DEFAULT_MEASURES = ("nDCG@10", "AP@100", "RR@10", "R@50", "R@100", "HitRate@10")
"""What is computed when no measure is named."""


def evaluate(
    qrels: Qrels,
    runs: Run | Iterable[Run] | Mapping[str, Run],
    measures: Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    missing: Missing = "zero",
) -> Evaluation:
    """Check runs and qrels, then score every run with every measure.

    Every measure of a run is averaged over the same queries: those of the qrels with a document
    of grade 1 or more. (A measure with ``rel=2`` is 0 for a query whose best grade is 1.)

    Args:
        qrels: The judgments.
        runs: One run, several (their names must differ), or several under names of your own.
        measures: Names, or measures; see :func:`parse_measures`.
        missing: ``zero``: a query without results counts as 0, as ``trec_eval -c``; ``drop``: it
            is left out, as trec_eval does without ``-c``.

    Returns:
        Values per query, means, and the counts of queries behind them.

    Raises:
        CheckFailedError: If a rule that scoring depends on is broken.
        UsageError: If a measure does not exist or can say nothing of this input, or two runs have
            one name.
    """
    if missing not in get_args(Missing):
        raise UsageError(f"expected missing 'zero' or 'drop' but got {missing!r}")
    asked = parse_measures(measures)
    named = _named(runs)
    refuse_unscorable(qrels, list(named.values()), asked)
    return score_runs(qrels, named, asked, missing)


def score_runs(
    qrels: Qrels,
    runs: Mapping[str, Run | ScoredFile],
    measures: Sequence[Measure],
    missing: Missing,
    tell: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Score runs that have been checked already; see :func:`evaluate`.

    A :class:`ScoredFile` was scored with these measures, while it was read. ``tell`` is called
    with the number of runs scored so far, and that of all.
    """
    queries = JudgedQueries.from_qrels(qrels)
    in_qrels = {*queries.query_ids, *queries.without_relevant}
    scored_runs = _score_each(runs, queries, measures, tell)
    query_ids: dict[str, list[str]] = {}
    counts: dict[str, Counts] = {}
    tables: dict[str, FloatArray] = {}
    notes = [f"{one.name}: {note}" for one in measures for note in one.notes_on_qrels(queries)]
    for (name, run), (table, run_notes) in zip(runs.items(), scored_runs, strict=True):
        in_run = set(run.query_ids)
        has_results = np.array([query in in_run for query in queries.query_ids], dtype=bool)
        scored = np.full(len(has_results), True) if missing == "zero" else has_results
        notes += run_notes
        tables[name] = table[scored]
        query_ids[name] = [queries.query_ids[index] for index in np.flatnonzero(scored)]
        counts[name] = Counts(
            n_qrels=len(in_qrels),
            n_run=len(in_run),
            n_scored=len(query_ids[name]),
            n_missing=int(np.count_nonzero(~has_results)),
            n_extra=len(in_run - in_qrels),
        )
    without = queries.without_relevant
    return Evaluation(list(measures), missing, query_ids, counts, without, tables, notes)


def _score_each(
    runs: Mapping[str, Run | ScoredFile],
    queries: JudgedQueries,
    measures: Sequence[Measure],
    tell: Callable[[int, int], None] | None,
) -> Iterator[tuple[FloatArray, list[str]]]:
    """Score run after run, or all at once on the workers of a scheduler, if there is one."""
    workers = current_workers()
    if workers is None or all(isinstance(run, ScoredFile) for run in runs.values()):
        for done, item in enumerate(runs.items()):
            if tell is not None:
                tell(done, len(runs))
            yield _score(queries, measures, item)
        return
    told = None if tell is None else partial(_tell, tell, len(runs))
    yield from workers.map(partial(_score, queries, measures), runs.items(), told)


def _tell(tell: Callable[[int, int], None], total: int, done: int) -> None:
    tell(done, total)


def _score(
    queries: JudgedQueries, measures: Sequence[Measure], item: tuple[str, Run | ScoredFile]
) -> tuple[FloatArray, list[str]]:
    """Values of shape (queries, measures), and what a reader must know of the run."""
    name, run = item
    if isinstance(run, ScoredFile):
        return run.table, []
    ranked = queries.rank(run)
    notes = [
        f"{one.name}, {name}: {note}" for one in measures for note in one.notes_on_run(name, ranked)
    ]
    return score_ranking(measures, queries, ranked), notes


def _named(runs: Run | Iterable[Run] | Mapping[str, Run]) -> dict[str, Run]:
    if isinstance(runs, Run):
        return {runs.name: runs}
    if isinstance(runs, Mapping):
        return dict(runs)
    named: dict[str, Run] = {}
    for run in runs:
        if run.name in named:
            raise UsageError(
                f"two runs are named {run.name!r}",
                where=", ".join(one.path or "a table" for one in (named[run.name], run)),
                remedy="give them names of your own: evaluate(qrels, {'a': run_a, 'b': run_b})",
            )
        named[run.name] = run
    if not named:
        raise UsageError("no run was given", remedy="give at least one")
    return named
