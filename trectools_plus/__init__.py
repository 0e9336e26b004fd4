"""Validate, fetch, score and compare TREC runs.

Everything the command line does is one import away::

    from trectools_plus import load_qrels, load_run, evaluate

    evaluation = evaluate(load_qrels("qrels.txt"), load_run("my.run"), ["nDCG@10", "AP"])

Names are imported when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

__version__ = "0.1.0"


@cache
def _read_homes() -> dict[str, tuple[str, str]]:
    """Read from the stub beside this file each public name's module, and its name there."""
    import ast
    from pathlib import Path

    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes: dict[str, tuple[str, str]] = {}
    imported: dict[str, tuple[str, str]] = {}
    for node in stub.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                public = alias.asname is not None
                (homes if public else imported)[alias.name] = (str(node.module), alias.name)
        elif isinstance(node, ast.Assign):
            homes[ast.unparse(node.targets[0])] = imported[ast.unparse(node.value)]
    return homes


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(_read_homes())
    if name.startswith("__") or name not in _read_homes():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, original = _read_homes()[name]
    return getattr(import_module(module), original)


def __dir__() -> list[str]:
    return [*globals(), *_read_homes()]
