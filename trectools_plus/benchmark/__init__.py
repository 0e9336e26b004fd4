"""Comparing modes of retrieval on one set of queries: config, dataset, runner, report."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(__name__)
