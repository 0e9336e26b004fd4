"""The test and the correction of comparisons, their level, and a description of their family.

Commands that only show a report need nothing else of comparisons, so this module imports no NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence

from trectools_plus.text import join_names, plural

TUKEY = "tukey_hsd"
MAX_T = "max_t"
DEFAULT_CORRECTION = MAX_T
"""Its p-values, intervals and decisions agree: they are from the same resamples."""
ADJUSTED_TEST = "randomisation"
"""The test whose p-values other corrections adjust, unless one is named."""
CORRECTION_OF_TESTS = "holm"
"""The correction of the p-values of a named test, unless one is named."""
FAMILY_TESTS = (TUKEY, MAX_T)
"""Corrections that are tests of the whole family, in place of a paired test."""

EQUAL = 1e-12
"""Two values with a smaller difference are equal: the last bits depend on the order of a sum."""


def alpha_of(level: float) -> float:
    """Return the significance level for a confidence level: 0.05 for 0.95."""
    return round(1.0 - level, 12)


TEST_ALIASES = {"ttest": "t_test", "t-test": "t_test", "paired_t_test": "t_test"}
"""Other spellings of tests."""


def choose_method(correction: str | None, test: str | None) -> tuple[str, str]:
    """Return correction and test, with the defaults for those that are not named."""
    test = TEST_ALIASES.get(test or "", test)
    if correction is None:
        correction = DEFAULT_CORRECTION if test is None else CORRECTION_OF_TESTS
    return correction, test or ADJUSTED_TEST


def describe_family(
    pairs: int, modes: int, baselines: Sequence[str] = (), noun: str = "mode"
) -> str:
    """Describe a family: ``19 comparisons with s00 on one measure``.

    Without baselines: ``3 comparisons on one measure: every pair of 3 modes``.

    Args:
        pairs: The number of comparisons.
        modes: The number of modes.
        baselines: Their labels.
        noun: The word for what is compared: ``run`` or ``mode``.
    """
    counted = plural(pairs, "comparison")
    if baselines:
        return f"{counted} with {join_names(baselines, 'baselines', _NAMED)} on one measure"
    return f"{counted} on one measure: every pair of {modes} {noun}s"


_NAMED = 3
"""With more baselines than this, a family has only their number."""
