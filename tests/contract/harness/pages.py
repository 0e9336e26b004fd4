"""Code blocks of the documentation, and the comparison of shown with actual output."""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from typing import Any, NamedTuple

_BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block: its language, the name of a file if it is one, and its text."""

    language: str
    title: str
    text: str


def read_blocks(page: str) -> list[Block]:
    """Return the fenced blocks of the text of a page."""
    return [Block(*found) for found in _BLOCK.findall(page)]


def matches(shown: str, actual: str) -> bool:
    """Return whether an output is the shown one, except for white space and ``…``.

    A line ``…`` stands for any lines, and ``…`` in a line for any text.
    """
    patterns = (
        r"(?:\n.*)*" if line == "…" else r"\n" + re.escape(line).replace("…", ".*")
        for line in _lines(shown)
    )
    found = "".join(f"\n{line}" for line in _lines(actual))
    return re.fullmatch("".join(patterns), found) is not None


def _lines(text: str) -> list[str]:
    """Return the lines that are not empty, with single spaces."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def run_python(blocks: Sequence[Block]) -> Iterator[tuple[str, str]]:
    """Run the Python blocks of a page in order; yield each shown output with the actual one.

    A ``text`` block shows what the Python block before it prints. The comment after an expression
    shows its value, rounded as the shown number; more text may follow after a comma. Every output
    and every value except None must be shown.
    """
    names: dict[str, Any] = {"__name__": "page"}
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block.language != "python":
            continue
        printed = io.StringIO()
        lines = block.text.splitlines()
        with redirect_stdout(printed):
            for node in ast.parse(block.text).body:
                if not isinstance(node, ast.Expr):
                    exec(compile(ast.Module([node], []), block.text, "exec"), names)
                    continue
                value = eval(compile(ast.Expression(node.value), block.text, "eval"), names)
                if value is not None:
                    line = lines[(node.end_lineno or 0) - 1]
                    yield _value(line[node.end_col_offset or 0 :].partition("#")[2].strip(), value)
        shown = following.text if following is not None and following.language == "text" else ""
        yield shown, printed.getvalue()


def _value(comment: str, value: Any) -> tuple[str, str]:
    """Return the value that a comment shows, and the actual one."""
    if isinstance(value, float) and (number := re.match(r"-?\d+\.(\d+)", comment)):
        return number[0], f"{value:.{len(number[1])}f}"
    actual = repr(value)
    shown = actual if re.match(rf"{re.escape(actual)}(,|$)", comment) else comment
    return shown, actual
