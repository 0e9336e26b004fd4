"""Scoring with pytrec_eval from arrays of ranks and grades, for runs of any size.

This is the only module that calls pytrec_eval. It calls the extension module directly, because the
Python layer does not accept parameters, for example ``ndcg.1=3,2=9`` or ``utility.1,-1,0,0``, which
``trec-eval`` needs.

The measures of trec_eval depend only on the ranks and grades of documents, so documents are renamed
to their ranks: all queries with n documents share one dictionary, and the qrels contain only judged
documents. The names sort like the ranks, because trec_eval sorts faster what is sorted. Documents
below all requested cutoffs, or below the last relevant document, are left out if no requested
measure depends on them. The values are the same as with the original document ids, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice, product
from operator import itemgetter
from typing import Any, NamedTuple, get_args

import numpy as np

from trectools_plus.errors import UsageError
from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.definitions.trec_eval_measures import TREC_EVAL_MEASURES, Sees
from trectools_plus.measures.judged import IntArray, JudgedRun

Values = Mapping[str, Mapping[str, float]]
"""Values by query and by the names that trec_eval prints."""


class Request(NamedTuple):
    """A measure of trec_eval with its parameters.

    Attributes:
        text: The value of trec_eval's ``-m``, for example ``P.5,10``.
        keys: The names of its values in the result of pytrec_eval.
        sees: The part of a ranking on which it depends.
        cutoff: The deepest rank that counts; ``None`` for the whole ranking.
    """

    text: str
    keys: Sequence[str]
    sees: Sees
    cutoff: int | None = None


def score_requests(
    run: JudgedRun,
    grades: IntArray,
    requests: Sequence[Request],
    *,
    level: int,
    judged_only: bool,
) -> dict[str, FloatArray]:
    """Score every query.

    Args:
        run: The ranks of judged documents.
        grades: The grade of each judged document to pass to trec_eval.
        requests: The measures; no two have a key in common.
        level: The lowest grade that is relevant.
        judged_only: Whether unjudged documents are removed from the rankings first.

    Returns:
        By key, one value per query; 0 for a query without results.
    """
    of_lengths = [one for one in requests if one.sees == "length" and not judged_only]
    others = [one for one in requests if one not in of_lengths]
    values: dict[str, FloatArray] = {}
    if of_lengths:
        # Queries with the same number of documents have the same values. trec_eval needs a
        # judgment of each query.
        lengths, positions = np.unique(run.retrieved, return_inverse=True)
        zeros = np.zeros(len(lengths), np.int64)
        judged = JudgedRun(lengths, np.arange(len(lengths)), zeros, zeros)
        found = _score(judged, zeros, lengths, of_lengths, level=level, judged_only=False)
        values = {key: column[positions] for key, column in found.items()}
    if others:
        # trec_eval removes unjudged documents, and must not be left without documents.
        sees = "judged" if judged_only else max((one.sees for one in others), key=_PARTS.index)
        if sees == "gains":
            kept = grades > 0
            run = replace(run, query=run.query[kept], rank=run.rank[kept], grade=run.grade[kept])
            grades = grades[kept]
        depth = _visible_depths(run, grades, sees)
        cutoffs = [one.cutoff for one in others if one.cutoff is not None]
        if len(cutoffs) == len(others) and not judged_only:
            depth = np.minimum(depth, max(cutoffs))
        values |= _score(run, grades, depth, others, level=level, judged_only=judged_only)
    return values


def call_pytrec_eval(
    requests: Iterable[str],
    qrels: Mapping[str, Mapping[str, int]],
    rankings: Mapping[str, Mapping[str, float]],
    *,
    level: int,
    judged_only: bool,
) -> Values:
    """Call pytrec_eval.

    Args:
        requests: Values of trec_eval's ``-m``, for example ``P.5,10``.
        qrels: Grades by query and document; each query has a grade of 0 or more.
        rankings: Scores by query and document.
        level: The lowest grade that is relevant.
        judged_only: Whether unjudged documents are removed from the rankings first.

    Returns:
        The values of the queries with a ranking.
    """
    import pytrec_eval_ext

    evaluator: Any = pytrec_eval_ext.RelevanceEvaluator(
        query_relevance=qrels,
        measures={*requests},
        relevance_level=level,
        judged_docs_only_flag=judged_only,
    )
    values: Values = evaluator.evaluate(rankings) if rankings else {}
    return values


def _visible_depths(run: JudgedRun, grades: IntArray, sees: Sees) -> IntArray:
    """Return the number of top documents of each query on which measures depend.

    It is at least 1 if there is any document.
    """
    if sees == "all":
        return run.retrieved
    deepest = np.zeros_like(run.retrieved)
    kept = slice(None) if sees == "judged" else grades > 0
    np.maximum.at(deepest, run.query[kept], run.rank[kept])
    deepest = -(-deepest // _STEP) * _STEP
    return np.minimum(np.maximum(deepest, 1), run.retrieved)


def _score(
    run: JudgedRun,
    grades: IntArray,
    depth: IntArray,
    requests: Sequence[Request],
    *,
    level: int,
    judged_only: bool,
) -> dict[str, FloatArray]:
    """Rename documents and score them; ``depth`` of a query is 0 to omit it."""
    qrels, rankings = _rename(run, grades, depth)
    texts = [one.text for one in requests]
    takes_gains = any(text.split(".")[0] in _TAKE_GAINS for text in texts)
    limit = MAX_GAIN if not takes_gains else _MAX_GAIN_OF_NDCG
    if (highest := int(grades.max(initial=0))) > limit:
        raise UsageError(
            f"a grade or gain of {highest:,} is above {limit:,}",
            where=", ".join(texts),
            remedy="rescale the grades",
        )
    results = call_pytrec_eval(texts, qrels, rankings, level=level, judged_only=judged_only)
    keys = [key for one in requests for key in one.keys]
    pick = itemgetter(*keys)
    rows = [pick(result) for result in results.values()]
    values = np.zeros((len(depth), len(keys)))
    scored = np.array([int(number) for number in results], np.int64)
    values[scored] = np.array(rows, np.float64).reshape(len(rows), len(keys))
    return dict(zip(keys, values.T, strict=True))


def _rename(
    run: JudgedRun, grades: IntArray, depth: IntArray
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Return qrels and rankings by query position (as a string) and renamed document."""
    deepest = int(depth.max(initial=0))
    starts = np.r_[0, np.cumsum(np.bincount(run.query, minlength=len(depth)))]
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
    bounds, depths = starts.tolist(), depth.tolist()
    qrels = {}
    for number in scored:
        own = slice(bounds[number], bounds[number + 1])
        qrels[str(number)] = dict(zip(documents[own], gains[own], strict=True))
    return qrels, {str(number): rankings[depths[number]] for number in scored}


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


_rankings_of = lru_cache(maxsize=2)(_Rankings)
"""Return rankings that the chunks of a run share."""


def _capacity(n: int) -> int:
    """Return the next power of two, so that chunks of a run have the same one."""
    return max(1024, 1 << (n - 1).bit_length())


_CHARACTERS = [chr(code) for code in range(ord("!"), ord("~") + 1)]
_MAX_ITEMS = 200_000
"""The greatest number of items of the rankings in memory, of about 50 bytes each."""
_STEP = 16
"""Depths are rounded up to a multiple of this number, so that more queries share a ranking."""
MAX_GAIN = 2**20
"""The highest gain: trec_eval uses a counter per grade and query, here 8 MiB and 1 ms."""
_MAX_GAIN_OF_NDCG = 1000
"""trec_eval's ``ndcg`` takes milliseconds per query for it, and an hour for a grade of 10^6."""
_TAKE_GAINS = {one.name for one in TREC_EVAL_MEASURES if one.takes == "gains"}
_PARTS: tuple[Sees, ...] = get_args(Sees)
