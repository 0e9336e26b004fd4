"""All rules of the validators, collected from the modules of the package ``rules``."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from trectools_plus.validation import rules
from trectools_plus.validation.registry import Registry

CATALOGUE = Registry.of_modules(
    import_module(found.name)
    for found in pkgutil.walk_packages(rules.__path__, f"{rules.__name__}.")
)
