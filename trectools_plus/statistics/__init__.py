"""Intervals and tests: functions of arrays that know nothing of queries, runs or files."""

from trectools_plus.statistics.bootstrap import Intervals, bootstrap_differences, bootstrap_means

__all__ = ["Intervals", "bootstrap_differences", "bootstrap_means"]
