"""Sizes of code: statements without imports and docstrings, tokens without comments and strings."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

_LAYOUT = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
_UNCOUNTED = _LAYOUT | {tokenize.COMMENT, tokenize.STRING, tokenize.ENCODING, tokenize.ENDMARKER}


class Size(NamedTuple):
    """The size of the modules of a folder."""

    statements: int
    tokens: int


def size_of(text: str) -> Size:
    """Return the size of the source code of a module."""
    statements = sum(
        isinstance(node, ast.stmt)
        and not isinstance(node, ast.Import | ast.ImportFrom)
        and not _is_text(node)
        for node in ast.walk(ast.parse(text))
    )
    read = io.StringIO(text).readline
    return Size(
        statements, sum(one.type not in _UNCOUNTED for one in tokenize.generate_tokens(read))
    )


def _is_text(node: ast.stmt) -> bool:
    """Return whether a statement is a docstring, or the description of a name above it."""
    is_constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_constant and isinstance(node.value.value, str)


@cache
def sizes_of(root: Path) -> dict[str, Size]:
    """Return the sizes of the folders directly in a folder; `.` for its own modules."""
    statements, tokens = Counter[str](), Counter[str]()
    for path in root.rglob("*.py"):
        parts = path.relative_to(root).parts
        folder = parts[0] if len(parts) > 1 else "."
        size = size_of(path.read_text("utf-8"))
        statements[folder] += size.statements
        tokens[folder] += size.tokens
    return {folder: Size(statements[folder], tokens[folder]) for folder in statements}
