"""How closely a run, or an improvement, was reproduced.

The measures of Breuer, Ferro, Fuhr, Maistro, Sakai, Schaer and Soboroff, How to Measure the
Reproducibility of System-oriented IR Experiments, SIGIR 2020, as their package ``repro_eval``
computes them. Rankings and scores are those of one query or of aligned queries.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import FloatArray, as_pair
from trectools_plus.statistics.rankings import overlaps, refuse_duplicates

DEFAULT_DEPTH = 1000
DEFAULT_OVERLAP_PERSISTENCE = 0.8


def kendall_tau_union(
    original: Sequence[Any], reproduced: Sequence[Any], *, depth: int = DEFAULT_DEPTH
) -> float:
    """Kendall's tau Union of two rankings of one query.

    Each ranking becomes, from its top, the list of its documents' places in the sorted union of
    both; the two lists are correlated. As places come from sorting doc_ids, the value depends on
    how documents are named; see :func:`rank_biased_overlap` for a measure that does not.

    Args:
        original: doc_ids from the top, each once.
        reproduced: Likewise. The longer ranking is cut to the shorter one's length, where
            ``repro_eval`` stops.
        depth: How many documents to compare, at least 1.

    Returns:
        Between −1 and 1; ``nan`` for fewer than two documents.

    Raises:
        UsageError: If a document is in a ranking twice, or ``depth`` is below 1.
    """
    from scipy import stats

    _check_depth(depth)
    length = min(len(original), len(reproduced), depth)
    lists = [list(original[:length]), list(reproduced[:length])]
    for ranking in lists:
        refuse_duplicates(ranking, "Kendall's tau Union")
    if length < 2:
        return float("nan")
    union = {
        document: place for place, document in enumerate(sorted(set(lists[0]) | set(lists[1])))
    }
    first, second = ([union[document] for document in ranking] for ranking in lists)
    return float(stats.kendalltau(first, second).statistic)


def truncated_overlap(
    original: Sequence[Hashable],
    reproduced: Sequence[Hashable],
    *,
    p: float = DEFAULT_OVERLAP_PERSISTENCE,
    depth: int = DEFAULT_DEPTH,
) -> float:
    """Rank-biased overlap of two rankings of one query to a depth, as ``repro_eval`` computes it.

    The overlap of the first d documents, as a share of d, in the mean over d = 1 … depth with
    weights p^(d − 1). A ranking that ends before does not grow, so two equal short ones fall
    below 1; :func:`rank_biased_overlap` extrapolates instead.

    Args:
        original: Documents from the top, each once.
        reproduced: Likewise.
        p: Persistence, between 0 and 1.
        depth: How many ranks to compare, at least 1.

    Returns:
        Between 0 and 1.

    Raises:
        UsageError: If a document is in a ranking twice, or an option is out of range.
    """
    _check_depth(depth)
    if not 0.0 < p < 1.0:
        raise UsageError(f"expected p between 0 and 1 but got {p}", where="RBO", remedy="try 0.8")
    for ranking in (original, reproduced):
        refuse_duplicates(ranking, "RBO")
    places = np.arange(depth, dtype=np.float64)
    shares = overlaps(original, reproduced, depth) / (places + 1.0)
    return float(np.average(shares, weights=p**places))


def root_mean_square_error(original: npt.ArrayLike, reproduced: npt.ArrayLike) -> float:
    """The root of the mean squared difference of two runs' scores of the same queries.

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
    """Reproduced over original mean improvement of a run over its baseline.

    Args:
        original: The advanced run's scores, shape (queries,).
        original_baseline: Its baseline's, of the same queries.
        reproduced: The reproduced advanced run's; of other queries for a replication.
        reproduced_baseline: The reproduced baseline's, of the same queries as ``reproduced``.

    Returns:
        1 for a perfect reproduction; below 1 a weaker effect, below 0 a reversed one; ``nan``
        where the original improvement is 0.

    Raises:
        UsageError: As in :func:`root_mean_square_error`.
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
    """Original minus reproduced relative improvement of the mean over the baseline's mean.

    Args:
        original: As in :func:`effect_ratio`.
        original_baseline: As there.
        reproduced: As there.
        reproduced_baseline: As there.

    Returns:
        0 for a perfect reproduction; above 0 where the reproduced improvement is smaller; ``nan``
        where a baseline's mean is 0.

    Raises:
        UsageError: As in :func:`root_mean_square_error`.
    """
    first = _means(original, original_baseline)
    second = _means(reproduced, reproduced_baseline)
    return _ratio(first[0] - first[1], first[1]) - _ratio(second[0] - second[1], second[1])


def _means(advanced: npt.ArrayLike, baseline: npt.ArrayLike) -> tuple[float, float]:
    pair: tuple[FloatArray, FloatArray] = as_pair(advanced, baseline, "reproducibility")
    return float(pair[0].mean()), float(pair[1].mean())


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else float("nan")


def _check_depth(depth: int) -> None:
    if depth < 1:
        raise UsageError(f"expected a depth of at least 1 but got {depth}", where="rankings")
