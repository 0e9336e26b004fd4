"""Taking written measure names apart, before anybody asks what they stand for."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from trectools_plus.errors import UsageError
from trectools_plus.text import split_list


class Spelled(NamedTuple):
    """A name taken apart: label, parameters, and what stands behind ``@``."""

    label: str
    parameters: Mapping[str, Any]
    at: Any = None


_NUMBER = re.compile(r"\d[\d.]*")
_BARE_TEXT = re.compile(r"""(?<=[(,])(\s*\w+\s*=\s*)([^\s,()'"={}\[\]]+)(?=\s*[,)])""")


def split_names(text: str) -> list[str]:
    """Split a list of measure names.

    A number on its own is no name, but one more parameter of trec_eval's spelling before it:
    ``P.5,10,map`` is ``P.5,10`` and ``map``.
    """
    names: list[str] = []
    for part in split_list(text):
        if names and _NUMBER.fullmatch(part):
            names[-1] += f",{part}"
        else:
            names.append(part)
    return names


def spelled(text: str, prefix: str = "") -> Spelled:
    """Take ``Label(parameter=value)@at`` apart.

    Args:
        text: The name.
        prefix: What stood before it, for the message.

    Raises:
        UsageError: If it is not written that way.
    """
    found = _read(text)
    if found is None:
        raise UsageError(
            f"cannot read the measure name {prefix}{text!r}"[:200], remedy=_remedy(text, prefix)
        )
    return found


def _read(text: str) -> Spelled | None:
    try:
        node: ast.expr = ast.parse(text, mode="eval").body
        at = None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            at = ast.literal_eval(node.right)
            node = node.left
        parameters: dict[str, Any] = {}
        if isinstance(node, ast.Call) and not node.args:
            for keyword in node.keywords:
                parameters[keyword.arg or "**"] = ast.literal_eval(keyword.value)
            node = node.func
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return Spelled(node.id, parameters, at) if isinstance(node, ast.Name) else None


def _remedy(text: str, prefix: str) -> str:
    """The name with its text values quoted, if that is all it lacks."""
    quoted = _BARE_TEXT.sub(_quote, text)
    if quoted != text and _read(quoted):
        return f"text values need quotes: {prefix}{quoted}"
    return "write it as Label@10 or Label(parameter=value)@10"


def _quote(match: re.Match[str]) -> str:
    try:
        ast.literal_eval(match[2])
    except (ValueError, SyntaxError):
        return f"{match[1]}{match[2]!r}"
    return match[0]
