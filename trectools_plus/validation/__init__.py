"""Checks of runs, qrels and topics: rules with codes, findings as objects, rendered late."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(__name__)
