"""Runs with similar rankings, and measures with equal values on these judgments."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.benchmark.report.figures import Similarity
from trectools_plus.formats.columns.ids import Ids, number_pairs
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.evaluation import Averaging, Evaluation, score_runs
from trectools_plus.measures.judged import IntArray, JudgedQueries, view_of
from trectools_plus.statistics.rankings import DEFAULT_PERSISTENCE, extrapolate_overlaps
from trectools_plus.validation.views.order import places_in_query

DEPTH = 100
"""Compared documents per query: with p = 0.9, all further ranks have a weight of 0.00003."""
FEWEST_MODES = 3
"""Reports of fewer modes have no matrix."""
_DOCUMENTS_AT_A_TIME = 1 << 18

SmallInts = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class _Ranking:
    """The first documents of a run, by query and rank.

    Attributes:
        lengths: The number of documents of each query.
        rank: The rank of each document.
        doc_ids: The documents.
    """

    lengths: IntArray
    rank: SmallInts
    doc_ids: Ids

    @property
    def query(self) -> IntArray:
        """The query of each document."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)


def find_similarity(
    queries: JudgedQueries,
    runs: Mapping[str, Run],
    *,
    p: float = DEFAULT_PERSISTENCE,
    depth: int = DEPTH,
) -> Similarity:
    """Compute the mean rank-biased overlap of each two runs.

    Args:
        queries: The queries to compare.
        runs: The runs, by name.
        p: Persistence, between 0 and 1.
        depth: The number of documents to compare per query.
    """
    rankings = [_rank(queries, run, depth) for run in runs.values()]
    numbers = _number_documents(rankings)
    n_documents = 1 + max((int(one.max(initial=-1)) for one in numbers), default=-1)
    matrix: list[list[float | None]] = [[None] * len(rankings) for _ in rankings]
    for one, first in enumerate(rankings):
        matrix[one][one] = 1.0 if first.lengths.any() else None
        rank = np.zeros(n_documents, np.int32)
        rank[numbers[one]] = first.rank
        for two in range(one + 1, len(rankings)):
            overlap = _mean_overlap(first, rankings[two], rank[numbers[two]], p)
            matrix[one][two] = matrix[two][one] = overlap
    return Similarity(p=p, depth=depth, modes=list(runs), rbo=matrix)


def _rank(queries: JudgedQueries, run: Run, depth: int) -> _Ranking:
    view = view_of(run)
    query = queries.number(view.query_ids)[view.grouped.query]
    place = places_in_query(view.grouped.query)
    chosen = np.flatnonzero((query >= 0) & (place < depth))
    chosen = chosen[np.argsort(query[chosen], kind="stable")]
    rows = view.order(32)[chosen]
    is_whole = np.array_equal(rows, np.arange(view.n_rows))
    return _Ranking(
        np.bincount(query[chosen], minlength=len(queries.query_ids)),
        (place[chosen] + 1).astype(np.int32),
        view.doc_ids if is_whole else view.doc_ids.take(rows),
    )


def _number_documents(rankings: Sequence[_Ranking]) -> list[SmallInts]:
    """Return a number for each document of each run; equal ones of a query have the same."""
    numbers = [np.zeros(len(one.rank), np.int32) for one in rankings]
    if not rankings:
        return numbers
    lengths = np.array([one.lengths for one in rankings])
    ends = np.cumsum(lengths, axis=1)
    starts = ends - lengths
    n_before = 0
    for first, last in _blocks(lengths.sum(axis=0)):
        rows = [slice(*one) for one in zip(starts[:, first], ends[:, last], strict=True)]
        doc_ids = [one.doc_ids.take(part) for one, part in zip(rankings, rows, strict=True)]
        queries = np.arange(first, last + 1)
        query = np.concatenate([np.repeat(queries, one[first : last + 1]) for one in lengths])
        found = number_pairs(Ids.joined(doc_ids), query) + n_before
        n_before = int(found.max(initial=n_before - 1)) + 1
        parts = np.split(found, np.cumsum([len(one) for one in doc_ids])[:-1])
        for of_run, part, of_block in zip(numbers, rows, parts, strict=True):
            of_run[part] = of_block
    return numbers


def _blocks(sizes: IntArray) -> Iterator[tuple[int, int]]:
    """Yield the first and last of adjacent queries that are few enough to be numbered in caches.

    Args:
        sizes: The number of documents of each query.
    """
    block = np.cumsum(sizes) // _DOCUMENTS_AT_A_TIME
    firsts = np.flatnonzero(np.diff(block, prepend=-1)).tolist()
    for at, first in enumerate(firsts, 1):
        yield first, (firsts[at] if at < len(firsts) else len(sizes)) - 1


def _mean_overlap(first: _Ranking, second: _Ranking, other: SmallInts, p: float) -> float | None:
    """Return the mean overlap over the queries that one of two runs answers.

    Args:
        first: The first run.
        second: The second run.
        other: The rank of each document of the second run in the first, 0 if it is not there.
        p: Persistence.
    """
    lengths = np.column_stack([first.lengths, second.lengths])
    answered = lengths.any(axis=1)
    if not answered.any():
        return None
    shared = np.flatnonzero(other)
    deeper = np.maximum(second.rank[shared], other[shared])
    overlaps = extrapolate_overlaps(lengths, second.query[shared], deeper, p)
    return math.fsum(overlaps[answered]) / int(answered.sum())


_DECIMALS = 10
"""Values that are equal to so many decimals differ only by rounding."""
_MOST_QUERIES = 200
_RANKINGS = 400
"""Random rankings that are scored, of all queries together."""
_MOST_JUDGED = 30
"""Judged documents in each of them."""
_MOST_JUDGMENTS = 500_000
"""Judgments of all copies together."""
_DEEPEST = 100
"""Cutoffs beyond this do not make the rankings longer."""


def find_equal_measures(evaluation: Evaluation, qrels: Qrels) -> list[list[str]]:
    """Find groups of measures that have the same value for every query of every run.

    Measures with the same values and cutoff are also computed for random rankings of the judged
    documents. So measures that are equal by accident, for example because nothing was found, are
    not in a group. Measures that see document ids are not either, as random documents are no terms.

    Args:
        evaluation: The scored runs.
        qrels: Their judgments.

    Returns:
        Names as requested, in the order of the evaluation; each group has at least two.
    """
    cutoffs = {
        one.requested_name: (one.cutoff, one.aggregate)
        for one in evaluation.measures
        if not one.provider.sees_documents
    }
    names = [name for name in evaluation.measure_names if name in cutoffs]
    columns = {
        name: [evaluation.values(run, name) for run in evaluation.run_names] for name in names
    }
    candidates = _group(names, lambda name: (cutoffs[name], *map(_key, columns[name])))
    if not candidates:
        return []
    wanted = {name for group in candidates for name in group}
    measures = [one for one in evaluation.measures if one.requested_name in wanted]
    deepest = min(max(one.cutoff or 0 for one in measures), _DEEPEST)
    copies, ranking = _draw_rankings(qrels, evaluation.query_ids[evaluation.run_names[0]], deepest)
    drawn = score_runs(
        copies, {"": ranking}, measures, Averaging(no_relevant=evaluation.no_relevant)
    )
    return [
        equal
        for group in candidates
        for equal in _group(group, lambda name: _key(drawn.values("", name)))
    ]


def _group(names: list[str], key: Callable[[str], Hashable]) -> list[list[str]]:
    groups: dict[Hashable, list[str]] = {}
    for name in names:
        groups.setdefault(key(name), []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def _key(values: FloatArray) -> bytes:
    return (np.round(values, _DECIMALS) + 0.0).tobytes()


def _draw_rankings(qrels: Qrels, query_ids: list[str], deepest: int) -> tuple[Qrels, Run]:
    """Return random rankings of judged and other documents, about half of them below a cutoff.

    Each ranking belongs to a copy of a query with its judgments, so that one run has all of them.
    """
    generator = np.random.default_rng(0)
    frame = qrels.frame.filter(pl.col("query_id").is_in(query_ids[:_MOST_QUERIES]))
    every = frame["doc_id"].unique(maintain_order=True).to_numpy()
    judged = {
        query_id: table["doc_id"].to_numpy()
        for (query_id,), table in frame.group_by("query_id", maintain_order=True)
    }
    copies = range(max(1, min(_RANKINGS // len(judged), _MOST_JUDGMENTS // frame.height)))
    rows: dict[str, list[object]] = {"query_id": [], "doc_id": [], "score": []}
    for copy in copies:
        for query_id, documents in judged.items():
            some = generator.permutation(documents)[:_MOST_JUDGED]
            others = generator.choice(every, size=min(len(some), len(every)), replace=False)
            fillers = [f"unjudged {place}" for place in range(len(some), 2 * deepest)]
            ranked = generator.permutation(np.unique(np.concatenate([some, others, fillers])))
            rows["query_id"] += [f"{copy} {query_id}"] * len(ranked)
            rows["doc_id"] += ranked.tolist()
            rows["score"] += range(len(ranked), 0, -1)
    tables = [
        frame.with_columns(query_id=pl.format("{} {}", pl.lit(copy), "query_id")) for copy in copies
    ]
    return Qrels(pl.concat(tables)), Run(pl.DataFrame(rows))
