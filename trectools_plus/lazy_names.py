"""Import the names of a package on first use.

A package lists its names in a stub ``__init__.pyi`` next to its ``__init__.py``. Type checkers
read the same stub::

    from trectools_plus.statistics.systems import adjust_p_values as adjust_p_values

    __all__ = ["adjust_p_values"]

Importing the package then takes almost no time, even if its modules load large libraries.
``__all__`` lists the public names; if the stub assigns no value to it, all names are public. The
other names are internal: other packages of this project use them, and they can change at any time.
Public functions report wrong arguments in one line; see :mod:`trectools_plus.arguments`.

A result is data: its layer does not import the layer that renders it. Methods such as ``plot()``
and ``to_latex()`` call a function of :mod:`trectools_plus.reporting` by name with :func:`render`.
The root package, which stands above all layers, registers it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any


@cache
def read_stub(package: str) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Read the names of a package from its stub.

    Returns:
        The module of each imported name and its name in that module; and the public names.
    """
    import ast

    stub = Path(str(sys.modules[package].__file__)).with_suffix(".pyi")
    sources: dict[str, tuple[str, str]] = {}
    public: list[str] | None = None
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            sources |= {alias.name: (str(node.module), alias.name) for alias in node.names}
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            public = ast.literal_eval(node.value)
    return sources, sorted(sources) if public is None else public


def _is_module(package: str, name: str) -> bool:
    path = Path(str(sys.modules[package].__file__)).parent / name
    return path.is_dir() or path.with_suffix(".py").is_file()


def import_lazily(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions ``__getattr__`` and ``__dir__`` of a package with a stub.

    No name may equal the name of a module in the package: importing that module would replace it.
    """

    sources: dict[str, tuple[str, str]] = {}

    @cache
    def export(function: FunctionType) -> Any:
        from trectools_plus.arguments import checked

        exported = checked(function)
        exported.__module__ = package  # pickle finds the function by its module and name
        return exported

    def get(name: str) -> Any:
        if name == "__all__":
            return read_stub(package)[1]
        if name not in sources:
            # For a module, as in "from trectools_plus import benchmark", the stub is not needed.
            known = not name.startswith("__") and not _is_module(package, name)
            if not known or name not in read_stub(package)[0]:
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
            sources[name] = read_stub(package)[0][name]
        module, original = sources[name]
        value = getattr(import_module(module), original)
        public = isinstance(value, FunctionType) and name in read_stub(package)[1]
        return export(value) if public else value

    def list_names() -> list[str]:
        return [*vars(sys.modules[package]), *read_stub(package)[0]]

    return get, list_names


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
