"""Judgments of people and models, and what can be said of runs with both.

::

    plan.py      the plan: pool of documents, order of queries, files of its folder
    labels.py    labels of pooled documents, by people and models
"""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(__name__)
