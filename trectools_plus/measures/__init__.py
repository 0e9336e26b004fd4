"""Measure names, exact definitions, and scoring on one canonical ranking.

Names are imported when they are first used: the table of trec_eval's measures needs no Polars.
"""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(__name__)
