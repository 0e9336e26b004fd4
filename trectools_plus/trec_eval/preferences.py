"""Preference measures of trec_eval (``form_prefs_counts.c`` and ``m_prefs_*.c`` of version 10).

A judge prefers one document to another if both are in one list and its level is higher. A
preference is fulfilled if the preferred document is ranked above the other one, or is the only one
that was retrieved. Documents are numbered: retrieved ones by rank, then the others. The preferences
of a judge are a matrix of how often the document of the row is preferred to that of the column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import CheckFailedError

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


class Tally(NamedTuple):
    """Numbers of preferences: with both documents retrieved, with one, and with none."""

    fulfilled_both: int
    fulfilled_one: int
    both: int
    one: int
    none: int

    @classmethod
    def of(cls, matrix: Counts, n_retrieved: int) -> Tally:
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
    tallies: list[Tally] = []
    with_equal_numbers: dict[str, list[tuple[int, int]]] = {}
    if equal_numbers:
        with_equal_numbers = {"": [], "_ret": []}
    for _, some in groupby(ordered, attrgetter("judge")):
        judge = _judge([*some], n_documents)
        total += judge.matrix
        tallies.append(Tally.of(judge.matrix, n_retrieved))
        for scope, counted in with_equal_numbers.items():
            counted.append(_count_equal_numbers(judge, tallies[-1], n_retrieved, scope))
    values: dict[str, float] = {}
    for scope in ("", "_imp", "_ret"):
        counts = [tally.counted(scope) for tally in tallies]
        fulfilled, possible = (sum(column) for column in zip(*counts, strict=True))
        values[f"prefs_simp{scope}"] = fulfilled / possible if possible else 0.0
        values[f"prefs_avgjg{scope}"] = _mean_share([one for one in counts if one[1]], len(counts))
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
    for one in lists:
        classes = [
            np.array([row.position for row in some], np.intp)
            for _, some in groupby(one, attrgetter("level"))
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
    judge: Judge, tally: Tally, n_retrieved: int, scope: str
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
        fulfilled, possible = tally.counted(scope)
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
