"""Validate, fetch, score and compare TREC runs.

The package exports functions for everything that the command line does::

    from trectools_plus import load_qrels, load_run, evaluate

    evaluation = evaluate(load_qrels("qrels.txt"), load_run("my.run"), ["nDCG@10", "AP"])

Names are imported on first use, so importing the package takes almost no time.
"""

from __future__ import annotations

from trectools_plus.lazy_names import import_lazily

__version__ = "0.1.0"

__getattr__, __dir__ = import_lazily(__name__)
