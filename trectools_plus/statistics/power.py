"""How many queries a difference needs, and how small a difference so many queries show."""

from __future__ import annotations

import math
from dataclasses import dataclass

from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import check_level

DEFAULT_POWER = 0.8
DEFAULT_LEVEL = 0.05

_MANY, _FAR, _WRONG_SIDE = 100, 40.0, 8.0


def power_of_t_test(
    difference: float, spread: float, queries: int, *, level: float = DEFAULT_LEVEL
) -> float:
    """How likely a two-sided paired t-test finds a difference that is there.

    Under a true mean difference, t is noncentral with n − 1 degrees of freedom and noncentrality
    √n · difference / spread (Cohen, Statistical Power Analysis, 1988, 2.3.5; Sakai, Information
    Retrieval Journal 19, 2016).

    Args:
        difference: The true mean difference.
        spread: The standard deviation of the differences between queries, above 0: take it from a
            pilot comparison.
        queries: How many, at least 2.
        level: The test's level, between 0 and 1.

    Returns:
        The power, between ``level`` and 1.

    Raises:
        UsageError: If an argument is out of range.
    """
    from scipy import stats

    _check(spread, level)
    if queries < 2:
        raise UsageError(f"expected at least 2 queries but got {queries}", where="power")
    freedom = queries - 1
    noncentrality = math.sqrt(queries) * abs(difference) / spread
    critical = float(stats.t.isf(level / 2.0, freedom))
    if queries > _MANY and noncentrality > critical + _FAR:
        return 1.0  # t never falls short of the critical value from so far above
    upper = float(stats.nct.sf(critical, freedom, noncentrality))
    # The wrong side is out of reach there, and SciPy answers NaN.
    lower = 0.0 if noncentrality > _WRONG_SIDE else stats.nct.sf(critical, freedom, -noncentrality)
    return min(1.0, upper + float(lower))


def smallest_detectable_difference(
    spread: float, queries: int, *, power: float = DEFAULT_POWER, level: float = DEFAULT_LEVEL
) -> float:
    """The mean difference that a two-sided paired t-test finds with the given power.

    Args:
        spread: As in :func:`power_of_t_test`.
        queries: How many, at least 2.
        power: Between ``level`` and 1; 0.8 is usual.
        level: The test's level.

    Returns:
        The difference, above 0, in the unit of ``spread``.

    Raises:
        UsageError: If an argument is out of range.
    """
    from scipy import optimize

    _check(spread, level, power)

    def missing(difference: float) -> float:
        return power_of_t_test(difference, 1.0, queries, level=level) - power

    highest = 1.0
    while missing(highest) < 0.0:
        highest *= 2.0
    return spread * float(optimize.brentq(missing, 0.0, highest, xtol=1e-12, rtol=1e-12))


def queries_needed(
    difference: float, spread: float, *, power: float = DEFAULT_POWER, level: float = DEFAULT_LEVEL
) -> int:
    """The fewest queries with which a two-sided paired t-test finds a difference.

    Args:
        difference: The true mean difference to find; not 0.
        spread: As in :func:`power_of_t_test`.
        power: Between ``level`` and 1; 0.8 is usual.
        level: The test's level.

    Returns:
        The number of queries, at least 2.

    Raises:
        UsageError: If an argument is out of range, or it would take over a billion queries.
    """
    _check(spread, level, power)
    most = 10**9

    def enough(queries: int) -> bool:
        return power_of_t_test(difference, spread, queries, level=level) >= power

    if difference == 0 or not enough(most):
        raise UsageError(
            f"no number of queries shows a difference of {difference:g} at a spread of {spread:g}",
            where="power",
            remedy="name the smallest difference that would matter",
        )
    few, many = 1, 2
    while not enough(many):
        few, many = many, 2 * many
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if enough(middle) else (middle, many)
    return many


def _check(spread: float, level: float, power: float | None = None) -> None:
    check_level(1.0 - level, "power")
    if not (spread > 0 and math.isfinite(spread)):
        raise UsageError(
            f"expected a standard deviation above 0 but got {spread:g}",
            where="power",
            remedy="take that of the differences in a pilot comparison",
        )
    if power is not None and not level < power < 1.0:
        raise UsageError(f"expected a power between {level:g} and 1 but got {power:g}")


@dataclass(frozen=True, slots=True)
class SizeAdvice:
    """What a set of queries is good for.

    Attributes:
        queries: How many there are.
        use: ``too_small``, ``sanity_check``, ``development``, ``standard`` or ``comprehensive``.
        warning: A sentence where figures should not be published on that many; else ``None``.
    """

    queries: int
    use: str
    warning: str | None


STANDARD = 200

_USES = (
    (500, "comprehensive", None),
    (STANDARD, "standard", None),
    (50, "development", "is enough to develop with but not to publish"),
    (9, "sanity_check", "is a sanity check: only very large differences show"),
    (0, "too_small", "is too few to say anything in general"),
)


def advise_on_size(queries: int) -> SizeAdvice:
    """Say what a number of queries is good for.

    9 make a sanity check, 50 serve development, 200 are the standard and the least for
    publication, 500 and more are comprehensive. These are rules of thumb;
    :func:`~trectools_plus.statistics.power.queries_needed` computes the number for a difference.

    Args:
        queries: How many queries the means are taken over; at least 0.

    Returns:
        The use, with a warning below 200.

    Raises:
        UsageError: If the number is negative.
    """
    if queries < 0:
        raise UsageError(f"expected a number of queries but got {queries}", where="size")
    use, warning = next((use, text) for least, use, text in _USES if queries >= least)
    noun = "query" if queries == 1 else "queries"
    sentence = warning and f"a set of {queries} {noun} {warning}; {STANDARD} are the standard"
    return SizeAdvice(queries, use, sentence)
