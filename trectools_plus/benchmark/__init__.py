"""Comparison of retrieval modes on one set of queries: run, compare, report."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(__name__)
