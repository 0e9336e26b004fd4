"""Power of the paired t-test, and the number of queries to detect a difference."""

from __future__ import annotations

import math

import numpy as np

from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import check_level

DEFAULT_POWER = 0.8
DEFAULT_LEVEL = 0.05

_MANY_QUERIES = 100
_MAX_EXCESS = 40.0
"""With more than 100 queries, a noncentrality this far above the critical value has power 1."""
_MAX_FOR_LOWER_TAIL = 8.0
"""Above this noncentrality, the probability of the lower tail is 0 in floating point."""
_TOLERANCE = 1e-12


def power_of_t_test(
    difference: float,
    spread: float,
    queries: int,
    *,
    level: float = DEFAULT_LEVEL,
    one_sided: bool = False,
) -> float:
    """Return the probability that a paired t-test detects a true difference.

    Under a true mean difference, t is noncentral with n − 1 degrees of freedom and noncentrality
    √n · difference / spread (Cohen, Statistical Power Analysis, 1988, 2.3.5; Sakai, Information
    Retrieval Journal 19, 2016).

    Non-inferiority is a one-sided test whose null hypothesis is a difference of ``-margin``: pass
    the margin plus the true difference as ``difference``. The lower end of a two-sided interval of
    95% is above ``-margin`` exactly if this test rejects at the level 0.025 (Julious, Statistics in
    Medicine 23, 2004).

    Args:
        difference: The true mean difference; its sign does not matter.
        spread: The standard deviation of the differences over queries, above 0; take it from a
            pilot comparison.
        queries: The number of queries, at least 2.
        level: The test's significance level, between 0 and 1.
        one_sided: Test only in the direction of the difference.

    Returns:
        The power, between ``level`` and 1.

    Raises:
        UsageError: If an argument is out of range.
    """
    from scipy.special import stdtrit

    _check(spread, level)
    if queries < 2:
        raise UsageError(f"expected at least 2 queries but got {queries}", where="power")
    degrees_of_freedom = queries - 1
    noncentrality = math.sqrt(queries) * abs(difference) / spread
    tail = level if one_sided else level / 2.0
    critical = -float(stdtrit(degrees_of_freedom, tail))
    if queries > _MANY_QUERIES and noncentrality > critical + _MAX_EXCESS:
        return 1.0
    upper = _noncentral_t_tail(critical, degrees_of_freedom, noncentrality)
    # SciPy returns NaN for the lower tail if it is negligible.
    lower = 0.0
    if noncentrality <= _MAX_FOR_LOWER_TAIL and not one_sided:
        lower = _noncentral_t_tail(critical, degrees_of_freedom, -noncentrality)
    return min(1.0, upper + lower)


def _noncentral_t_tail(critical: float, degrees_of_freedom: int, noncentrality: float) -> float:
    """Return the probability that noncentral t is above a critical value."""
    try:
        # The function that scipy.stats calls; importing scipy.stats takes much longer than it.
        from scipy.special._ufuncs import _nct_sf
    except ImportError:
        from scipy.stats import nct

        return float(nct.sf(critical, degrees_of_freedom, noncentrality))
    with np.errstate(over="ignore"):
        return float(np.clip(_nct_sf(critical, degrees_of_freedom, noncentrality), 0.0, 1.0))


def smallest_detectable_difference(
    spread: float, queries: int, *, power: float = DEFAULT_POWER, level: float = DEFAULT_LEVEL
) -> float:
    """Return the mean difference that a two-sided paired t-test detects with the given power.

    Args:
        spread: As in :func:`power_of_t_test`.
        queries: The number of queries, at least 2.
        power: The probability of detecting it, between ``level`` and 1; 0.8 is common.
        level: The test's significance level, between 0 and 1.

    Returns:
        The difference, above 0, in the unit of ``spread``.

    Raises:
        UsageError: If an argument is out of range.
    """
    _check(spread, level, power)
    low, high = 0.0, 1.0
    while power_of_t_test(high, 1.0, queries, level=level) < power:
        low, high = high, 2.0 * high
    while high - low > _TOLERANCE * high:
        middle = (low + high) / 2.0
        is_detected = power_of_t_test(middle, 1.0, queries, level=level) >= power
        low, high = (low, middle) if is_detected else (middle, high)
    return spread * high


def queries_needed(
    difference: float,
    spread: float,
    *,
    power: float = DEFAULT_POWER,
    level: float = DEFAULT_LEVEL,
    one_sided: bool = False,
) -> int:
    """Return the minimum number of queries for a paired t-test to detect a difference.

    Args:
        difference: The true mean difference to detect; not 0. For non-inferiority, the margin plus
            the true difference, with ``one_sided``.
        spread: As in :func:`power_of_t_test`.
        power: The probability of detecting it, between ``level`` and 1; 0.8 is common.
        level: The test's significance level, between 0 and 1.
        one_sided: As in :func:`power_of_t_test`.

    Returns:
        The number of queries, at least 2.

    Raises:
        UsageError: If an argument is out of range, or more than a billion queries are needed.
    """
    _check(spread, level, power)
    most = 10**9

    def is_enough(queries: int) -> bool:
        reached = power_of_t_test(difference, spread, queries, level=level, one_sided=one_sided)
        return reached >= power

    if difference == 0 or not is_enough(most):
        raise UsageError(
            f"even {most:,} queries do not detect a difference of {difference:g} "
            f"at a standard deviation of {spread:g}",
            where="power",
            remedy="pass the smallest difference that is relevant in practice",
        )
    too_few, sufficient = 1, 2
    while not is_enough(sufficient):
        too_few, sufficient = sufficient, 2 * sufficient
    while sufficient - too_few > 1:
        middle = (too_few + sufficient) // 2
        if is_enough(middle):
            sufficient = middle
        else:
            too_few = middle
    return sufficient


def _check(spread: float, level: float, power: float | None = None) -> None:
    check_level(level, "power")
    if not (spread > 0 and math.isfinite(spread)):
        raise UsageError(
            f"expected a standard deviation above 0 but got {spread:g}",
            where="power",
            remedy="pass that of the differences in a pilot comparison",
        )
    if power is not None and not level < power < 1.0:
        raise UsageError(
            f"expected a power between {level:g} and 1 but got {power:g}", where="power"
        )
