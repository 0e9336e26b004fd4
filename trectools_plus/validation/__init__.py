"""Check runs, qrels and topics: rules with codes return findings, which are rendered separately."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(__name__)
