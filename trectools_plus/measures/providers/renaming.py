"""Scoring with pytrec_eval from arrays of ranks and grades, for runs of any size.

The measures of trec_eval depend only on the ranks and grades of documents, so documents are renamed
to their ranks: all queries with n documents share one dictionary, and the qrels contain only judged
documents. The names sort like the ranks, because trec_eval sorts faster what is sorted. Documents
below all requested cutoffs, or below the last relevant document, are left out if no requested
measure depends on them. The values are the same as with the original document ids, bit for bit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, product
from operator import itemgetter
from typing import get_args

import numpy as np

from trectools_plus.errors import UsageError
from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.definitions.trec_eval_measures import TREC_EVAL_MEASURES, Sees
from trectools_plus.measures.judged import IntArray, JudgedRun, RankedRun
from trectools_plus.measures.providers import pytrec_eval
from trectools_plus.measures.providers.pytrec_eval import MAX_GAIN, TrecEvalMeasure, join_requests


@dataclass(frozen=True)
class RenamedRun:
    """A run and its qrels with documents renamed to their ranks, for pytrec_eval.

    Attributes:
        qrels: Grades by query position (as a string) and document.
        rankings: Scores by query position and document, for queries with results.
        n_queries: The number of queries.
        highest_grade: The highest grade.
    """

    qrels: dict[str, dict[str, int]]
    rankings: dict[str, dict[str, float]]
    n_queries: int
    highest_grade: int

    @classmethod
    def of(cls, run: JudgedRun, grades: IntArray, depth: IntArray) -> RenamedRun:
        """Rename documents.

        Args:
            run: The ranks of judged documents.
            grades: The grade of each judged document to pass to trec_eval.
            depth: The number of documents per query to pass to trec_eval; 0 omits the query.
        """
        deepest = int(depth.max(initial=0))
        lengths = np.bincount(run.query, minlength=len(depth))
        starts = np.r_[0, np.cumsum(lengths)]
        # A judged document outside all rankings gets a name after that of the deepest rank.
        position = np.arange(len(run.query)) - starts[run.query]
        shown = (run.rank > 0) & (run.rank <= depth[run.query])
        keys = np.where(shown, run.rank, deepest + 1 + position)
        rankings = _rankings_of(_capacity(int(keys.max(initial=deepest)) + 1))
        documents, gains = rankings.names[keys].tolist(), grades.tolist()
        # Without any grade of 0 or more all values are 0, and trec_eval would crash.
        highest = np.full(len(depth), -1)
        np.maximum.at(highest, run.query, grades)
        scored = np.flatnonzero((depth > 0) & (highest >= 0)).tolist()
        bounds = starts.tolist()
        qrels = {
            str(number): dict(
                zip(
                    documents[bounds[number] : bounds[number + 1]],
                    gains[bounds[number] : bounds[number + 1]],
                    strict=True,
                )
            )
            for number in scored
        }
        depths = depth.tolist()
        rankings_of = {str(one): rankings[depths[one]] for one in scored}
        return cls(qrels, rankings_of, len(depth), int(grades.max(initial=0)))

    def score(
        self,
        requests: Iterable[str],
        keys: Sequence[str],
        *,
        level: int,
        judged_only: bool,
    ) -> FloatArray:
        """Score the run with pytrec_eval.

        Args:
            requests: As in :func:`~trectools_plus.measures.providers.pytrec_eval.call_pytrec_eval`.
            keys: Names of values in its result, at least one.
            level: The lowest grade that is relevant.
            judged_only: Whether unjudged documents are removed from the rankings first.

        Returns:
            Shape (queries, keys); 0 for a query without results.
        """
        results = self._results([*requests], level=level, judged_only=judged_only)
        pick = itemgetter(*keys)
        rows = [pick(result) for result in results.values()]
        values = np.zeros((self.n_queries, len(keys)))
        scored = np.array([int(number) for number in results], np.int64)
        values[scored] = np.array(rows, np.float64).reshape(len(rows), len(keys))
        return values

    def _results(
        self, requests: list[str], *, level: int, judged_only: bool
    ) -> Mapping[str, Mapping[str, float]]:
        """Return the values by query and name.

        trec_eval needs time and memory for each grade up to the highest one, and time that grows
        with its square for measures that take gains. So high grades are numbered, and the gains
        of these numbers are the grades. Only ``ndcg_cut`` takes no gains, and gets the grades.
        """
        if self.highest_grade <= _HIGHEST_CHEAP_GRADE:
            return pytrec_eval.call_pytrec_eval(
                requests, self.qrels, self.rankings, level=level, judged_only=judged_only
            )
        grades = {grade for judged in self.qrels.values() for grade in judged.values()}
        positive = sorted(grade for grade in grades if grade > 0)
        numbers = {grade: number for number, grade in enumerate(positive, 1)}
        numbered = {
            query_id: {doc_id: numbers.get(grade, grade) for doc_id, grade in judged.items()}
            for query_id, judged in self.qrels.items()
        }
        of_grades = [one for one in requests if one.split(".")[0] == "ndcg_cut"]
        of_numbers = [_with_gains(one, numbers) for one in requests if one not in of_grades]
        merged: dict[str, dict[str, float]] = {}
        for some, qrels, lowest in (
            (of_grades, self.qrels, level),
            (of_numbers, numbered, bisect_left(positive, level) + 1),
        ):
            if some:
                found = pytrec_eval.call_pytrec_eval(
                    some, qrels, self.rankings, level=lowest, judged_only=judged_only
                )
                for query_id, values in found.items():
                    merged.setdefault(query_id, {}).update(values)
        return merged


class _Rankings(dict[int, dict[str, float]]):
    """Rankings of n renamed documents by n, created on first use.

    Attributes:
        names: The names of the documents, in the order of their bytes.
    """

    def __init__(self, capacity: int) -> None:
        width = 2
        while len(_CHARACTERS) ** width < capacity:
            width += 1
        names = islice(product(_CHARACTERS, repeat=width), capacity)
        self.names = np.array(["".join(one) for one in names], object)
        self._items = [(name, -float(rank)) for rank, name in enumerate(self.names)]
        self._n_items = 0

    def __missing__(self, depth: int) -> dict[str, float]:
        ranking = dict(self._items[1 : depth + 1])
        if self._n_items + depth > _MAX_ITEMS:
            self.clear()
            self._n_items = 0
        self._n_items += depth
        self[depth] = ranking
        return ranking


_CHARACTERS = [chr(code) for code in range(ord("!"), ord("~") + 1)]
_MAX_ITEMS = 200_000
"""The greatest number of items of the rankings in memory, of about 50 bytes each."""
_STEP = 16
"""Depths are rounded up to a multiple of this number, so that more queries share a ranking."""

_rankings_of = lru_cache(maxsize=2)(_Rankings)
"""Return rankings that the chunks of a run share."""


_HIGHEST_CHEAP_GRADE = 1000
"""trec_eval's ``ndcg`` takes milliseconds per query for it, and an hour for a grade of 10^6."""

_TAKE_GAINS = {one.name for one in TREC_EVAL_MEASURES if one.takes == "gains"}


def _with_gains(request: str, numbers: Mapping[int, int]) -> str:
    """Return a request in which the gain of a grade's number is the gain of the grade."""
    name, _, parameters = request.partition(".")
    if name not in _TAKE_GAINS:
        return request
    pairs = [pair.split("=") for pair in parameters.split(",") if pair]
    gains: dict[int, int | str] = {number: grade for grade, number in numbers.items()}
    for grade, gain in reversed(pairs):  # trec_eval uses the first gain of a grade
        if int(grade) in (0, *numbers):
            gains[numbers.get(int(grade), 0)] = gain
    return f"{name}.{','.join(f'{number}={gain}' for number, gain in gains.items())}"


def _capacity(n: int) -> int:
    """Return the next power of two, so that chunks of a run have the same one."""
    return max(1024, 1 << (n - 1).bit_length())


def visible_depths(run: JudgedRun, grades: IntArray, cutoff: int | None, sees: Sees) -> IntArray:
    """Return the number of top documents of each query on which measures depend.

    Args:
        run: The run.
        grades: The grade of each judged document for trec_eval.
        cutoff: The deepest cutoff of the measures; ``None`` for the whole ranking.
        sees: The part of the ranking on which one of the measures depends.

    Returns:
        One number per query, at least 1 if there is any document.
    """
    if sees == "all":
        return run.retrieved
    deepest = np.zeros_like(run.retrieved)
    kept = grades > 0 if sees == "relevant" else slice(None)
    np.maximum.at(deepest, run.query[kept], run.rank[kept])
    deepest = -(-deepest // _STEP) * _STEP
    if cutoff is not None:
        deepest = np.minimum(deepest, cutoff)
    return np.minimum(np.maximum(deepest, 1), run.retrieved)


def score_lengths(retrieved: IntArray, requests: Iterable[str], keys: Sequence[str]) -> FloatArray:
    """Score measures that depend only on the number of retrieved documents.

    Args:
        retrieved: The number of documents of each query.
        requests: As in :func:`~trectools_plus.measures.providers.pytrec_eval.call_pytrec_eval`.
        keys: Names of values in its result, at least one.

    Returns:
        Shape (queries, keys); 0 for a query without results.
    """
    lengths, positions = np.unique(retrieved, return_inverse=True)
    numbers = np.arange(len(lengths))
    # trec_eval needs a judgment of each query.
    run = JudgedRun(lengths, numbers, np.zeros_like(numbers), np.zeros_like(numbers))
    renamed = RenamedRun.of(run, run.grade, lengths)
    return renamed.score(requests, keys, level=1, judged_only=False)[positions]


def score_group(
    group: Sequence[TrecEvalMeasure], ranked: RankedRun, *, level: int, judged_only: bool
) -> dict[TrecEvalMeasure, FloatArray]:
    """Score measures that one call can score.

    Raises:
        UsageError: If a gain is too large for trec_eval.
    """
    run, grades = ranked.judged, _gains(group[0], ranked.query_ids, ranked.judged)
    of_lengths = [one for one in group if one.sees == "length"]
    values: dict[TrecEvalMeasure, FloatArray] = {}
    if of_lengths:
        keys = list(dict.fromkeys(measure.trec_result for measure in of_lengths))
        table = score_lengths(run.retrieved, join_requests(of_lengths), keys)
        values = {one: table[:, keys.index(one.trec_result)] for one in of_lengths}
    group = [one for one in group if one not in values]
    if not group:
        return values
    if all(one.standard.sees_relevant_only and not one.judged_only for one in group):
        run, grades = _relevant_only(run, grades)
    depths = [measure.depth for measure in group]
    cutoff = None if None in depths else max(depth or 0 for depth in depths)
    seen = widest_part(one.sees for one in group)
    # trec_eval removes unjudged documents, and must not be left without documents.
    seen = widest_part(["judged", seen]) if judged_only else seen
    depth = visible_depths(run, grades, cutoff, seen)
    keys = list(dict.fromkeys(measure.trec_result for measure in group))
    table = RenamedRun.of(run, grades, depth).score(
        join_requests(group), keys, level=level, judged_only=judged_only
    )
    return values | {one: _cut(one, table[:, keys.index(one.trec_result)]) for one in group}


def widest_part(parts: Iterable[Sees]) -> Sees:
    """Return the largest part of a ranking among some."""
    return max(parts, key=get_args(Sees).index, default="relevant")


def _gains(measure: TrecEvalMeasure, query_ids: Sequence[str], run: JudgedRun) -> IntArray:
    """Return the grades for trec_eval."""
    gain_of = measure.gain_of
    if gain_of is None:
        return run.grade
    grades, positions = np.unique(run.grade, return_inverse=True)
    gains = [gain_of(int(grade)) for grade in grades]
    for index, gain in enumerate(gains):
        if gain > MAX_GAIN:
            query = query_ids[run.query[positions == index][0]]
            raise UsageError(
                f"grade {grades[index]} gives a gain above {MAX_GAIN:,}",
                where=f"{measure.name}, query {query}",
                remedy="rescale the grades",
            )
    return np.array(gains, np.int64)[positions]


def _cut(measure: TrecEvalMeasure, values: FloatArray) -> FloatArray:
    if not measure.is_cut_here:
        return values
    return np.array([measure.cut_value(value) for value in values.tolist()], np.float64)


def _relevant_only(run: JudgedRun, grades: IntArray) -> tuple[JudgedRun, IntArray]:
    """Remove judged documents without gain, which do not change the values."""
    kept = grades > 0
    run = replace(run, query=run.query[kept], rank=run.rank[kept], grade=run.grade[kept])
    return run, grades[kept]
