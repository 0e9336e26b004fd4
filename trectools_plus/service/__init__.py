"""What is served over HTTP: evaluation, validation, scoring, metrics, and a review page."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(__name__)
