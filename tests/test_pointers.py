"""Files and objects that comments and docstrings name exist."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("trectools_plus", "tests", "scripts")
SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))

_FILE = re.compile(r"(?<![\w/.<*-])(?:[\w-]+/)*[\w-]+\.(?:py|pyi|js|css)\b")
_PLACE = re.compile(r"`((?:docs|tests|scripts|fixtures|trectools_plus)/[\w./-]*)`")
_OBJECT = re.compile(r":(?:func|class|meth|mod|attr|data|exc):`~?([\w.]+)`")
_DOTTED = re.compile(r"`((?:trectools_plus|harness)(?:\.\w+)+)`")
_IN_FILE = re.compile(r"`(\w+)`+ (?:in|of) `+((?:[\w-]+/)*[\w-]+\.py)`")
MADE_UP = {"mine.py", "search_service.py"}
"""Files of users in examples."""


def texts(source: str) -> Iterator[str]:
    """Yield the comments, docstrings and descriptions of names in a module."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
    for node in ast.walk(ast.parse(source)):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_text and isinstance(node.value.value, str):
            yield node.value.value


@cache
def files() -> frozenset[str]:
    """Every file and folder of the repository by each end of its path."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.split() or [str(p.relative_to(ROOT)) for p in ROOT.rglob("*")]
    whole = {str(parent) for name in names for parent in (Path(name), *Path(name).parents)}
    return frozenset(
        "/".join(parts[start:])
        for parts in (name.split("/") for name in whole)
        for start in range(len(parts))
    )


@cache
def names() -> frozenset[str]:
    """Every name that is defined or imported in a module, and the names of the modules."""
    found = set()
    for path in SOURCES:
        found.update(path.relative_to(ROOT).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            for field in ("name", "id", "attr", "arg", "asname"):
                if name := getattr(node, field, None):
                    found.add(str(name).split(".")[-1])
    return frozenset(found)


def lost(source: str) -> Iterator[str]:
    """Yield what the texts of a module name and what does not exist."""
    if not any(pattern.search(source) for pattern in (_FILE, _PLACE, _OBJECT, _DOTTED, _IN_FILE)):
        return
    for text in texts(source):
        for name in (*_FILE.findall(text), *_PLACE.findall(text)):
            if name.rstrip("/") not in files() and name not in MADE_UP:
                yield name
        for name in (*_OBJECT.findall(text), *_DOTTED.findall(text)):
            if name.split(".")[-1] not in names():
                yield name
        for name, file in _IN_FILE.findall(text):
            places = [path for path in SOURCES if path.as_posix().endswith(f"/{file}")]
            if not any(name in path.read_text("utf-8") for path in places):
                yield f"{name} in {file}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_pointers_lead_somewhere(folder: str) -> None:
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in SOURCES
        if path.relative_to(ROOT).parts[0] == folder
        for name in lost(path.read_text("utf-8"))
    }
    assert not found
