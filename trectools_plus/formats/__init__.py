"""Read and write runs, qrels, topics and corpora."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(__name__)
