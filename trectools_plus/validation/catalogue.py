"""All rules of the validators, collected from the modules of the package ``rules``.

``RULES`` are those on runs, qrels and pairs of them. ``CATALOGUE`` also has the rules on topics and
test sets, which load more libraries; it is made on first use.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import ModuleType

from trectools_plus.validation import rules
from trectools_plus.validation.registry import Registry, Rule

_PACKAGES = ("file", "run", "qrels", "pair")


def _modules(packages: tuple[str, ...]) -> Iterator[ModuleType]:
    for package in packages:
        name = f"{rules.__name__}.{package}"
        for found in pkgutil.iter_modules(import_module(name).__path__, f"{name}."):
            yield import_module(found.name)


RULES = Registry.of_modules(_modules(_PACKAGES))

CATALOGUE: Registry


@cache
def _catalogue() -> Registry:
    return Registry.of_modules(_modules((*_PACKAGES, "topics")))


def find_rule(code: str) -> Rule:
    """Return a rule, loading only those of its kind if possible."""
    return RULES[code] if code.startswith(("F", "R", "Q", "P")) else _catalogue()[code]


def __getattr__(name: str) -> Registry:
    if name == "CATALOGUE":
        return _catalogue()
    raise AttributeError(name)
