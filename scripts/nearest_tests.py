#!/usr/bin/env python3
"""Print the test files that depend on changed files, the nearest first.

    nearest_tests.py [FILE...]      # by default the files that differ from HEAD, or HEAD's own

The distance of a test file is the number of imports from it to a changed module; a public name
imports the module that defines it. A test file also depends on the module or folder of the package
that it mirrors.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "trectools_plus"


def changed_files() -> list[str]:
    """Return the files that differ from the last commit; without any, those that it changed."""
    new = _git("ls-files", "--others", "--exclude-standard")
    pending = [*_git("diff", "--name-only", "HEAD"), *new]
    return pending or _git("diff", "--name-only", "HEAD~1", "HEAD")


def nearest_tests(changed: Iterable[str]) -> list[str]:
    """Return the test files that depend on files, the nearest first."""
    changed = [*changed]
    targets = {module_name(path) for path in changed if path.startswith(f"{PACKAGE}/")}
    distances = _distances(targets)
    found = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        name = str(path.relative_to(ROOT))
        near = [distances[module] for module in _imports(path) if module in distances]
        mirrored = _mirrored(name)
        if any(f"{target}.".startswith(f"{mirrored}.") for target in targets):
            near.append(0)
        if name in changed:
            near.append(-1)
        if near:
            found[name] = min(near)
    return sorted(found, key=lambda name: (found[name], name))


def module_name(path: str) -> str:
    """Return the module of a file of the package; data files belong to their folder."""
    parts = Path(path).with_suffix("").parts
    is_module = path.endswith(".py") and parts[-1] != "__init__"
    return ".".join(parts if is_module else parts[:-1])


def _mirrored(test: str) -> str:
    """Return the module or package that a test file mirrors."""
    parts = [PACKAGE, *Path(test).with_suffix("").parts[1:]]
    parts[-1] = parts[-1].removeprefix("test_")
    while len(parts) > 1 and ".".join(parts) not in _modules():
        parts.pop()
    return ".".join(parts) if len(parts) > 1 else "-"


def _distances(targets: set[str]) -> dict[str, int]:
    """Return the number of imports from each module of the package to the nearest target."""
    importers: dict[str, set[str]] = {}
    for module, path in _modules().items():
        for imported in _imports(path):
            importers.setdefault(imported, set()).add(module)
    distances = dict.fromkeys(targets, 0)
    waiting = deque(targets)
    while waiting:
        module = waiting.popleft()
        for importer in importers.get(module, ()):
            if importer not in distances:
                distances[importer] = distances[module] + 1
                waiting.append(importer)
    return distances


@cache
def _modules() -> dict[str, Path]:
    """Return the files of the package by module."""
    files = (ROOT / PACKAGE).rglob("*.py")
    return {module_name(str(path.relative_to(ROOT))): path for path in files}


@cache
def _imports(path: Path) -> frozenset[str]:
    """Return the modules of the package that a file imports, anywhere in it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    packages: dict[str, str] = {}
    for module, name, alias in _imported_names(tree):
        source = _defining_module(module, name)
        if _is_package(source):
            packages[alias] = source
        else:
            found.add(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            package = packages.get(node.value.id)
            if package in _modules() and _exports(str(package)):
                found.add(_defining_module(str(package), node.attr))
    for package in packages.values():
        if not _exports(package):  # its modules are found by walking through its folder
            found |= {module for module in _modules() if module.startswith(f"{package}.")}
    return frozenset(found & _modules().keys())


def _imported_names(tree: ast.AST) -> Iterator[tuple[str, str, str]]:
    """Return each name imported from the package: module, name (or nothing) and local name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
            for alias in node.names:
                yield str(node.module), alias.name, alias.asname or alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == PACKAGE:
                    yield alias.name, "", alias.asname or alias.name


def _defining_module(module: str, name: str) -> str:
    """Return the module that defines a name which a package passes on, or is the name."""
    if not name or f"{module}.{name}" in _modules():
        return f"{module}.{name}".rstrip(".")
    return _exports(module).get(name, module)


def _is_package(module: str) -> bool:
    path = _modules().get(module)
    return path is not None and path.name == "__init__.py"


@cache
def _exports(module: str) -> dict[str, str]:
    """Return the defining modules of the names in the stub of a package."""
    path = _modules().get(module)
    stub = path.with_suffix(".pyi") if path is not None else None
    if stub is None or not stub.exists():
        return {}
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    return {alias: source for source, _, alias in _imported_names(tree)}


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


if __name__ == "__main__":
    print("\n".join(nearest_tests(sys.argv[1:] or changed_files())))
