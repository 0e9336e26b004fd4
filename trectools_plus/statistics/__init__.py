"""Statistical functions of arrays: intervals, tests, corrections, power, agreement."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(__name__)
