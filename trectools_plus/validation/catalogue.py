"""All rules of the validators, collected from the modules of the package ``rules``.

``RULES`` are those on runs, qrels and pairs of them. ``CATALOGUE`` also has the rules on topics and
test sets, which load more libraries; it is made on first use.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from trectools_plus.validation.registry import Registry
from trectools_plus.validation.rules import files, pairs, qrels, rankings, runs

_MODULES = (files, runs, rankings, qrels, pairs)

RULES = Registry.of_modules(_MODULES)

CATALOGUE: Registry


@cache
def _catalogue() -> Registry:
    topics = import_module("trectools_plus.validation.rules.topics")
    names = pkgutil.iter_modules(topics.__path__, f"{topics.__name__}.")
    return Registry.of_modules([*_MODULES, *(import_module(found.name) for found in names)])


def __getattr__(name: str) -> Registry:
    if name == "CATALOGUE":
        return _catalogue()
    raise AttributeError(name)
