"""How often each mode would be chosen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trectools_plus.errors import UsageError
from trectools_plus.service.review.judgments import NO_CHOICE
from trectools_plus.statistics.arrays import check_level

METHOD = "Wilson over queries"


@dataclass(frozen=True, slots=True)
class Share:
    """A share of queries with its Wilson score interval.

    Attributes:
        value: 0 to 1.
        low: Lower end.
        high: Upper end.
        n: How many queries.
        level: The interval's confidence level, between 0 and 1.
    """

    value: float
    low: float
    high: float
    n: int
    level: float


def wilson_share(value: float, n: int, confidence: float = 0.95) -> Share:
    """A share with its Wilson score interval (Wilson 1927).

    The share need not be a whole number of n-ths: where several people answered for one query, the
    query counts with the mean of their answers. Values between 0 and 1 vary at most as much as
    those that are 0 or 1, so the interval is then rather too wide than too narrow.

    Args:
        value: The share, 0 to 1.
        n: Of how many queries, at least 1.
        confidence: The level, between 0 and 1.

    Raises:
        UsageError: If something is out of range.
    """
    from scipy.stats import norm

    check_level(confidence, "share")
    if n < 1 or not 0.0 <= value <= 1.0:
        raise UsageError(f"expected a share of at least one query but got {value} of {n}")
    z = float(norm.ppf(0.5 + confidence / 2.0))
    centre = (value + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * math.sqrt(value * (1 - value) / n + (z / (2 * n)) ** 2)
    # The ends enclose the share; rounding may say otherwise where it is 0, 1 or next to that.
    low, high = max(0.0, min(value, centre - reach)), min(1.0, max(value, centre + reach))
    if value in (0.0, 1.0):
        low, high = (0.0, high) if value == 0.0 else (low, 1.0)
    return Share(value, low, high, n, confidence)


def share_choices(
    choices: Sequence[Mapping[str, str]], modes: Sequence[str], confidence: float = 0.95
) -> dict[str, Share]:
    """How often each mode would be chosen.

    Each query counts once: with the share of the people, among those who answered for it, who
    would choose the mode. So two people who judge the same query are not taken for two queries.

    Args:
        choices: Of each annotator, the chosen mode by query; ``""`` for none of them.
        modes: All modes.
        confidence: Level of the intervals, between 0 and 1.

    Returns:
        By mode and, last, ``""``; the values add up to 1. Empty if nobody has chosen.
    """
    by_query: dict[str, list[str]] = {}
    for answers in choices:
        for query_id, mode in answers.items():
            by_query.setdefault(query_id, []).append(mode)
    if not by_query:
        return {}
    shares = {}
    for mode in (*modes, NO_CHOICE):
        parts = (answers.count(mode) / len(answers) for answers in by_query.values())
        value = min(1.0, math.fsum(parts) / len(by_query))
        shares[mode] = wilson_share(value, len(by_query), confidence)
    return shares
