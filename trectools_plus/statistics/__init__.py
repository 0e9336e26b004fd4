"""Intervals, tests, power, agreement: functions of arrays that know nothing of queries."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(__name__)
