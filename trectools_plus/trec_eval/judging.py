"""Which queries are evaluated, and the grades along their rankings.

``form_res_rels.c`` is the source: rank by score and falling document id, cut at ``-M``, look up
the grades, and, with ``-J``, close the gaps that unjudged documents leave.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from trectools_plus.measures.judged import IntArray, JudgedQueries, JudgedRun
from trectools_plus.ranking import rank_documents
from trectools_plus.trec_eval.arguments import Arguments
from trectools_plus.trec_eval.reading import Input


@dataclass(frozen=True, eq=False)
class Judging:
    """Rankings with grades.

    Attributes:
        query_ids: All queries of the qrels, in byte order.
        evaluated: Positions of those that are evaluated.
        missing: Positions of those among them that the run has no results for (version 10).
        run: Where every judged document stands, unjudged ones in place.
        seen: The same as measures see it: with ``-J``, judged documents only.
    """

    query_ids: list[str]
    evaluated: IntArray
    missing: IntArray
    run: JudgedRun
    seen: JudgedRun


def judge(data: Input, arguments: Arguments) -> Judging:
    """Rank, cut and look up.

    Args:
        data: What was read.
        arguments: ``-M``, ``-J``, ``-D``, ``-c`` and the version count here.
    """
    query_ids = data.qrels["query_id"].unique().sort().to_list()
    queries = JudgedQueries(query_ids, [], data.qrels.lazy())
    run = data.run
    if not isinstance(run, JudgedRun):
        joined = run.join(queries.numbers, on="query_id", maintain_order="left")
        ranked = rank_documents(joined, arguments.precision).select("query", "doc_id", "rank")
        run = JudgedRun.from_ranking(queries, ranked)
    run = run.cut(arguments.max_retrieved)
    there = run.retrieved > 0
    missing = np.flatnonzero(~there)
    if arguments.version == 10 and arguments.complete:
        # Version 10 ranks one document that nobody judged for a query without results.
        run = replace(run, retrieved=np.maximum(run.retrieved, 1))
        there[:] = True
    if arguments.only_query is not None:
        there &= np.array([name == arguments.only_query for name in query_ids])
    evaluated = np.flatnonzero(there)
    seen = _judged_only(run) if arguments.judged_only else run
    return Judging(query_ids, evaluated, np.intersect1d(missing, evaluated), run, seen)


def relevant_counts(run: JudgedRun, level: int) -> tuple[IntArray, IntArray]:
    """Relevant documents of each query: in the qrels, and retrieved."""
    relevant = run.grade >= level
    return run.count(relevant), run.count(relevant & run.within(None))


def _judged_only(run: JudgedRun) -> JudgedRun:
    """The ranking of the documents with a grade from 0, renumbered."""
    stays: npt.NDArray[np.bool_] = (run.rank > 0) & (run.grade >= 0)
    # Entries are sorted by query and rank, so new ranks count them off within each query.
    counted = np.cumsum(stays)
    starts = np.r_[0, np.cumsum(np.bincount(run.query, minlength=len(run.retrieved)))]
    before = np.r_[0, counted][starts[run.query]]
    rank = np.where(stays, counted - before, 0)
    return replace(run, rank=rank, retrieved=run.count(stays))
