"""Small clean runs and qrels in plain dictionaries, for a quick start without NumPy and Polars.

A file is read only if it is certain that no rule has an error or a warning, except the rules that
depend on a limit or on the other file. All other files are left to the complete validation, which
reports what is wrong.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from operator import gt
from typing import Any

from trectools_plus.formats.columns.small import (
    parse_scores,
    parse_whole_numbers,
    read_small_table,
)
from trectools_plus.formats.interchange.names import QRELS_FIELDS, RUN_FIELDS
from trectools_plus.validation.findings import FileReport
from trectools_plus.validation.fragile_ids import is_fragile
from trectools_plus.validation.limits import JUDGED_CUTOFF, MIN_JUDGED
from trectools_plus.validation.profiles import Profile

_MAX_RANK_DIGITS = 15
_HIGHEST_GRADE = 10
_TAG = re.compile(r"[A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class SmallRun:
    """A small run whose rows are grouped by query, with ranks that rise by 1.

    Attributes:
        path: The file, as the user named it.
        name: The tag.
        rankings: Scores by query and document, in the order of the file: by score, and within
            equal scores by document id, both descending, also with scores of 32 bits.
        n_rows: The number of rows.
        deepest: The highest number of results of a query.
        first_rank: The first rank of the file.
        n_ties: The number of neighbouring results of a query with equal scores.
        is_tidy: Whether lines, ranks and scores have no findings at all.
    """

    path: str
    name: str
    rankings: dict[str, dict[str, float]]
    n_rows: int
    deepest: int
    first_rank: int
    n_ties: int
    is_tidy: bool

    def describe(self) -> dict[str, Any]:
        """Return the fields of :class:`~trectools_plus.retrieval.RunInfo` as JSON values."""
        sizes = sorted(map(len, self.rankings.values()))
        middle = (sizes[(len(sizes) - 1) // 2] + sizes[len(sizes) // 2]) / 2
        return {
            "path": self.path,
            "tag": self.name,
            "queries": len(sizes),
            "rows": self.n_rows,
            "depth": {"min": sizes[0], "median": middle, "max": sizes[-1]},
            "lowest_score": min(min(ranking.values()) for ranking in self.rankings.values()),
            "highest_score": max(max(ranking.values()) for ranking in self.rankings.values()),
            "ties_64": self.n_ties,
            "ties_32": self.n_ties,
            "first_rank": self.first_rank,
            "ranks_follow_scores": True,
            "rows_follow_ranks": True,
        }


@dataclass(frozen=True, slots=True)
class SmallQrels:
    """Small qrels in which every query has a relevant document.

    Attributes:
        judgments: Grades, from 0, by query and document, in the order of the file.
    """

    judgments: dict[str, dict[str, int]]


def read_small_run(path: str) -> SmallRun | None:
    """Read a small run; ``None`` if a rule on runs may have an error or a warning."""
    table = read_small_table(path, 6, RUN_FIELDS)
    if table is None:
        return None
    queries, second, doc_ids, rank_texts, score_texts, tags = table.columns
    if {*second} != {"Q0"} or len({*tags}) > 1 or not _TAG.fullmatch(tags[0]):
        return None
    ranks = parse_whole_numbers(rank_texts, _MAX_RANK_DIGITS)
    scores = parse_scores(score_texts)
    if ranks is None or scores is None:
        return None
    narrow = array("f", scores).tolist()
    rankings: dict[str, dict[str, float]] = {}
    first_ranks: set[int] = set()
    deepest = n_ties = 0
    for start, end in _blocks(queries):
        query_id, rank = queries[start], ranks[start]
        ranking = dict(zip(doc_ids[start:end], scores[start:end], strict=True))
        if query_id in rankings or len(ranking) < end - start:
            return None
        if ranks[start:end] != list(range(rank, rank + end - start)):
            return None
        part = narrow[start:end]
        if not all(map(gt, part, islice(part, 1, None))):
            found = _count_ties(part, score_texts[start:end], doc_ids[start:end])
            if found is None:
                return None
            n_ties += found
        rankings[query_id] = ranking
        first_ranks.add(rank)
        deepest = max(deepest, end - start)
    return SmallRun(
        path=path,
        name=tags[0],
        rankings=rankings,
        n_rows=len(queries),
        deepest=deepest,
        first_rank=min(first_ranks),
        n_ties=n_ties,
        is_tidy=table.ends_normally and first_ranks == {1} and not n_ties,
    )


def read_small_qrels(path: str) -> SmallQrels | None:
    """Read small qrels; ``None`` if a rule on qrels may have an error or a warning."""
    table = read_small_table(path, 4, QRELS_FIELDS)
    if table is None:
        return None
    queries, second, doc_ids, grade_texts = table.columns
    grades = parse_whole_numbers(grade_texts, len(str(_HIGHEST_GRADE)))
    if grades is None or max(grades) > _HIGHEST_GRADE:
        return None
    if len({*second}) > 1 and len({*doc_ids}) == 1:  # columns 2 and 3 may be swapped
        return None
    judgments: dict[str, dict[str, int]] = {}
    for start, end in _blocks(queries):
        judged = judgments.setdefault(queries[start], {})
        judged.update(zip(doc_ids[start:end], grades[start:end], strict=True))
    has_repeats = sum(map(len, judgments.values())) < len(queries)
    if has_repeats or not all(max(judged.values()) for judged in judgments.values()):
        return None
    return SmallQrels(judgments)


def can_be_compared(run: SmallRun, qrels: SmallQrels) -> bool:
    """Return whether no rule on a run with its qrels has an error or a warning.

    The rule on ties that change a measure (P111) is not considered.
    """
    judgments = qrels.judgments
    if run.rankings.keys() != judgments.keys():
        return False
    n_seen = n_judged = 0
    for query_id, ranking in run.rankings.items():
        judged = judgments[query_id].keys()
        # An unjudged document must not be a judged one in upper or lower case.
        others = {doc_id.lower() for doc_id in ranking.keys() - judged}
        if not others.isdisjoint(map(str.lower, judged)):
            return False
        first = list(islice(ranking, JUDGED_CUTOFF))
        n_seen += len(first)
        n_judged += sum(doc_id in judged for doc_id in first)
    return n_judged / n_seen >= MIN_JUDGED


def validate_small_run(path: str, profile: Profile) -> FileReport | None:
    """Check a run with all rules that are on by default.

    Args:
        path: The run.
        profile: The limits.

    Returns:
        The report on a small run without findings; ``None`` for any other file.
    """
    run = read_small_run(path)
    if run is None or not run.is_tidy or run.deepest > profile.max_depth:
        return None
    if len(run.name) > profile.max_tag_length:
        return None
    if any(query_id in ranking for query_id, ranking in run.rankings.items()):
        return None
    ids = {*run.rankings}.union(*run.rankings.values())
    if any(map(is_fragile, ids)):
        return None
    return FileReport(path, "run", run.n_rows, len(run.rankings), ())


def _blocks(queries: list[str]) -> list[tuple[int, int]]:
    """Return the first row of each block of rows with the same query, and the row after it."""
    pairs = zip(queries, islice(queries, 1, None), strict=False)
    starts = [0, *(at for at, (before, here) in enumerate(pairs, 1) if before != here)]
    return list(zip(starts, [*starts[1:], len(queries)], strict=True))


def _count_ties(
    narrow: Sequence[float], texts: Sequence[str], doc_ids: Sequence[str]
) -> int | None:
    """Count the ties of a ranking; ``None`` if a score rises or a rule on ties has a warning."""
    n_ties = 0
    for at in range(1, len(narrow)):
        if narrow[at] < narrow[at - 1]:
            continue
        if narrow[at] > narrow[at - 1] or texts[at] != texts[at - 1]:
            return None
        if doc_ids[at] > doc_ids[at - 1]:  # trec_eval and the ranks order them differently
            return None
        n_ties += 1
    return None if n_ties == len(narrow) - 1 else n_ties
