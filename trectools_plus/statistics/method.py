"""The test and the correction of comparisons, their level, and a description of their family.

Commands that only show a report need nothing else of comparisons, so this module imports no NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence

from trectools_plus.errors import UsageError
from trectools_plus.text import join_names, plural

DEFAULT_TEST = "t_test"
DEFAULT_CORRECTION = "holm"
TESTS = ("t_test", "paired_bootstrap", "randomisation", "wilcoxon")
CORRECTIONS = ("holm", "bh", "none")
REPLACEMENTS = {
    "max_t": "holm",
    "tukey_hsd": "holm",
    "bonferroni": "holm",
    "benjamini_hochberg": "bh",
    "sign_test": "wilcoxon",
}
"""Tests and corrections of earlier versions, and what to use instead."""

FEW = 10
"""With fewer values that differ from the most common one, or fewer differences other than 0, an
interval gets a note, and ``auto`` uses Wilson's interval for values of 0 and 1."""
EQUAL = 1e-12
"""Two values with a smaller difference are equal: the last bits depend on the order of a sum."""


def alpha_of(level: float) -> float:
    """Return the significance level for a confidence level: 0.05 for 0.95."""
    return round(1.0 - level, 12)


def fewest_changes(alpha: float) -> int:
    """Return the smallest number of differences, all of one sign, that a sign test finds."""
    changes = 1
    while 2.0 ** (1 - changes) > alpha:
        changes += 1
    return changes


TEST_ALIASES = {"ttest": "t_test", "t-test": "t_test", "paired_t_test": "t_test"}
"""Other spellings of tests."""


def check_method(test: str, correction: str = DEFAULT_CORRECTION) -> None:
    """Check the names of a test and a correction.

    Raises:
        UsageError: If one is unknown, or of an earlier version.
    """
    for kind, name, names in (("test", test, TESTS), ("correction", correction, CORRECTIONS)):
        if name not in names:
            remedy = f"use {REPLACEMENTS.get(name, ', '.join(names))}"
            state = "removed" if name in REPLACEMENTS else "unknown"
            raise UsageError(f"{state} {kind} '{name}'", remedy=remedy)


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
