"""Measures that pytrec_eval does not support, or that version 10 of trec_eval computes differently.

The value of ``relstring`` is a text, and pytrec_eval has no ``-N`` for ``utility``.
``iprec_at_recall`` and ``11pt_avg`` convert a share of the relevant documents to a number of
documents: version 9 adds 0.9 and truncates, version 10 rounds to the nearest, halves away from
zero. ``rbp``, ``rbp_resid``, ``unj``, ``dcg`` and ``ideal_dcg`` are new in version 10. Sums are
added in trec_eval's order, so that they are equal bit for bit.

Measures of preferences are those of ``form_prefs_counts.c`` and ``m_prefs_*.c`` of version 10. A
judge prefers one document to another if both are in one list and its level is higher. A preference
is fulfilled if the preferred document is ranked above the other one, or is the only one that was
retrieved. Documents are numbered: retrieved ones by rank, then the others. The preferences of a
judge are a matrix of how often the document of the row is preferred to that of the column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import CheckFailedError
from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.definitions.builtin import discounts, rank_biased_sum, scale_gains
from trectools_plus.measures.judged import IntArray, JudgedRun
from trectools_plus.trec_eval.arguments import Arguments, Requested
from trectools_plus.validation.views.places import places_in_query

_HIGHEST_DIGIT = 9

Rounding = Callable[[FloatArray], FloatArray]
Scorer = Callable[[Requested, JudgedRun, Arguments], npt.NDArray[Any]]


def relevant_counts(run: JudgedRun, level: int) -> tuple[IntArray, IntArray]:
    """Return each query's number of relevant documents: in the qrels, and retrieved."""
    relevant = run.grade >= level
    return run.count(relevant), run.count(relevant & run.within(None))


def relevance_strings(requested: Requested, run: JudgedRun, _: Arguments) -> npt.NDArray[np.str_]:
    """Return the grades of the first documents, one character each (``m_relstring.c``).

    The character is a digit for grades 0 to 9, ``>`` for higher grades, ``.`` for negative grades,
    and ``-`` for a document that is not in the qrels.

    Args:
        requested: relstring, with its length.
        run: The rankings.

    Returns:
        A text per query, of shape (queries, 1), shorter where fewer documents were retrieved.
    """
    length = max(int(requested.numbers[0]), 0)
    length = min(length, int(run.retrieved.max(initial=0)))
    signs = np.full((len(run.retrieved), length), "-", "U1")
    shown = run.within(length)
    grade = run.grade[shown]
    digits = np.clip(grade, 0, _HIGHEST_DIGIT).astype("U1")
    signs[run.query[shown], run.rank[shown] - 1] = np.where(
        grade < 0, ".", np.where(grade > _HIGHEST_DIGIT, ">", digits)
    )
    rows = zip(signs.tolist(), run.retrieved.tolist(), strict=True)
    return np.array(["".join(row[:size]) for row, size in rows], str)[:, None]


def utility(requested: Requested, run: JudgedRun, arguments: Arguments) -> FloatArray:
    """Return weighted sums of the numbers of relevant and other documents, retrieved or not.

    Source: ``m_utility.c``.

    Args:
        requested: utility, with the weights of relevant retrieved, other retrieved, relevant not
            retrieved and other not retrieved documents.
        run: The rankings.
        arguments: ``-l`` and ``-N`` are used.
    """
    hit_weight, noise_weight, missed_weight, rejected_weight = requested.numbers
    relevant, hits = relevant_counts(run, arguments.level)
    retrieved = run.retrieved
    return _column(
        hit_weight * hits
        + noise_weight * (retrieved - hits)
        + missed_weight * (relevant - hits)
        + rejected_weight * (arguments.collection_size + hits - retrieved - relevant)
    )


def round_half_away(numbers: FloatArray) -> FloatArray:
    """Round as C's ``lround``: to the nearest whole number, halves away from zero."""
    size = np.abs(numbers)
    floor = np.floor(size)
    return np.asarray(np.copysign(floor + (size - floor >= 0.5), numbers))


def interpolated_precision(
    requested: Requested, run: JudgedRun, arguments: Arguments, rounding: Rounding = round_half_away
) -> FloatArray:
    """Return the highest precision at or after each recall point (``m_iprec_at_recall.c``).

    Args:
        requested: The recall points, in any order. trec_eval processes them from the last to the
            first while it moves up the ranking. After a point that is out of order, all points get
            the highest precision of the ranking.
        run: The rankings.
        arguments: ``-l`` is used.
        rounding: Converts a share of the relevant documents to a number of documents.

    Returns:
        Shape (queries, points).
    """
    n_relevant, hits = relevant_counts(run, arguments.level)
    best = _highest_precision_from(run, arguments.level)
    starts = np.r_[0, np.cumsum(hits)]
    with np.errstate(invalid="ignore"):
        # In C, 0/0 has the sign bit set and is printed as -nan.
        first = np.where(run.retrieved > 0, 0.0, -np.nan)
    has_hits = hits > 0
    first[has_hits] = best[starts[:-1][has_hits]]
    values = np.zeros((len(hits), len(requested.numbers)))
    position = hits.copy()
    started, finished = np.zeros(len(hits), bool), np.zeros(len(hits), bool)
    for column in range(len(requested.numbers) - 1, -1, -1):
        point = rounding(requested.numbers[column] * n_relevant.astype(np.float64)).astype(np.int64)
        started |= point <= hits
        finished |= started & ((point > position) | (point < 1))
        at_point = started & ~finished
        values[started, column] = first[started]
        values[at_point, column] = best[starts[:-1][at_point] + point[at_point] - 1]
        position = np.where(at_point, point, position)
    return values


def eleven_points(
    requested: Requested, run: JudgedRun, arguments: Arguments, rounding: Rounding = round_half_away
) -> FloatArray:
    """Return interpolated precision averaged over the recall points (``m_11pt_avg.c``)."""
    points = interpolated_precision(requested, run, arguments, rounding)
    total = np.zeros(len(points))
    for column in range(points.shape[1] - 1, -1, -1):
        total += points[:, column]
    return _column(total / points.shape[1])


def rank_biased_precision(requested: Requested, run: JudgedRun, _: Arguments) -> FloatArray:
    """Return (1 - p) times the sum of gain · p^(rank - 1) (Moffat and Zobel 2008; ``m_rbp.c``).

    If a gain is outside 0 to 1, all gains of the query are scaled to this range. (trec_eval
    compares gains with two variables that it does not initialise; here they are 0.)
    """
    gain = scale_gains(run, _gains(requested, run), requested.gains)
    return _column(rank_biased_sum(run, gain, requested.persistence))


def rank_biased_residual(requested: Requested, run: JudgedRun, _: Arguments) -> FloatArray:
    """Return the increase of rbp if all unjudged documents had gain 1 (``m_rbp_resid.c``).

    It is p^n for the documents below the n retrieved ones, plus (1 - p) p^(rank - 1) for each
    unjudged document among them; 0 if all n are judged.
    """
    weight = discounts(requested.persistence, int(run.retrieved.max(initial=0)) + 1)
    judged = run.grade >= 0
    query, rank = replace(
        run, query=run.query[judged], rank=run.rank[judged], grade=run.grade[judged]
    ).unjudged(None)
    total = np.bincount(query, weight[rank - 1], len(run.retrieved))
    has_unjudged = np.bincount(query, minlength=len(run.retrieved)) > 0
    residual = weight[run.retrieved] + (1 - requested.persistence) * total
    return _column(np.where(has_unjudged, residual, 0.0))


def unjudged(requested: Requested, run: JudgedRun, _: Arguments) -> FloatArray:
    """Return the share of unjudged documents in the first k (``m_unjudged.c``).

    The divisor is k, even if fewer documents were retrieved.
    """
    columns = []
    for cutoff in requested.numbers:
        judged = run.count(run.within(int(cutoff)) & (run.grade >= 0))
        columns.append((np.minimum(run.retrieved, int(cutoff)) - judged) / cutoff)
    return np.stack(columns, axis=1)


def discounted_gain(requested: Requested, run: JudgedRun, _: Arguments) -> FloatArray:
    """Return the sum of gain / log2(rank + 1) over the ranking (``m_ndcg.c``)."""
    shown = run.within(None) & (run.grade >= 0)
    products = _gains(requested, run)[shown] / np.log2(run.rank[shown] + 1.0)
    return _column(np.bincount(run.query[shown], products, len(run.retrieved)))


def ideal_discounted_gain(requested: Requested, run: JudgedRun, _: Arguments) -> FloatArray:
    """Return the highest discounted gain over all orders of the judged documents."""
    gain = _gains(requested, run)
    has_gain = (run.grade >= 0) & (gain > 0)
    query, gain = run.query[has_gain], gain[has_gain]
    order = np.lexsort((-gain, query))
    query, gain = query[order], gain[order]
    rank = places_in_query(query) + 1
    return _column(np.bincount(query, gain / np.log2(rank + 1.0), len(run.retrieved)))


SCORERS: Mapping[str, Scorer] = {
    "iprec_at_recall": interpolated_precision,
    "11pt_avg": eleven_points,
    "rbp": rank_biased_precision,
    "rbp_resid": rank_biased_residual,
    "unj": unjudged,
    "dcg": discounted_gain,
    "ideal_dcg": ideal_discounted_gain,
}
"""The measures of version 10 by name; each function returns shape (queries, lines)."""


def _column(values: npt.NDArray[Any]) -> FloatArray:
    # np.bincount of an empty array returns integers.
    return values.astype(np.float64)[:, None]


def _highest_precision_from(run: JudgedRun, level: int) -> FloatArray:
    """Return the highest precision at or after each retrieved relevant document."""
    hits = run.within(None) & (run.grade >= level)
    query = run.query[hits]
    # Numbers of precisions, higher ones for earlier queries, so that no maximum crosses a query.
    precisions, number = np.unique(
        (places_in_query(query) + 1) / run.rank[hits], return_inverse=True
    )
    number = number + (len(run.retrieved) - query) * len(precisions)
    best = np.maximum.accumulate(number[::-1])[::-1]
    return np.asarray(precisions[best % len(precisions)] if len(best) else precisions)


def _gains(requested: Requested, run: JudgedRun) -> FloatArray:
    """Return the gain of each judged document; meaningless for negative grades."""
    gain = run.grade.astype(np.float64)
    for grade, value in requested.gains.items():
        gain[run.grade == grade] = value
    return gain


Counts = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]


class Preference(NamedTuple):
    """A row of a file of preferences, with the number of its document.

    Attributes:
        judge: The judgment group.
        list_id: The judgment subgroup.
        level: Higher levels are preferred to lower ones of the same list; 0 is not relevant.
        position: The number of the document.
    """

    judge: bytes
    list_id: bytes
    level: float
    position: int


@dataclass(frozen=True, eq=False)
class Judge:
    """The preferences of one judge.

    Attributes:
        matrix: Shape (documents, documents).
        relevant: The documents with a level above 0; with one list, once for each row.
        others: The documents that are not relevant, likewise.
        classes: With one list, the documents of each level, from the highest; else empty.
    """

    matrix: Counts
    relevant: npt.NDArray[np.intp]
    others: npt.NDArray[np.intp]
    classes: Sequence[npt.NDArray[np.intp]] = ()


class PreferenceCounts(NamedTuple):
    """Numbers of preferences: with both documents retrieved, with one, and with none."""

    fulfilled_both: int
    fulfilled_one: int
    both: int
    one: int
    none: int

    @classmethod
    def of(cls, matrix: Counts, n_retrieved: int) -> PreferenceCounts:
        """Count the preferences of a matrix."""
        both, below = matrix[:n_retrieved, :n_retrieved], matrix[n_retrieved:, :n_retrieved]
        only_preferred = int(matrix[:n_retrieved, n_retrieved:].sum())
        return cls(
            int(np.triu(both, 1).sum()),
            only_preferred,
            int(both.sum()),
            only_preferred + int(below.sum()),
            int(matrix[n_retrieved:, n_retrieved:].sum()),
        )

    def counted(self, scope: str) -> tuple[int, int]:
        """Return the numbers fulfilled and possible, for the end of a measure's name."""
        if scope == "_ret":
            return self.fulfilled_both, self.both
        possible = self.both + self.one + (0 if scope == "_imp" else self.none)
        return self.fulfilled_both + self.fulfilled_one, possible


def score_preferences(
    rows: Iterable[Preference],
    n_documents: int,
    n_retrieved: int,
    *,
    equal_numbers: bool = True,
) -> dict[str, float]:
    """Return all preference measures of a query, by name.

    Args:
        rows: The preferences.
        n_documents: The number of documents in the preferences.
        n_retrieved: The number of those that were retrieved.
        equal_numbers: Whether to compute the measures with ``Rnonrel`` in their names.

    Raises:
        CheckFailedError: If the preferences of a judge contradict each other, at which trec_eval
            stops.
    """
    # As trec_eval sorts them: by judge and list, from the highest level.
    ordered = sorted(rows, key=lambda row: (row.judge, row.list_id, -row.level, row.position))
    total = np.zeros((n_documents, n_documents), np.int32)
    tallies: list[PreferenceCounts] = []
    with_equal_numbers: dict[str, list[tuple[int, int]]] = {}
    if equal_numbers:
        with_equal_numbers = {"": [], "_ret": []}
    for _, some in groupby(ordered, attrgetter("judge")):
        judge = _judge([*some], n_documents)
        total += judge.matrix
        tallies.append(PreferenceCounts.of(judge.matrix, n_retrieved))
        for scope, counted in with_equal_numbers.items():
            counted.append(_count_equal_numbers(judge, tallies[-1], n_retrieved, scope))
    values: dict[str, float] = {}
    for scope in ("", "_imp", "_ret"):
        counts = [counts_of_judge.counted(scope) for counts_of_judge in tallies]
        fulfilled, possible = (sum(column) for column in zip(*counts, strict=True))
        values[f"prefs_simp{scope}"] = fulfilled / possible if possible else 0.0
        values[f"prefs_avgjg{scope}"] = _mean_share(
            [pair for pair in counts if pair[1]], len(counts)
        )
        values[f"prefs_num_prefs_ful{scope}"] = fulfilled
        values[f"prefs_num_prefs_poss{scope}"] = possible
    for scope, counted in with_equal_numbers.items():
        values[f"prefs_avgjg_Rnonrel{scope}"] = _mean_share(counted, len(counted))
    return values | _pair_measures(total, n_retrieved)


def _mean_share(counts: Iterable[tuple[int, int]], n_judges: int) -> float:
    """Return the mean of fulfilled / possible; 0 if one of them is 0 / 0, as in trec_eval."""
    total = 0.0
    for fulfilled, possible in counts:
        total += fulfilled / possible if possible else np.nan
    return total / n_judges if total > 0 else 0.0


def _judge(rows: Sequence[Preference], n_documents: int) -> Judge:
    matrix = np.zeros((n_documents, n_documents), np.int32)
    lists = [[*some] for _, some in groupby(rows, attrgetter("list_id"))]
    for rows_of_list in lists:
        classes = [
            np.array([row.position for row in some], np.intp)
            for _, some in groupby(rows_of_list, attrgetter("level"))
        ]
        for number, preferred in enumerate(classes[:-1]):
            lower = np.concatenate(classes[number + 1 :])
            np.add.at(matrix, (preferred[:, None], lower), 1)
    if len(lists) > 1:
        return _joined_lists(rows, matrix > 0)
    if matrix.diagonal().any():
        raise _contradiction("one document has two levels in one list")
    of_level = np.array([row.position for row in rows], np.intp)
    is_relevant = np.array([row.level > 0 for row in rows])
    return Judge(matrix, of_level[is_relevant], of_level[~is_relevant], classes)


def _joined_lists(rows: Sequence[Preference], preferred: Flags) -> Judge:
    """Return the preferences of several lists, and what follows from them: a > b > c, so a > c."""
    level = np.full(len(preferred), -1.0)
    for row in rows:
        if min(level[row.position], row.level) == 0 < max(level[row.position], row.level):
            raise _contradiction("one document has level 0 and a higher level")
        level[row.position] = row.level
    reached = preferred | np.eye(len(preferred), dtype=bool)
    while True:
        further = (reached.astype(np.float32) @ reached.astype(np.float32)) > 0
        if (further == reached).all():
            break
        reached = further
    np.fill_diagonal(reached, False)
    if (reached & reached.T).any():
        raise _contradiction("of two documents, each is preferred to the other")
    return Judge(reached.astype(np.int32), np.flatnonzero(level > 0), np.flatnonzero(level == 0))


def _contradiction(text: str) -> CheckFailedError:
    return CheckFailedError(
        f"{text}, at which trec_eval stops or reads beyond its memory",
        remedy="correct the levels, or give each opinion a judge (column 2) of its own",
    )


def _count_equal_numbers(
    judge: Judge, counts_of_judge: PreferenceCounts, n_retrieved: int, scope: str
) -> tuple[int, int]:
    """Return the preferences fulfilled and possible with as many other as relevant documents.

    If there are fewer others, the missing ones count as if they were ranked last. If there are
    more, only the first ones count. With one list, trec_eval also counts pairs of the others.
    """
    n_found = int(np.count_nonzero(judge.relevant < n_retrieved))
    only_retrieved = scope == "_ret"
    limit = n_retrieved if only_retrieved else len(judge.matrix)
    n_relevant = n_found if only_retrieved else len(judge.relevant)
    missing = n_relevant - int(np.count_nonzero(judge.others < limit))
    if missing >= 0:
        fulfilled, possible = counts_of_judge.counted(scope)
        return fulfilled + n_found * missing, possible + len(judge.relevant) * missing
    if judge.classes:
        matrix = np.zeros_like(judge.matrix)
        *relevant, last = judge.classes
        first = last[:n_relevant]
        if len(first) < n_relevant:
            raise _contradiction("there are several levels of 0 or less, and too few documents")
        for number, preferred in enumerate(relevant):
            lower = np.concatenate([*relevant[number + 1 :], first])
            np.add.at(matrix, (preferred[:, None], lower), 1)
        np.add.at(matrix, (last[:, None], first), 1)
    else:
        matrix = judge.matrix.copy()
        discarded = np.sort(judge.others)[len(judge.relevant) :]
        matrix[discarded] = 0
        matrix[:, discarded] = 0
    matrix = matrix[:limit, :limit]
    return int(np.triu(matrix, 1)[:n_retrieved].sum()), int(matrix.sum())


def _pair_measures(total: Counts, n_retrieved: int) -> dict[str, float]:
    """Return the means over pairs of documents of the share of fulfilled preferences."""
    fulfilled = np.triu(total, 1)
    both_ways = fulfilled + np.tril(total, -1).T
    first, second = np.nonzero(both_ways)
    share = fulfilled[first, second] / both_ways[first, second]
    has_both = second < n_retrieved
    has_one = (first < n_retrieved) & ~has_both
    # In trec_eval's order: first the pairs with both documents retrieved.
    of_both = np.cumsum(share[has_both])
    of_one = np.cumsum(np.concatenate([of_both[-1:], share[has_one]]))
    sum_both, total_sum = (float(sums[-1]) if len(sums) else 0.0 for sums in (of_both, of_one))
    n_both, n_counted = int(has_both.sum()), int(has_both.sum() + has_one.sum())
    return {
        "prefs_pair": total_sum / len(share) if len(share) else 0.0,
        "prefs_pair_imp": total_sum / n_counted if n_counted else 0.0,
        "prefs_pair_ret": sum_both / n_both if n_both else 0.0,
    }
