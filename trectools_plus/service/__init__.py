"""Servers: evaluation, validation, scoring and metrics over HTTP, and the review page."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(__name__)
