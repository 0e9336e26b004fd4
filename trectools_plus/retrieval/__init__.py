"""Retrieval: lexical, vector and hybrid search, index cache, fusion, and fetching runs."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(__name__)
