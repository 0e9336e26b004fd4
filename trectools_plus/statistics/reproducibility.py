"""Similarity of a reproduced run, or a reproduced improvement, to the original.

The measures of Breuer, Ferro, Fuhr, Maistro, Sakai, Schaer and Soboroff, How to Measure the
Reproducibility of System-oriented IR Experiments, SIGIR 2020, as their package ``repro_eval``
computes them. Functions of rankings take two rankings of one query; functions of scores take scores
of the same queries in the same order.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import as_pair
from trectools_plus.statistics.rankings import (
    check_no_duplicates,
    check_persistence,
    kendall_tau,
    overlaps,
)

DEFAULT_DEPTH = 1000
DEFAULT_OVERLAP_PERSISTENCE = 0.8


def kendall_tau_union(
    original: Sequence[Any], reproduced: Sequence[Any], *, depth: int = DEFAULT_DEPTH
) -> float:
    """Return Kendall's tau Union of two rankings of one query.

    Each document is replaced by its position in the sorted union of both rankings, and the two
    lists of positions are correlated. The value therefore depends on the document ids; that of
    :func:`rank_biased_overlap` does not.

    Args:
        original: doc_ids from the top, each once.
        reproduced: doc_ids from the top, each once. The longer ranking is cut to the length of the
            shorter one, as in ``repro_eval``.
        depth: The number of documents to compare, at least 1.

    Returns:
        Between −1 and 1; ``nan`` for fewer than two documents.

    Raises:
        UsageError: If a ranking contains a document twice, or ``depth`` is below 1.
    """
    _check_depth(depth)
    length = min(len(original), len(reproduced), depth)
    rankings = [original[:length], reproduced[:length]]
    for ranking in rankings:
        check_no_duplicates(ranking, "Kendall's tau Union")
    if length < 2:
        return float("nan")
    union = sorted({document for ranking in rankings for document in ranking})
    position = {document: number for number, document in enumerate(union)}
    first, second = ([position[document] for document in ranking] for ranking in rankings)
    return kendall_tau(first, second)


def truncated_overlap(
    original: Sequence[Hashable],
    reproduced: Sequence[Hashable],
    *,
    p: float = DEFAULT_OVERLAP_PERSISTENCE,
    depth: int = DEFAULT_DEPTH,
) -> float:
    """Return the rank-biased overlap of two rankings of one query down to a depth.

    It is the overlap of the first d documents divided by d, averaged over d = 1 … depth with
    weights p^(d − 1), as ``repro_eval`` computes it. A ranking shorter than ``depth`` is not
    extrapolated, so two equal short rankings have a value below 1; :func:`rank_biased_overlap`
    extrapolates.

    Args:
        original: Documents from the top, each once.
        reproduced: Documents from the top, each once.
        p: Persistence, between 0 and 1.
        depth: The number of ranks to compare, at least 1.

    Returns:
        Between 0 and 1.

    Raises:
        UsageError: If a ranking contains a document twice, or an option is out of range.
    """
    _check_depth(depth)
    check_persistence(p)
    for ranking in (original, reproduced):
        check_no_duplicates(ranking, "RBO")
    places = np.arange(depth, dtype=np.float64)
    agreement = overlaps(original, reproduced, depth) / (places + 1.0)
    return float(np.average(agreement, weights=p**places))


def root_mean_square_error(original: npt.ArrayLike, reproduced: npt.ArrayLike) -> float:
    """Return the root mean square error of a reproduced run's scores.

    Args:
        original: Scores, shape (queries,).
        reproduced: Scores of the same queries.

    Returns:
        At least 0, in the unit of the scores; 0 for a perfect reproduction.

    Raises:
        UsageError: If the shapes differ, there is no query, or a value is NaN or infinite.
    """
    first, second = as_pair(original, reproduced, "RMSE")
    return float(np.sqrt(np.mean((first - second) ** 2)))


def effect_ratio(
    original: npt.ArrayLike,
    original_baseline: npt.ArrayLike,
    reproduced: npt.ArrayLike,
    reproduced_baseline: npt.ArrayLike,
) -> float:
    """Return the reproduced mean improvement over a baseline, divided by the original one.

    Args:
        original: The improved run's scores, shape (queries,).
        original_baseline: Its baseline's scores of the same queries.
        reproduced: The reproduced improved run's scores; in a replication, of other queries.
        reproduced_baseline: The reproduced baseline's scores of the queries of ``reproduced``.

    Returns:
        1 for a perfect reproduction, below 1 for a weaker effect, below 0 for a reversed one;
        ``nan`` if the original improvement is 0.

    Raises:
        UsageError: If the shapes of a pair differ, there is no query, or a value is NaN or
            infinite.
    """
    first = _means(original, original_baseline)
    second = _means(reproduced, reproduced_baseline)
    return _ratio(second[0] - second[1], first[0] - first[1])


def delta_relative_improvement(
    original: npt.ArrayLike,
    original_baseline: npt.ArrayLike,
    reproduced: npt.ArrayLike,
    reproduced_baseline: npt.ArrayLike,
) -> float:
    """Return the original relative improvement over a baseline, minus the reproduced one.

    Args:
        original: As in :func:`effect_ratio`.
        original_baseline: As in :func:`effect_ratio`.
        reproduced: As in :func:`effect_ratio`.
        reproduced_baseline: As in :func:`effect_ratio`.

    Returns:
        0 for a perfect reproduction, above 0 if the reproduced improvement is smaller; ``nan`` if
        the mean of a baseline is 0.

    Raises:
        UsageError: As in :func:`effect_ratio`.
    """
    first = _means(original, original_baseline)
    second = _means(reproduced, reproduced_baseline)
    return _ratio(first[0] - first[1], first[1]) - _ratio(second[0] - second[1], second[1])


def _means(improved: npt.ArrayLike, baseline: npt.ArrayLike) -> tuple[float, float]:
    one, two = as_pair(improved, baseline, "reproducibility")
    return float(one.mean()), float(two.mean())


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else float("nan")


def _check_depth(depth: int) -> None:
    if depth < 1:
        raise UsageError(
            f"expected a depth of at least 1 but got {depth}",
            where="rankings",
            remedy="use 1000, for example",
        )
