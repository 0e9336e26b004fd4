"""Validate, fetch, score and compare TREC runs.

Everything the command line does is one import away::

    from trectools_plus import load_qrels, load_run, evaluate

    evaluation = evaluate(load_qrels("qrels.txt"), load_run("my.run"), ["nDCG@10", "AP"])

Names are imported when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from trectools_plus.lazy_names import import_lazily

__version__ = "0.1.0"

__getattr__, __dir__ = import_lazily(__name__)
