"""The rules on runs, qrels and pairs of them, from the tables of the modules of this package.

The rules on topics and test sets load more libraries: see ``topics.py``.
"""

from trectools_plus.validation.registry import Registry
from trectools_plus.validation.rules import files, pairs, qrels, runs

RULES = Registry((*files.RULES, *runs.RULES, *qrels.RULES, *pairs.RULES))
