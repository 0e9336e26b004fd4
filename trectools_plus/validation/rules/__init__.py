"""All rules of the validators, from the tables of the modules of ``rules``.

``RULES`` are those on runs, qrels and pairs of them. ``CATALOGUE`` also has the rules on topics and
test sets, which load more libraries; it is made on first use.
"""

from __future__ import annotations

from functools import cache

from trectools_plus.validation.registry import Registry
from trectools_plus.validation.rules import files, pairs, qrels, runs

RULES = Registry((*files.RULES, *runs.RULES, *qrels.RULES, *pairs.RULES))

CATALOGUE: Registry


@cache
def _catalogue() -> Registry:
    from trectools_plus.validation.rules import testsets, topics

    return Registry((*RULES, *topics.RULES, *testsets.RULES))


def __getattr__(name: str) -> Registry:
    if name == "CATALOGUE":
        return _catalogue()
    raise AttributeError(name)
