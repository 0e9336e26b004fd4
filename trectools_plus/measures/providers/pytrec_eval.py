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

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice, product
from operator import itemgetter
from typing import Any, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

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

    Raises:
        UsageError: If a grade is too high for trec_eval.
    """
    values: dict[str, FloatArray] = {}
    by_length = [request for request in requests if request.sees == "length" and not judged_only]
    for group in (by_length, [request for request in requests if request not in by_length]):
        if not group:
            continue
        # trec_eval removes unjudged documents, and must not be left without documents.
        sees = "judged" if judged_only else max((entry.sees for entry in group), key=_PARTS.index)
        # Without a grade of 0 or more, trec_eval would not score a query.
        judged, gains = run, np.zeros_like(grades) if group is by_length else grades
        if sees == "gains":
            kept = grades > 0
            judged = replace(run, query=run.query[kept], rank=run.rank[kept], grade=run.grade[kept])
            gains = grades[kept]
        depth = _visible_depths(judged, gains, sees)
        cutoffs = [request.cutoff for request in group if request.cutoff is not None]
        if len(cutoffs) == len(group) and not judged_only:
            depth = np.minimum(depth, max(cutoffs))
        values |= _score(judged, gains, depth, group, level=level, judged_only=judged_only)
    return values


def _visible_depths(run: JudgedRun, grades: IntArray, sees: Sees) -> IntArray:
    """Return the number of top documents of each query on which measures depend.

    It is at least 1 if there is any document.
    """
    if sees in ("all", "length"):
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
    import pytrec_eval_ext

    _refuse_high_gains(grades, requests)
    qrels, rankings = _rename(run, grades, depth)
    evaluator: Any = pytrec_eval_ext.RelevanceEvaluator(
        query_relevance=qrels,
        measures={request.text for request in requests},
        relevance_level=level,
        judged_docs_only_flag=judged_only,
    )
    results: Values = evaluator.evaluate(rankings) if rankings else {}
    keys = [key for request in requests for key in request.keys]
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
    # The next power of two, so that chunks of a run share names and rankings.
    capacity = max(1024, 1 << int(keys.max(initial=deepest)).bit_length())
    documents, gains = _names(capacity)[keys].tolist(), grades.tolist()
    # Without any grade of 0 or more all values are 0, and trec_eval would crash.
    highest = np.full(len(depth), -1)
    np.maximum.at(highest, run.query, grades)
    scored = np.flatnonzero((depth > 0) & (highest >= 0)).tolist()
    bounds, depths = starts.tolist(), depth.tolist()
    qrels = {}
    for number in scored:
        own = slice(bounds[number], bounds[number + 1])
        qrels[str(number)] = dict(zip(documents[own], gains[own], strict=True))
    return qrels, {str(number): _ranking(capacity, depths[number]) for number in scored}


def _refuse_high_gains(grades: IntArray, requests: Sequence[Request]) -> None:
    """Refuse gains for which trec_eval needs too much time or memory.

    Raises:
        UsageError: If there is one.
    """
    squared = [
        request.text for request in requests if request.text.partition(".")[0] in _TAKE_GAINS
    ]
    limit = _MAX_GAIN_SQUARED if squared else MAX_GAIN
    if (highest := int(grades.max(initial=0))) > limit:
        raise UsageError(
            f"a document has the gain {highest:,}, but trec_eval computes this measure only up to "
            f"{limit:,} in reasonable time",
            where=", ".join(squared or [request.text for request in requests]),
            remedy="rescale the grades" + (", or use a cutoff, as in nDCG@10" if squared else ""),
        )


@lru_cache(maxsize=2)
def _names(capacity: int) -> npt.NDArray[np.object_]:
    """Return names of documents, in the order of their bytes."""
    width = 2
    while len(_CHARACTERS) ** width < capacity:
        width += 1
    names = islice(product(_CHARACTERS, repeat=width), capacity)
    return np.array(["".join(letters) for letters in names], object)


@lru_cache(maxsize=32)
def _ranking(capacity: int, depth: int) -> dict[str, float]:
    """Return the ranking of n renamed documents, which queries share."""
    names = _names(capacity)[1 : depth + 1].tolist()
    return {name: -float(rank) for rank, name in enumerate(names, 1)}


_CHARACTERS = [chr(code) for code in range(ord("!"), ord("~") + 1)]
_STEP = 16
"""Depths are rounded up to a multiple of this number, so that more queries share a ranking."""
MAX_GAIN = 10**8
"""The highest gain, as for grades (Q122): trec_eval uses a counter per grade, here 0.8 GB."""
_MAX_GAIN_SQUARED = 10_000
"""The same for measures that take gains, whose time grows with the square of the highest one: a
tenth of a second per query."""
_TAKE_GAINS = {measure.name for measure in TREC_EVAL_MEASURES if measure.takes == "gains"}
_PARTS: tuple[Sees, ...] = get_args(Sees)
