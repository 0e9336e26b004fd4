"""Tests of paired differences: one a file, each with its null hypothesis."""

from trectools_plus.statistics.paired.bootstrap import bootstrap_test
from trectools_plus.statistics.paired.comparison import (
    INTERVAL_METHODS,
    PAIRED_TESTS,
    PairedComparison,
    compare_columns,
    paired_difference,
)
from trectools_plus.statistics.paired.randomisation import randomisation_test
from trectools_plus.statistics.paired.results import ColumnTests, PairedTest
from trectools_plus.statistics.paired.sign import sign_test
from trectools_plus.statistics.paired.student import t_intervals, t_test
from trectools_plus.statistics.paired.wilcoxon import wilcoxon_test

__all__ = [
    "INTERVAL_METHODS",
    "PAIRED_TESTS",
    "ColumnTests",
    "PairedComparison",
    "PairedTest",
    "bootstrap_test",
    "compare_columns",
    "paired_difference",
    "randomisation_test",
    "sign_test",
    "t_intervals",
    "t_test",
    "wilcoxon_test",
]
