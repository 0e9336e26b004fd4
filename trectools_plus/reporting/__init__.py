"""Rendering a benchmark's report: JSON, Markdown, console. Nothing here computes a figure."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(__name__)
