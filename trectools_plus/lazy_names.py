"""Import the names of a package on first use.

A package lists its names by module::

    __getattr__, __dir__ = import_lazily(
        __name__, {"statistics.systems": ["adjust_p_values"]}
    )

Importing the package then takes almost no time, even if its modules load large libraries. Type
checkers read the stub ``__init__.pyi`` beside ``__init__.py``, which has the same names. Public
functions report wrong arguments in one line; see :mod:`trectools_plus.errors`.

A result is data: its layer does not import the layer that renders it. Methods such as ``plot()``
and ``to_latex()`` call a function of :mod:`trectools_plus.reporting` by name with :func:`render`.
The root package, which stands above all layers, registers it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from types import FunctionType, MappingProxyType
from typing import Any

_ROOT = __name__.partition(".")[0]


def import_lazily(
    package: str,
    names: Mapping[str, Sequence[str]],
    internal: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions ``__getattr__`` and ``__dir__`` of a package.

    No name may equal the name of a module in the package: importing that module would replace it.

    Args:
        package: The name of the package.
        names: The public names of each module, which is named without the root package.
        internal: Those that only other packages of this project use, and that can change.
    """
    public = {name: module for module, listed in names.items() for name in listed}
    sources = {**public, **{name: home for home, listed in internal.items() for name in listed}}

    @cache
    def export(function: FunctionType) -> Any:
        from trectools_plus.errors import checked

        exported = checked(function)
        exported.__module__ = package  # pickle finds the function by its module and name
        return exported

    def get(name: str) -> Any:
        if name == "__all__":
            return sorted(public)
        if name not in sources:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f".{sources[name]}", _ROOT), name)
        return export(value) if name in public and isinstance(value, FunctionType) else value

    return get, lambda: [*vars(sys.modules[package]), *sources]


_renderings: list[Callable[[], object]] = []


def register_renderings(load: Callable[[], object]) -> None:
    """Register the package whose functions render results.

    Args:
        load: Imports the package and returns it.
    """
    _renderings.append(load)


def render(name: str, *args: Any) -> Any:
    """Return what a registered function returns for a result.

    Args:
        name: The name of the function.
        *args: Its arguments.
    """
    (load,) = _renderings
    return getattr(load(), name)(*args)
