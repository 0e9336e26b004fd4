"""The test and the correction of comparisons, their level, and a description of their family.

Commands that only show a report need nothing else of comparisons, so this module imports no
statistics.
"""

from __future__ import annotations

from trectools_plus.text import plural

DEFAULT_CORRECTION = "holm"
ADJUSTED_TEST = "randomisation"
"""The test whose p-values are adjusted: valid at any size, unlike the bootstrap."""
TUKEY = "tukey_hsd"
MAX_T = "max_t"
FAMILY_TESTS = (TUKEY, MAX_T)
"""Corrections that are tests of the whole family, in place of a paired test."""

EQUAL = 1e-12
"""Two values with a smaller difference are equal: the last bits depend on the order of a sum."""


def alpha_of(level: float) -> float:
    """Return the significance level for a confidence level: 0.05 for 0.95."""
    return round(1.0 - level, 12)


def describe_family(modes: int, baselines: int, pairs: int, noun: str) -> str:
    """Describe a family, as in ``3 comparisons on one measure: every pair of 3 modes``."""
    counted = f"{plural(pairs, 'comparison')} on one measure"
    if not baselines:
        return f"{counted}: every pair of {modes} {noun}s"
    return f"{counted}: {plural(modes - baselines, noun)} against {plural(baselines, 'baseline')}"
