"""Public names of a package that are imported on first use.

A package lists them in the stub ``__init__.pyi`` beside its ``__init__.py``, which type checkers
read too::

    from trectools_plus.statistics.correction import adjust_p_values as adjust_p_values

Importing the package then costs nothing, whatever its modules load.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any


@cache
def read_stub(package: str) -> dict[str, tuple[str, str]]:
    """Read the module of each public name of a package, and the name that it has there.

    A name is public if the stub imports it "as" itself or assigns to it.
    """
    import ast

    stub = Path(str(sys.modules[package].__file__)).with_suffix(".pyi")
    homes: dict[str, tuple[str, str]] = {}
    imported: dict[str, tuple[str, str]] = {}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                public = alias.asname is not None
                (homes if public else imported)[alias.name] = (str(node.module), alias.name)
        elif isinstance(node, ast.Assign):
            homes[ast.unparse(node.targets[0])] = imported[ast.unparse(node.value)]
    return homes


def _is_module(package: str, name: str) -> bool:
    path = Path(str(sys.modules[package].__file__)).parent / name
    return path.is_dir() or path.with_suffix(".py").is_file()


def import_lazily(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions ``__getattr__`` and ``__dir__`` of a package with a stub.

    No public name may equal the name of a module in the package: importing that module would
    replace it.
    """

    def get(name: str) -> Any:
        if name == "__all__":
            return sorted(read_stub(package))
        # For a module, as in "from trectools_plus import benchmark", the stub is not needed.
        known = not name.startswith("__") and not _is_module(package, name)
        if not known or name not in read_stub(package):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, original = read_stub(package)[name]
        return getattr(import_module(module), original)

    def list_names() -> list[str]:
        return [*vars(sys.modules[package]), *read_stub(package)]

    return get, list_names
