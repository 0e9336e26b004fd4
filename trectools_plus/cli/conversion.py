"""Conversion of plain values of options without Pydantic.

Recent versions of Typer convert every value with Pydantic, whose import takes longer than a small
command. Here the values that need no conversion, and simple numbers and paths, are converted
directly. All other values, also invalid ones, are left to Typer, which reports them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

_WHOLE = re.compile(r"0|[1-9][0-9]{0,14}")
_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_USUAL_PATH = {"exists": False, "resolve_path": False, "writable": False, "path_type": None}
_USUAL_PATH |= {"allow_dash": False, "file_okay": True, "dir_okay": True}


class _NotPlainError(Exception):
    """A value must be converted by Typer."""


def convert_plain_values(parameters: Iterable[Any]) -> None:
    """Let parameters convert plain values without Pydantic; see the module.

    Args:
        parameters: The parameters of a command of Typer. Those of versions without Pydantic are
            not changed.
    """
    for parameter in parameters:
        if hasattr(parameter, "type_descriptor") and "process_value" not in vars(parameter):
            parameter.process_value = _converter(parameter, parameter.process_value)


def _converter(parameter: Any, by_typer: Callable[..., Any]) -> Callable[..., Any]:
    descriptor = parameter.type_descriptor

    def process_value(context: Any, value: Any) -> Any:
        if parameter.required and parameter.value_is_missing(value):
            return by_typer(context, value)
        if value is None:
            converted: Any = () if parameter.multiple or parameter.nargs == -1 else None
        else:
            try:
                converted = _convert(value, descriptor.annotation, descriptor.parameter_info)
            except _NotPlainError:
                return by_typer(context, value)
        if parameter.callback is not None:
            converted = parameter.callback(context, parameter, converted)
        return converted

    return process_value


def _convert(value: Any, annotation: Any, info: Any) -> Any:
    """Convert a value, or raise an error if it may be invalid."""
    if get_origin(annotation) is list and isinstance(value, list | tuple):
        return [_convert(item, get_args(annotation)[0], info) for item in value]
    if info.parser is not None:
        raise _NotPlainError
    if annotation is bool and isinstance(value, bool):
        return value
    if annotation is str and isinstance(value, str) and _is_text(value):
        return value
    if get_origin(annotation) is Literal and isinstance(value, str):
        if value in get_args(annotation):
            return value
    elif annotation is Path and isinstance(value, str | Path) and _is_text(str(value)):
        return _as_path(value, info)
    elif annotation in (int, float):
        return _as_number(value, annotation, info)
    raise _NotPlainError


def _is_text(value: str) -> bool:
    """Return whether a value has no NUL, and no bytes that are not UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in value


def _as_path(value: str | Path, info: Any) -> Path:
    is_usual = all(getattr(info, name) == usual for name, usual in _USUAL_PATH.items())
    path = Path(value)
    if not is_usual or (path.exists() and not os.access(path, os.R_OK)):
        raise _NotPlainError
    return path


def _as_number(value: Any, kind: type, info: Any) -> Any:
    if isinstance(value, str) and (_WHOLE if kind is int else _DECIMAL).fullmatch(value):
        value = kind(value)
    in_range = type(value) is kind and (
        (info.min is None or value >= info.min) and (info.max is None or value <= info.max)
    )
    if not in_range or info.clamp:
        raise _NotPlainError
    return value
